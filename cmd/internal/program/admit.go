package program

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
)

// guarded is a store in which no topic is begun before it is known to keep
// what topics rest on. Everything else goes through as it is and costs nothing:
// whatever writes to a topic finds one that was begun.
type guarded struct {
	objstore.Store
	admit func(context.Context) error

	mu       sync.Mutex
	admitted bool
}

// guard guards the store at an address.
func guard(store objstore.Store, address string, env func(string) string) *guarded {
	return &guarded{Store: store, admit: func(ctx context.Context) error {
		return doctor.Admit(ctx, store, doctor.Admission{
			Stores: func(ctx context.Context) ([]objstore.Store, error) { return Connect(ctx, address, env) },
			ID:     newIDs().mint(time.Time{}),
			Now:    time.Now(),
			Writer: "ledgerfold " + ThisBuild("").Version,
		})
	}}
}

// Put asks for admission before the first object of a topic, which is its
// format.
func (g *guarded) Put(ctx context.Context, key string, body objstore.Body) error {
	if strings.HasSuffix(key, "/format") {
		if err := g.ask(ctx); err != nil {
			return err
		}
	}
	return g.Store.Put(ctx, key, body)
}

func (g *guarded) ask(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted {
		return nil
	}
	err := g.admit(ctx)
	g.admitted = err == nil
	return err
}

// connections is over how many clients racing writers are spread. Through a
// single one, a service may see them one after another.
const connections = 4

// Connect opens the store at an address several times, for an examination: each
// has connections of its own, and none of them is guarded.
func Connect(ctx context.Context, address string, env func(string) string) ([]objstore.Store, error) {
	var stores []objstore.Store
	for range connections {
		s, _, err := openStore(ctx, address, env)
		if err != nil {
			return nil, err
		}
		stores = append(stores, s)
	}
	return stores, nil
}

// ExaminationID mints an id for an examination of a store.
func (s *Session) ExaminationID() string { return s.ids.mint(time.Time{}) }
