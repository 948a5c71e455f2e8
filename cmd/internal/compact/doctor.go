package compact

import (
	"context"
	"os"
	"strings"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
)

func doctorCommand() program.Command {
	return program.Command{
		Name:  "doctor",
		Usage: "find out whether a store can hold topics",
		Args:  "[URL]",
		Least: 0, Most: 1,
		NoStore: true,
		Detail: `Races creates over several connections, creates over what is there, lists, reads ranges,
deletes, and compares clocks, all below doctor/<id>/, which is deleted afterwards: some
2,400 requests and 50 MiB. Exit 0 if the store is fit, 1 if it is not.

The verdict is kept in the store, and the last one counts. Making a topic in a bucket that
has none makes the most important of these experiments first, in ten requests, and refuses
a store that fails them.`,
		Run: func(ctx context.Context, s *program.Session) error {
			address := s.Flags.String("store")
			if len(s.Args) > 0 {
				address = s.Args[0]
			}
			if address == "" {
				return program.Usagef("no store is given").WithHint("name it: `compact doctor s3://bucket/prefix`, or --store")
			}
			stores, err := program.Connect(ctx, address, os.Getenv)
			if err != nil {
				return err
			}
			settings := doctor.Settings{ID: s.ExaminationID(), Now: s.Now(), Checksums: checksumMode(address, os.Getenv)}
			watch := &doctorWatch{s, s.NewBar("doctor", int64(len(doctor.Names())), program.Steps)}
			defer watch.bar.Close()
			report, err := doctor.Examine(ctx, stores, settings, watch)
			if err != nil {
				return err
			}
			keepErr := doctor.Keep(ctx, stores[0], settings.ID, settings.Now, s.Writer(), report)
			if err := printReport(s, program.Address(address), report); err != nil {
				return err
			}
			if err := report.Err(); err != nil {
				return err
			}
			return keepErr
		},
	}
}

// checksumMode says how bodies are protected on their way to a store, as far as
// its address and the environment tell.
func checksumMode(address string, env func(string) string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	custom := strings.Contains(address, "endpoint=") || env("AWS_ENDPOINT_URL_S3") != "" || env("AWS_ENDPOINT_URL") != ""
	switch mode := env("AWS_REQUEST_CHECKSUM_CALCULATION"); {
	case scheme == "minio":
		return "SHA-256 of every body, in its signature"
	case scheme != "s3":
		return "none on the way to a folder"
	case mode != "":
		return "as AWS_REQUEST_CHECKSUM_CALCULATION says: " + mode
	case custom:
		return "none beside the signature, as many services refuse more; AWS_REQUEST_CHECKSUM_CALCULATION=when_supported sends CRC32"
	}
	return "CRC32 of every body (when_supported)"
}

// doctorWatch turns the events of an examination into log lines and a progress
// bar.
type doctorWatch struct {
	s   *program.Session
	bar *program.Bar
}

// Checked implements doctor.Observer.
func (w *doctorWatch) Checked(c doctor.Check) {
	w.bar.Add(1)
	w.s.Log.Info("checked", "check", c.Name, "verdict", string(c.Verdict), "seen", c.Seen)
}

func printReport(s *program.Session, address string, r doctor.Report) error {
	if s.JSON() {
		return s.Out.JSON(struct {
			Store string `json:"store"`
			doctor.Report
		}{address, r})
	}
	table := output.NewTable(s.Out, output.Column{Name: "check"}, output.Column{Name: "verdict"}, output.Column{Name: "seen", Most: 160})
	for _, c := range r.Checks {
		if err := table.Row(c.Name, string(c.Verdict), c.Seen); err != nil {
			return err
		}
	}
	if err := table.Close(); err != nil {
		return err
	}
	l := output.NewList(s.Out)
	l.Add("store", address)
	l.Add("verdict", string(r.Verdict))
	return l.Close()
}
