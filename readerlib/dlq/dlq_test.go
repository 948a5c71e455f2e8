package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/readerlib/dlq"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

var origin = dlq.Origin{Topic: "orders", ID: "T1", Group: "g"}

// box is a topic of letters in memory.
type box struct {
	rounds [][]segments.Message
	fail   map[int]error // by number of the call, from 0
	calls  int
}

func (b *box) Append(_ context.Context, letters []segments.Message) error {
	b.calls++
	if err := b.fail[b.calls-1]; err != nil {
		return err
	}
	b.rounds = append(b.rounds, letters)
	return nil
}

// letters yields what is in the box, each round in a ledger of its own.
func (b *box) letters() iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		for ledger, round := range b.rounds {
			for entry, m := range round {
				m.Position = segments.At(int64(ledger), int64(entry))
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

// list prints the letters as position=value, or the payload where there is none.
func (b *box) list(t *testing.T) string {
	t.Helper()
	letters, _, err := dlq.List(b.letters())
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, l := range letters {
		what := string(l.Message.Value)
		if l.Payload != dlq.Present {
			what = string(l.Payload)
		}
		words = append(words, fmt.Sprintf("%d=%s", l.Message.Position.Entry, what))
	}
	return strings.Join(words, " ")
}

// source is a topic to fetch from, made of what it answers.
type source struct {
	has     map[int64]string
	corrupt map[int64]bool
	fails   map[int64]error
	end     int64 // entries from here on are not settled
	asked   []string
}

func (s *source) Fetch(_ context.Context, first, last segments.Position) (r readerlib.FetchResult, err error) {
	s.asked = append(s.asked, readerlib.Entries{First: first, Last: last}.String())
	for e := first.Entry; e <= last.Entry; e++ {
		at := segments.At(1, e)
		one := readerlib.Entries{First: at, Last: at}
		switch {
		case s.end > 0 && e >= s.end:
			r.NotAttemptedFrom = segments.Some(at)
			return r, nil
		case s.fails[e] != nil:
			r.Failed = append(r.Failed, readerlib.FailedEntries{Entries: one, Err: s.fails[e]})
		case s.corrupt[e]:
			r.Failed = append(r.Failed, readerlib.FailedEntries{Entries: one, Err: segments.ErrCorrupt})
		case s.has[e] != "":
			r.Messages = append(r.Messages, segments.Message{Position: at, BatchSize: 1, Key: []byte("k"), Value: []byte(s.has[e])})
		default:
			r.Absent = append(r.Absent, one)
		}
	}
	return r, nil
}

func values(entries ...int64) map[int64]string {
	has := map[int64]string{}
	for _, e := range entries {
		has[e] = fmt.Sprint("v", e)
	}
	return has
}

var tooOften = dlq.Cause{Reason: keyshared.ReasonAttempts, Attempts: 5, Message: "delivery count exceeded"}

func property(m *segments.Message, key string) (value string, n int) {
	for _, p := range m.Properties {
		if p.Key == key {
			value = string(p.Value)
			n++
		}
	}
	return value, n
}

// Scenario 106: of 5 to 7 two are there; each of the three gets a letter, and
// the one that is absent neither key nor value.
func TestAnAbsentMessageGetsALetterWithoutPayload(t *testing.T) {
	b := new(box)
	office := dlq.Office{Origin: origin, To: b}
	if err := office.BuryRange(t.Context(), &source{has: values(5, 7)}, segments.At(1, 5), segments.At(1, 7), tooOften); err != nil {
		t.Fatal(err)
	}
	if got := b.list(t); got != "5=v5 6=absent 7=v7" {
		t.Errorf("letters are %q", got)
	}
	absent := b.rounds[0][1]
	if absent.Key != nil || absent.Value != nil {
		t.Errorf("the letter of what is absent has key %q, value %q", absent.Key, absent.Value)
	}
	for key, want := range map[string]string{
		dlq.PropertyTopic: "orders", dlq.PropertyTopicID: "T1", dlq.PropertyPosition: "1:6", dlq.PropertyGroup: "g",
		dlq.PropertyAttempts: "5", dlq.PropertyReason: "max-attempts", dlq.PropertyMessage: "delivery count exceeded",
	} {
		if got, _ := property(&absent, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// Scenario 107 is about partitions, which are topics of their own here: each
// has letters of its own.
func TestEachTopicAndGroupHasLettersOfItsOwn(t *testing.T) {
	if got := (dlq.Origin{Topic: "orders-partition-7", Group: "g"}).TopicName(); got != "orders-partition-7-g-DLQ" {
		t.Errorf("the topic is %q", got)
	}
}

// Scenario 108.
func TestWhatIsNotKnownIsNotSaid(t *testing.T) {
	m := segments.Message{Position: segments.At(1, 2), Key: []byte("k")}
	letter := origin.Letter(&m, dlq.Cause{Reason: keyshared.ReasonRejected})
	for _, key := range []string{dlq.PropertyMessage, dlq.PropertyAttempts, dlq.PropertyProducer, dlq.PropertySequence} {
		if value, n := property(&letter, key); n != 0 {
			t.Errorf("%s is %q", key, value)
		}
	}
}

// Scenario 109: both are there, and the letter's own is the last.
func TestAPropertyOfTheSameNameComesFirst(t *testing.T) {
	m := segments.Message{Position: segments.At(1, 2), Key: []byte("k"), Properties: []segments.Property{
		{Key: dlq.PropertyGroup, Value: []byte("mine")}, {Key: "null"}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("2")},
	}}
	letter := origin.Letter(&m, tooOften)
	if value, n := property(&letter, dlq.PropertyGroup); value != "g" || n != 2 {
		t.Errorf("the group is %q, there %d times", value, n)
	}
	b := &box{rounds: [][]segments.Message{{letter}}}
	letters, _, err := dlq.List(b.letters())
	if err != nil || len(letters) != 1 || !reflect.DeepEqual(letters[0].Message.Properties, m.Properties) {
		t.Errorf("came back as %+v, %v", letters, err)
	}
}

// A letter keeps all of its message; what it can't keep in place is beside.
func TestALetterKeepsItsMessage(t *testing.T) {
	m := segments.Message{
		Position: segments.Position{Ledger: 3, Entry: 1, Batch: 2}, BatchSize: 5, Kind: segments.KindTombstone,
		Key: []byte{0xff}, OrderingKey: []byte("o"), PublishTime: 1000, EventTime: segments.Some(segments.Millis(7)),
		Producer: segments.Some("p"), Sequence: segments.Some(int64(9)),
	}
	letter := origin.Letter(&m, tooOften)
	if letter.Kind != m.Kind || string(letter.Key) != "\xff" || string(letter.OrderingKey) != "o" || letter.Value != nil || letter.EventTime != m.EventTime || letter.Producer.Valid {
		t.Errorf("letter is %+v", letter)
	}
	for key, want := range map[string]string{
		dlq.PropertyPublishTime: "1970-01-01T00:00:01.000Z", dlq.PropertyProducer: "p", dlq.PropertySequence: "9", dlq.PropertyPosition: "3:1:2",
	} {
		if got, _ := property(&letter, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// Scenario 111, and rounds: letters go together up to a size; one that is
// larger goes alone.
func TestALetterThatIsTooLargeGoesAlone(t *testing.T) {
	b := new(box)
	office := dlq.Office{Origin: origin, To: b, RoundBytes: 2000}
	var dead []keyshared.Dead
	for i, size := range []int{10, 10, 5000, 10, 1000, 1000} {
		dead = append(dead, keyshared.Dead{Message: &segments.Message{Position: segments.At(1, int64(i)), Value: make([]byte, size)}})
	}
	if err := office.Bury(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, r := range b.rounds {
		sizes = append(sizes, len(r))
	}
	if fmt.Sprint(sizes) != "[2 1 1 1 1]" && fmt.Sprint(sizes) != "[2 1 2 1]" {
		t.Errorf("rounds of %v", sizes)
	}
}

// Scenario 112: what was not attempted is told from what is absent, and gets no
// letter until it is settled; and a range makes progress with every piece.
func TestWhatIsNotSettledGetsNoLetter(t *testing.T) {
	b := new(box)
	office := dlq.Office{Origin: origin, To: b}
	s := &source{has: values(5), end: 6}
	err := office.BuryRange(t.Context(), s, segments.At(1, 5), segments.At(1, 8), tooOften)
	if !errors.Is(err, dlq.ErrNotSettled) {
		t.Errorf("error is %v, want ErrNotSettled", err)
	}
	if got := b.list(t); got != "5=v5" {
		t.Errorf("letters are %q", got)
	}
	s = &source{has: values(5)}
	if err := office.BuryRange(t.Context(), s, segments.At(1, 0), segments.At(1, 2499), tooOften); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.asked, " "); got != "1:0..1:999 1:1000..1:1999 1:2000..1:2499" {
		t.Errorf("asked for %s", got)
	}
}

// Scenario 114.
func TestATopicWithoutNameIsCalledByItsID(t *testing.T) {
	letter := dlq.Origin{ID: "T9", Group: "g"}.HeadersOnly(segments.At(1, 0), tooOften, dlq.Absent)
	if got, _ := property(&letter, dlq.PropertyTopic); got != "T9" {
		t.Errorf("topic is %q", got)
	}
}

// Scenarios 116 and 117: what can't be written is an error, the payload was
// fetched once, and the message stays unfinished. Trying again gives doubles of
// what was written, which a list folds.
func TestWhatWasWrittenTwiceIsListedOnce(t *testing.T) {
	boom := errors.New("boom")
	b := &box{fail: map[int]error{1: boom}}
	office := dlq.Office{Origin: origin, To: b, RoundBytes: 1}
	s := &source{has: values(5, 6, 7)}
	bury := func() error {
		return office.BuryRange(t.Context(), s, segments.At(1, 5), segments.At(1, 7), tooOften)
	}
	if err := bury(); !errors.Is(err, boom) || len(s.asked) != 1 {
		t.Errorf("error is %v after %d fetches", err, len(s.asked))
	}
	if err := bury(); err != nil {
		t.Fatal(err)
	}
	letters, _, err := dlq.List(b.letters())
	if err != nil || len(letters) != 3 || letters[0].Copies != 2 || letters[1].Copies != 1 {
		t.Errorf("letters are %+v, %v", letters, err)
	}
	if got := b.list(t); got != "5=v5 6=v6 7=v7" {
		t.Errorf("letters are %q", got)
	}
}

// Scenarios 84 to 87 and 93: what fails keeps its message unfinished, what is
// damaged is told as such, and neither hides what is beside.
func TestWhatFailsIsNeitherAbsentNorHidesOthers(t *testing.T) {
	b := new(box)
	office := dlq.Office{Origin: origin, To: b}
	boom := errors.New("boom")
	s := &source{has: values(0, 1, 3), fails: map[int64]error{2: boom}}
	if err := office.BuryRange(t.Context(), s, segments.At(1, 0), segments.At(1, 3), tooOften); !errors.Is(err, boom) {
		t.Errorf("error is %v", err)
	}
	if got := b.list(t); got != "0=v0 1=v1 3=v3" {
		t.Errorf("letters are %q", got)
	}
	b.rounds = nil
	s = &source{has: values(0, 2), corrupt: map[int64]bool{1: true}}
	if err := office.BuryRange(t.Context(), s, segments.At(1, 0), segments.At(1, 2), tooOften); err != nil {
		t.Error(err)
	}
	if got := b.list(t); got != "0=v0 1=unreadable 2=v2" {
		t.Errorf("letters are %q", got)
	}
}

func TestALetterWithoutPayloadIsNotSentBack(t *testing.T) {
	b := new(box)
	office := dlq.Office{Origin: origin, To: b}
	if err := office.BuryRange(t.Context(), &source{has: values(5)}, segments.At(1, 5), segments.At(1, 6), tooOften); err != nil {
		t.Fatal(err)
	}
	b.rounds[0] = append(b.rounds[0], segments.Message{Key: []byte("no letter")})
	letters, others, err := dlq.List(b.letters())
	if err != nil || others != 1 {
		t.Errorf("%d others, %v", others, err)
	}
	m, ok, err := letters[0].Again("D1")
	if err != nil || !ok || m.Producer.V != "dlq-D1" || m.Sequence.V != 0 || string(m.Value) != "v5" || m.Properties != nil {
		t.Errorf("sent back is %+v, %v, %v", m, ok, err)
	}
	if _, ok, err := letters[1].Again("D1"); ok || err != nil {
		t.Errorf("what is absent is sent back: %v, %v", ok, err)
	}
}
