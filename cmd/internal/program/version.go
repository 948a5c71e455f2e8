package program

import (
	"context"
	"runtime/debug"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
)

// Build is what this binary was made of, as the Go tool recorded it.
type Build struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go,omitempty"`
}

// ThisBuild reads it.
func ThisBuild(program string) Build {
	b := Build{Program: program, Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

func versionCommand(program string) Command {
	return Command{
		Name:    "version",
		Usage:   "tell which build this is",
		NoStore: true,
		Run: func(_ context.Context, s *Session) error {
			b := ThisBuild(program)
			if s.JSON() {
				return s.Out.JSON(b)
			}
			l := output.NewList(s.Out)
			l.Add("program", b.Program)
			l.Add("version", b.Version)
			l.Add("revision", b.Revision)
			l.Add("time", b.Time)
			l.Add("go", b.Go)
			return l.Close()
		},
	}
}

// Writer is what segments say of who wrote them.
func (s *Session) Writer() string { return "ledgerfold " + ThisBuild(s.Program).Version }
