package doctor

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// nobody is who created an object that has the bytes of no writer.
const nobody = -1

// race is what came of several writers that created one key at once.
type race struct {
	won    []bool // by writer: was it told that it created the object?
	stored int    // the writer whose bytes are there, or nobody
}

// wrong says what is wrong with a race, or nothing if one writer won it and its
// bytes are there.
func (r race) wrong() string {
	winner, winners := nobody, 0
	for writer, won := range r.won {
		if won {
			winner = writer
			winners++
		}
	}
	switch {
	case winners == 0:
		return fmt.Sprintf("none of %d creates of a new key succeeded", len(r.won))
	case winners > 1:
		return fmt.Sprintf("%d of %d creates of one key succeeded", winners, len(r.won))
	case r.stored == nobody:
		return "a create succeeded, and other bytes than its own are there"
	case r.stored != winner:
		return "a create was refused, and its bytes are there all the same"
	}
	return ""
}

// rivals are writers of one key: each has a body of its own, and knows it again.
type rivals struct {
	body func(writer int) objstore.Body
	same func(writer int, b []byte) bool
}

// lines are rivals with a line of text each.
func lines(key string) rivals {
	line := func(w int) []byte { return fmt.Appendf(nil, "%s, writer %d\n", key, w) }
	return rivals{
		body: func(w int) objstore.Body { return bytes.NewReader(line(w)) },
		same: func(w int, b []byte) bool { return bytes.Equal(b, line(w)) },
	}
}

// patterns are rivals with a big body each.
func patterns(size int64) rivals {
	return rivals{
		body: func(w int) objstore.Body { return pattern{w, size} },
		same: func(w int, b []byte) bool { return int64(len(b)) == size && pattern{w, size}.isAt(b, 0) },
	}
}

// rush lets n writers create a key at once, and returns who was told that it
// did.
func (p *patient) rush(ctx context.Context, key string, n int, r rivals) ([]bool, error) {
	won := make([]bool, n)
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			<-start
			won[w], errs[w] = p.create(ctx, w, key, r.body(w))
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return won, nil
}

// holder reads a key, and returns which of n writers has its object there.
func (p *patient) holder(ctx context.Context, key string, n int, r rivals) (int, error) {
	b, err := p.get(ctx, key, r.body(0).Size()+1)
	if err != nil {
		return nobody, fmt.Errorf("after creates of it: %w", err)
	}
	for w := range n {
		if r.same(w, b) {
			return w, nil
		}
	}
	return nobody, nil
}

const (
	raceRounds  = 10
	raceWriters = 8
)

func racingCreates(ctx context.Context, p *patient) (result, error) {
	bad, example := 0, ""
	for round := range raceRounds {
		key := p.key(fmt.Sprintf("%04d", round))
		won, err := p.rush(ctx, key, raceWriters, lines(key))
		if err != nil {
			return result{}, err
		}
		stored, err := p.holder(ctx, key, raceWriters, lines(key))
		if err != nil {
			return result{}, err
		}
		if wrong := (race{won, stored}).wrong(); wrong != "" {
			bad, example = bad+1, wrong
		}
	}
	if bad > 0 {
		return fail("in %d of %d rounds something was wrong: %s", bad, raceRounds, example), nil
	}
	return pass("%d rounds of %d writers had one winner each, whose bytes are there", raceRounds, raceWriters), nil
}

func createOver(ctx context.Context, p *patient) (result, error) {
	const first, second = "first", "second, and longer"
	key := p.key("a")
	if err := p.put(ctx, key, first); err != nil {
		return result{}, err
	}
	won, err := p.create(ctx, 1, key, text(second))
	if err != nil {
		return result{}, err
	}
	b, err := p.get(ctx, key, int64(len(second)))
	if err != nil {
		return result{}, err
	}
	return judgeCreateOver(won, string(b) == first), nil
}

// judgeCreateOver judges a create of a key that exists: was it told that it
// created it, and has the object stayed as it was?
func judgeCreateOver(won, stayed bool) result {
	switch {
	case won && !stayed:
		return fail("a create of a key that exists replaced the object: the store takes no notice of the condition (If-None-Match: *)")
	case won:
		return fail("a create of a key that exists was told that it succeeded, and its bytes are not there")
	case !stayed:
		return fail("a create of a key that exists was refused, and the object is another one now")
	}
	return pass("a create of a key that exists was refused, and the object stayed")
}

// lostAnswer creates an object and pretends not to know. Whoever lost an answer
// puts the same bytes again and reads what is there.
//
// Where a call of the second create fails on its way, objstore/retry does just
// that, and rightly calls it a success. So one success proves nothing.
func lostAnswer(ctx context.Context, p *patient) (result, error) {
	const tries, body = 3, "mine"
	for n := range tries {
		key := p.key(fmt.Sprint(n))
		if err := p.put(ctx, key, body); err != nil {
			return result{}, err
		}
		won, err := p.create(ctx, 1, key, text(body))
		if err != nil {
			return result{}, err
		}
		b, err := p.get(ctx, key, int64(len(body)))
		if err != nil {
			return result{}, err
		}
		switch {
		case string(b) != body:
			return fail("an object has other bytes than it was created with"), nil
		case !won:
			return pass("the same create again was refused, and the object is the first one's"), nil
		}
	}
	return fail("the same create succeeded twice, on %d keys", tries), nil
}

func emptyObject(ctx context.Context, p *patient) (result, error) {
	key := p.key("a")
	if err := p.put(ctx, key, ""); err != nil {
		return result{}, err
	}
	won, err := p.create(ctx, 1, key, text("x"))
	if err != nil {
		return result{}, err
	}
	b, err := p.get(ctx, key, 1)
	if err != nil {
		return result{}, err
	}
	if won || len(b) > 0 {
		return judgeCreateOver(won, len(b) == 0), nil
	}
	entries, err := p.list(ctx, key, "")
	if err != nil {
		return result{}, err
	}
	if len(entries) != 1 || entries[0].Bytes != 0 {
		return fail("an empty object is not listed, or with a size"), nil
	}
	return pass("an empty object is there, and was not replaced"), nil
}

// large is above the size from which stores in buckets upload in parts.
const large = 16<<20 + 1

// largeObject races two bodies that are uploaded in parts. There the condition
// is on the request that completes the upload, which services may forget.
func largeObject(ctx context.Context, p *patient) (result, error) {
	const writers = 2
	key, all := p.key("a"), patterns(large)
	won, err := p.rush(ctx, key, writers, all)
	if err != nil {
		return result{}, err
	}
	stored, err := p.holder(ctx, key, writers, all)
	if err != nil {
		return result{}, err
	}
	if wrong := (race{won, stored}).wrong(); wrong != "" {
		return fail("%s", wrong), nil
	}
	late, err := p.create(ctx, 0, key, all.body(writers))
	if err != nil {
		return result{}, err
	}
	const end = 100
	tail := make([]byte, end)
	if err := p.stores[0].ReadAt(ctx, key, tail, large-end); err != nil {
		return result{}, err
	}
	stayed := pattern{stored, large}.isAt(tail, large-end)
	if late || !stayed {
		return judgeCreateOver(late, stayed), nil
	}
	return pass("of two creates of %d bytes at once one won, and a later one was refused", large), nil
}

func deleteThenCreate(ctx context.Context, p *patient) (result, error) {
	key := p.key("a")
	if err := p.put(ctx, key, "first"); err != nil {
		return result{}, err
	}
	switch err := p.stores[0].Delete(ctx, key); {
	case isDenied(err):
		return mayNotDelete(err), nil
	case err != nil:
		return result{}, err
	}
	_, err := p.get(ctx, key, 100)
	if gone, err := absent(err); err != nil || !gone {
		return fail("a deleted object can be read"), err
	}
	entries, err := p.list(ctx, key, "")
	if err != nil {
		return result{}, err
	}
	if len(entries) > 0 {
		return fail("a deleted object is listed"), nil
	}
	won, err := p.create(ctx, 1, key, text("second"))
	if err != nil {
		return result{}, err
	}
	if !won {
		return fail("a key that was deleted is still taken"), nil
	}
	b, err := p.get(ctx, key, 100)
	if err != nil {
		return result{}, err
	}
	if string(b) != "second" {
		return fail("a key that was deleted and created again has the bytes of the first object"), nil
	}
	return pass("a deleted object is gone at once, and its key is free"), nil
}

func deleteMissing(ctx context.Context, p *patient) (result, error) {
	switch err := p.stores[0].Delete(ctx, p.key("never")); {
	case isDenied(err):
		return mayNotDelete(err), nil
	case err != nil:
		return fail("%v", err), nil
	}
	return pass("a delete of a key that is not there succeeded"), nil
}

func mayNotDelete(err error) result {
	return warn("could not be tried, as these credentials may not delete: %v", err)
}
