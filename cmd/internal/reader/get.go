package reader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

// errKeyNotFound says that a key has no value in the compacted view.
var errKeyNotFound = errors.New("no such key")

func get() program.Command {
	return program.Command{
		Name:  "get",
		Usage: "print the message that holds the value of a key",
		Args:  "TOPIC KEY...",
		Least: 2, Most: -1,
		Flags:  append(topic.VersionFlags(), isolationFlag(), keyBase64Flag(), fieldsFlag()),
		Detail: "Prints one message line for each key, in the order given. A key that was deleted is not\nthere; if one is not, the others are printed, and the exit code is 3.",
		Run: func(ctx context.Context, s *program.Session) error {
			o, err := options(s)
			if err != nil {
				return err
			}
			o.View = readerlib.Compacted
			var keys [][]byte
			for _, text := range s.Args[1:] {
				key, err := keyBytes(s, text)
				if err != nil {
					return err
				}
				keys = append(keys, key)
			}
			printer, err := newMessagePrinter(s, o)
			if err != nil {
				return err
			}
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			found, err := r.GetMany(ctx, keys)
			if err != nil {
				return r.settle(ctx, err)
			}
			var missing []string
			for i := range found {
				if !found[i].Valid {
					missing = append(missing, fmt.Sprintf("%q", s.Args[1+i]))
					continue
				}
				if err := printer.print(&found[i].V); err != nil {
					return err
				}
			}
			if err := printer.close(); err != nil {
				return err
			}
			if missing != nil {
				return program.Missing(fmt.Errorf("topic %q: %w: %s", s.Args[0], errKeyNotFound, strings.Join(missing, ", ")))
			}
			return nil
		},
	}
}
