package readerlib_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// exampleTopic makes a topic in memory: an ingest of three messages (version
// 1), a compaction of them (version 2), and an ingest of two more (version 3).
// Programs find theirs with manifest.Open, in a store of package objstore.
func exampleTopic() *manifest.Topic {
	w := newWorld(logger{}, nil)
	w.ingest(logger{}, msg("0:0", "apple", "red"), msg("0:1", "pear", "green"), msg("0:2", "apple", "yellow"))
	w.compact(logger{}, pos("0:2"), never)
	w.ingest(logger{}, msg("1:0", "plum", "blue"), msg("1:1", "pear", "-"))
	return w.topic
}

type logger struct{}

func (logger) Helper()                           {}
func (logger) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func Example() {
	ctx, topic := context.Background(), exampleTopic()
	r, err := readerlib.Open(ctx, topic, readerlib.Options{View: readerlib.Compacted})
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range r.Messages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if m.Kind == segments.KindTombstone {
			fmt.Printf("%s %s is deleted\n", m.Position, m.Key)
			continue
		}
		fmt.Printf("%s %s is %s\n", m.Position, m.Key, m.Value)
	}
	// Output:
	// 0:1 pear is green
	// 0:2 apple is yellow
	// 1:0 plum is blue
	// 1:1 pear is deleted
}

// A reader's place, kept as text, lets another one go on: today, in another
// process, or after any number of compactions.
func ExampleReader_Place() {
	ctx, topic := context.Background(), exampleTopic()
	r, err := readerlib.Open(ctx, topic, readerlib.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range r.Messages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("first reader:", m.Position)
		if string(m.Value) == "green" {
			break
		}
	}
	saved := r.Place().String()

	place, err := segments.ParsePosition(saved)
	if err != nil {
		log.Fatal(err)
	}
	r, err = readerlib.Open(ctx, topic, readerlib.Options{Start: readerlib.After(place)})
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range r.Messages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("second reader:", m.Position)
	}
	// Output:
	// first reader: 0:0
	// first reader: 0:1
	// second reader: 0:2
	// second reader: 1:0
	// second reader: 1:1
}

// HasMessageAvailable is true exactly when Next returns a message, so this
// loop cannot wait for one that never comes.
func ExampleReader_HasMessageAvailable() {
	ctx, topic := context.Background(), exampleTopic()
	r, err := readerlib.Open(ctx, topic, readerlib.Options{View: readerlib.Compacted, Start: readerlib.At(segments.At(1, 0))})
	if err != nil {
		log.Fatal(err)
	}
	for {
		more, err := r.HasMessageAvailable(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if !more {
			break
		}
		m, err := r.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Position)
	}
	_, err = r.Next(ctx)
	fmt.Println("at the end:", errors.Is(err, io.EOF))
	// Output:
	// 1:0
	// 1:1
	// at the end: true
}

// To follow a topic, read to the end of the snapshot, and go on from the same
// place in a newer one. When to look again is the program's: by a clock, or by
// a notification of the store.
func ExampleReader_Refresh() {
	ctx := context.Background()
	w := newWorld(logger{}, nil)
	w.ingest(logger{}, msg("0:0", "apple", "red"), msg("0:1", "pear", "green"))
	r, err := readerlib.Open(ctx, w.topic, readerlib.Options{View: readerlib.Compacted})
	if err != nil {
		log.Fatal(err)
	}
	follow := func() {
		if _, err := r.Refresh(ctx); err != nil {
			log.Fatal(err)
		}
		for m, err := range r.Messages(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(m.Position)
		}
	}
	follow()
	w.ingest(logger{}, msg("1:0", "apple", "yellow"))
	w.compact(logger{}, pos("1:0"), never) // 0:0 is gone, and was read before
	w.ingest(logger{}, msg("2:0", "plum", "blue"))
	follow()
	// Output:
	// 0:0
	// 0:1
	// 1:0
	// 2:0
}

// A version is read as it was, by its number, by a time, or by a tag.
func ExampleOptions_timeTravel() {
	ctx, topic := context.Background(), exampleTopic()
	for _, v := range []readerlib.Version{readerlib.Newest(), readerlib.Numbered(1), readerlib.AsOf(clock(2))} {
		r, err := readerlib.Open(ctx, topic, readerlib.Options{View: readerlib.Compacted, Version: v})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print("version ", r.Snapshot().Version, ":")
		for m, err := range r.Messages(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf(" %s", m.Position)
		}
		fmt.Println()
	}
	// Output:
	// version 3: 0:1 0:2 1:0 1:1
	// version 1: 0:0 0:1 0:2
	// version 2: 0:1 0:2
}

func ExampleReader_Get() {
	ctx, topic := context.Background(), exampleTopic()
	r, err := readerlib.Open(ctx, topic, readerlib.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"apple", "pear"} {
		m, found, err := r.Get(ctx, []byte(key))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %v %q\n", key, found, m.Value)
	}
	// Output:
	// apple: true "yellow"
	// pear: false ""
}

func ExampleReader_Fetch() {
	ctx, topic := context.Background(), exampleTopic()
	r, err := readerlib.Open(ctx, topic, readerlib.Options{})
	if err != nil {
		log.Fatal(err)
	}
	got, err := r.Fetch(ctx, segments.At(0, 2), segments.At(1, 7))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range got.Messages {
		fmt.Println(m.Position)
	}
	fmt.Println("absent:", got.Absent, "failed:", got.Failed, "not attempted from:", got.NotAttemptedFrom.V)
	// Output:
	// 0:2
	// 1:0
	// 1:1
	// absent: [] failed: [] not attempted from: 1:2
}

func ExampleChanges() {
	ctx, topic := context.Background(), exampleTopic()
	for c, err := range readerlib.Changes(ctx, topic, 1, 3) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s, gone: %v\n", c.Message.Position, c.Message.Key, c.Deleted)
	}
	// Output:
	// 1:0 plum, gone: false
	// 1:1 pear, gone: false
}
