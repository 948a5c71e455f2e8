package program

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// careless is a store that takes no notice of the condition.
type careless struct{ objstore.Store }

func (c careless) Put(ctx context.Context, key string, body objstore.Body) error {
	if err := c.Store.Delete(ctx, key); err != nil {
		return err
	}
	return c.Store.Put(ctx, key, body)
}

// guardedBy is store as OpenStore would guard it.
func guardedBy(store objstore.Store) *guarded {
	return &guarded{Store: store, admit: func(ctx context.Context) error {
		return doctor.Admit(ctx, store, doctor.Admission{
			Stores: func(context.Context) ([]objstore.Store, error) { return []objstore.Store{store}, nil },
			ID:     newIDs().mint(time.Time{}),
		})
	}}
}

func createIn(t *testing.T, store objstore.Store, name string) error {
	t.Helper()
	s := &Session{ids: newIDs()}
	_, err := s.CreateTopic(t.Context(), store, name, manifest.DefaultSettings())
	return err
}

func TestNoTopicIsBegunInAStoreThatIsUnfit(t *testing.T) {
	store := careless{new(mem.Store)}
	err := createIn(t, guardedBy(store), "orders")
	if !errors.Is(err, doctor.ErrUnfit) || CodeOf(err) != Failed || !strings.Contains(hintOf(err), "compact doctor") {
		t.Errorf("got %v, code %d, hint %q", err, CodeOf(err), hintOf(err))
	}
	for e := range store.List(t.Context(), "", "") {
		t.Errorf("%s is left", e.Key)
	}
}

// The examination costs ten requests for the first topic of a store, one for
// each topic of another process, and nothing for all else.
func TestOnlyBeginningATopicIsAskedFor(t *testing.T) {
	counted := count.New(new(mem.Store))
	cost := func(do func(store objstore.Store)) int64 {
		before := counted.Snapshot()
		do(guardedBy(counted))
		return counted.Snapshot().Sub(before).Requests()
	}
	var bare int64
	{
		plain := count.New(new(mem.Store))
		if err := createIn(t, plain, "a"); err != nil {
			t.Fatal(err)
		}
		bare = plain.Snapshot().Requests()
	}
	create := func(names ...string) func(store objstore.Store) {
		return func(store objstore.Store) {
			for _, name := range names {
				if err := createIn(t, store, name); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if got := cost(create("a")) - bare; got != 10 {
		t.Errorf("the first topic costs %d requests more, want 10", got)
	}
	if got := cost(create("b", "c")) - 2*bare; got != 1 {
		t.Errorf("further topics cost %d requests more, want 1 for the process", got)
	}
	if got := cost(func(store objstore.Store) {
		if err := store.Put(t.Context(), "x/m/1", strings.NewReader("")); err != nil {
			t.Error(err)
		}
	}); got != 1 {
		t.Errorf("another object costs %d requests, want its own", got)
	}
}

// A store that could not be asked is asked again.
func TestABadMomentOfAnExaminationIsNotRemembered(t *testing.T) {
	n := 0
	g := &guarded{Store: new(mem.Store), admit: func(context.Context) error {
		if n++; n == 1 {
			return errUnreachable
		}
		return nil
	}}
	for _, want := range []error{errUnreachable, nil, nil} {
		if err := g.Put(t.Context(), strings.Repeat("x", n+1)+"/format", strings.NewReader("")); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestFoldersAreTrustedAndBucketsAreNot(t *testing.T) {
	folder, err := OpenStore(t.Context(), t.TempDir(), os.Getenv)
	if _, isGuarded := folder.(*guarded); err != nil || isGuarded {
		t.Errorf("a folder is a %T, %v", folder, err)
	}
	server := s3servertest.Start(t)
	for _, address := range []string{server.PrefixURL("a"), server.MinioURL() + "/b"} {
		store, err := OpenStore(t.Context(), address, server.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"orders", "clients"} {
			if err := createIn(t, store, name); err != nil {
				t.Error(err)
			}
		}
		if got := verdicts(store.List(t.Context(), "doctor/", "")); got != 1 {
			t.Errorf("%d objects below doctor/, want one verdict", got)
		}
	}
}

func verdicts(entries iter.Seq2[objstore.Entry, error]) (n int) {
	for e, err := range entries {
		if err == nil && strings.HasSuffix(e.Key, "-pass") {
			n++
			continue
		}
		return -1
	}
	return n
}
