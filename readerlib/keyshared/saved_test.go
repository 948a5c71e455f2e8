package keyshared

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

func frontierOf(through string, unfinished ...string) Frontier {
	parse := func(text string) segments.Position {
		p, err := segments.ParsePosition(text)
		if err != nil {
			panic(err)
		}
		return p
	}
	f := Frontier{Through: segments.Some(parse(through))}
	for i, u := range unfinished {
		f.Unfinished = append(f.Unfinished, Unfinished{parse(u), i % 2})
	}
	return f
}

func TestAFrontierIsReadAsItWasWritten(t *testing.T) {
	for _, test := range []struct {
		f    Frontier
		want string
	}{
		{Frontier{}, `{"through":null}`},
		{frontierOf("0:0:0"), `{"through":"0:0:0"}`},
		{frontierOf("3:9", "3:4", "3:7", "3:8", "3:9"), `{"through":"3:9","unfinished":["3:4","3:7..3:9"],"attempts":{"3:7":1,"3:9":1}}`},
		{frontierOf("5:0", "3:4", "4:0:1", "4:0:2", "4:0:4", "5:0"), `{"through":"5:0","unfinished":["3:4","4:0:1..4:0:2","4:0:4","5:0"],"attempts":{"4:0:1":1,"4:0:4":1}}`},
	} {
		got, err := json.Marshal(test.f)
		if err != nil || string(got) != test.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
		}
		var back Frontier
		if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, test.f) {
			t.Errorf("%s came back as %+v, %v", got, back, err)
		}
	}
}

func TestABadFrontierIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"through":"1:5","unfinished":["1:6"]}`, `{"through":"1:5","unfinished":["1:3","1:3"]}`,
		`{"through":"1:5","unfinished":["1:4..1:3"]}`, `{"through":"2:5","unfinished":["1:4..2:0"]}`,
		`{"through":"9:9","unfinished":["1:0..1:9999999999"]}`, `{"unfinished":["1:0"]}`, `{"through":"x"}`,
	} {
		if err := json.Unmarshal([]byte(text), new(Frontier)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestAGroupIsResumedFromTheStore(t *testing.T) {
	n := 0
	id := func() string { n++; return fmt.Sprintf("%026d", n) }
	topic, err := manifest.Create(t.Context(), new(mem.Store), manifest.NewTopic{
		Name: "orders", ID: manifest.TopicID(id()), Commit: manifest.CommitID(id()), Now: noon, Settings: manifest.DefaultSettings(),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := Resume(t.Context(), topic, "g", id())
	if err != nil || !reflect.DeepEqual(first.Frontier(), Frontier{}) {
		t.Fatalf("a new group: %+v, %v", first, err)
	}
	want := frontierOf("3:9", "3:4", "3:7")
	if err := first.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	second, err := Resume(t.Context(), topic, "g", id())
	if err != nil || !reflect.DeepEqual(second.Frontier(), want) {
		t.Errorf("resumed %+v, %v", second, err)
	}
	if err := first.Save(t.Context(), want); !errors.Is(err, manifest.ErrTakenOver) {
		t.Errorf("the first saves: %v, want ErrTakenOver", err)
	}
}
