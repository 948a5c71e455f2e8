package topic

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

// ParseVersion reads the number of a version.
func ParseVersion(text string) (manifest.Version, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, program.Usagef("%q is not a version (want its number, as in 12)", text)
	}
	return manifest.Version(n), nil
}

// VersionFlags choose a version.
func VersionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "version", Usage: "the version with this number"},
		&cli.StringFlag{Name: "as-of", Usage: "the version that was the newest at this RFC 3339 time"},
		&cli.StringFlag{Name: "tag", Usage: "the version that this tag names"},
	}
}

// ChosenVersion is the version that VersionFlags choose: the newest, where
// none of them is given.
func ChosenVersion(s *program.Session) (readerlib.Version, error) {
	number, asOf, tag := s.Flags.String("version"), s.Flags.String("as-of"), s.Flags.String("tag")
	given := 0
	for _, text := range []string{number, asOf, tag} {
		if text != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return readerlib.Version{}, program.Usagef("more than one of --version, --as-of and --tag is given")
	case number != "":
		n, err := ParseVersion(number)
		return readerlib.Numbered(n), err
	case asOf != "":
		t, err := program.ParseTime(asOf)
		if err != nil {
			return readerlib.Version{}, program.Usagef("--as-of: %w", err)
		}
		return readerlib.AsOf(t), nil
	case tag != "":
		return readerlib.Tagged(tag), nil
	}
	return readerlib.Newest(), nil
}
