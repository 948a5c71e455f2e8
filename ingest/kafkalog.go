package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ledgerfold/ledgerfold/segments"
)

// kafkaLog is the format of a segment of a partition as it lies on a broker's
// disk: record batches one behind the other, in message format v2.
//
// What batches and records say is decoded by franz-go. It is made for brokers
// that one trusts, and makes room for as many headers as a record says it has,
// and for as many bytes as a compressed batch says it holds; so how many
// headers there are is looked at first (peekHeaders), and batches are inflated
// here, within a bound.
type kafkaLog struct {
	in       *bufio.Reader
	batchMax int64
	inflater batchInflater
	now      segments.Millis

	least   int64 // the lowest offset that may come
	buffer  []byte
	batch   kmsg.RecordBatch
	left    int32 // records of the batch that are not read yet
	records []byte
	last    int32 // offset delta of the record before
	record  kmsg.Record
	again   []byte // the record, encoded again

	message    [1]segments.Message
	properties []segments.Property
	producer   string // of the batch
}

func newKafkaLog(in *bufio.Reader, s *Settings) format {
	return &kafkaLog{
		in: in, batchMax: s.LineBytesMax, inflater: batchInflater{most: s.InflatedBytesMax}, now: segments.MillisOf(s.Now),
	}
}

// What must be known of a batch before all of it is there: how long it is, and
// whether it is one. Its header, big-endian, begins with the base offset int64,
// the length of the rest int32, the leader epoch int32, the magic int8 and the
// CRC-32C of the rest uint32.
const (
	batchHeaderBytes = 61
	batchLengthEnd   = 12 // where what the length counts begins
	batchMagicAt     = 16
	batchCheckedFrom = 21 // where what the CRC covers begins

	codecBits       = 0x07
	logAppendTime   = 0x08
	isTransactional = 0x10
	isControl       = 0x20
)

func (f *kafkaLog) next(rec *record) error {
	for {
		for f.left == 0 {
			if err := f.readBatch(); err != nil {
				return err
			}
		}
		offset, isOne, err := f.nextRecord(rec)
		if err != nil {
			return &PlaceError{fmt.Sprintf("batch at offset %d", f.batch.FirstOffset), err}
		}
		if f.left--; f.left == 0 && len(f.records) > 0 {
			return &PlaceError{fmt.Sprintf("batch at offset %d", f.batch.FirstOffset), fmt.Errorf("%d bytes follow its last record", len(f.records))}
		}
		if isOne {
			rec.line, rec.entry = offset+1, segments.Some(offset)
			return nil
		}
	}
}

// readBatch reads the next batch, which may have no records: compaction leaves
// those for the sake of their producers. It returns io.EOF at the end of the
// segment, and in front of a batch of which the end is missing: a broker that
// crashed leaves one.
func (f *kafkaLog) readBatch() error {
	f.records, f.buffer = nil, f.buffer[:0]
	err := f.fill(batchHeaderBytes)
	if err == io.EOF && len(f.buffer) == 0 {
		return io.EOF
	}
	if err != nil && err != io.EOF {
		return err
	}
	head := f.buffer
	if isZero(head) {
		return f.zeros()
	}
	if len(head) <= batchMagicAt {
		return io.EOF
	}
	base := int64(binary.BigEndian.Uint64(head))
	place := fmt.Sprintf("batch at offset %d", base)
	bad := func(text string, args ...any) error { return &PlaceError{place, fmt.Errorf(text, args...)} }
	switch magic := int8(head[batchMagicAt]); {
	case magic == 0 || magic == 1:
		return bad("it is in message format v%d, of before Kafka 0.11; let a newer broker write the segment again", magic)
	case magic != 2:
		return &PlaceError{f.here(), fmt.Errorf("what follows is no batch of a Kafka log (magic %d)", magic)}
	}
	length := int64(int32(binary.BigEndian.Uint32(head[8:])))
	switch {
	case length < batchHeaderBytes-batchLengthEnd:
		return bad("it has %d bytes, fewer than its header", length)
	case batchLengthEnd+length > f.batchMax:
		return bad("it has %d bytes, more than the %d allowed", length, f.batchMax)
	case base < f.least:
		return bad("it lies behind offset %d", f.least-1)
	}
	if err := f.fill(batchLengthEnd + length); err != nil && err != io.EOF {
		return err
	} else if err == io.EOF {
		if at, ok := batchInside(f.buffer, base); ok {
			return bad("it says it has %d bytes, more than there are, but the batch at offset %d follows", length, at)
		}
		return io.EOF
	}
	return f.open(place)
}

// open checks the batch in the buffer and makes its records ready.
func (f *kafkaLog) open(place string) error {
	bad := func(text string, args ...any) error { return &PlaceError{place, fmt.Errorf(text, args...)} }
	b := f.buffer
	if sum := crc32.Checksum(b[batchCheckedFrom:], castagnoli); sum != binary.BigEndian.Uint32(b[17:]) {
		return bad("it is corrupt: its CRC-32C is %08x, want %08x", sum, binary.BigEndian.Uint32(b[17:]))
	}
	if err := f.batch.UnsafeReadFrom(b); err != nil {
		return bad("it is corrupt: %w", err)
	}
	count := f.batch.NumRecords
	switch {
	case f.batch.LastOffsetDelta < 0 || f.batch.FirstOffset > math.MaxInt64-1-int64(f.batch.LastOffsetDelta):
		return bad("its last offset is %d behind its first", f.batch.LastOffsetDelta)
	case count < 0:
		return bad("it has %d records", count)
	case f.batch.Attributes&(isTransactional|isControl) != 0 && f.batch.ProducerID < 0:
		return bad("it belongs to a transaction, and has no producer")
	}
	var err error
	if f.records, err = f.inflater.inflate(f.batch.Attributes&codecBits, f.batch.Records); err != nil {
		return bad("%w", err)
	}
	if count == 0 && len(f.records) > 0 {
		return bad("it has no records, and %d bytes of them", len(f.records))
	}
	f.least = f.batch.FirstOffset + int64(f.batch.LastOffsetDelta) + 1
	f.left, f.last = count, -1
	if id := strconv.FormatInt(f.batch.ProducerID, 10); id != f.producer {
		f.producer = id
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fill reads on until the buffer has n bytes. Room is made as bytes arrive. It
// returns io.EOF if there are fewer.
func (f *kafkaLog) fill(n int64) error {
	const step = 1 << 20
	for int64(len(f.buffer)) < n {
		more := int(min(n-int64(len(f.buffer)), int64(max(step, len(f.buffer)))))
		f.buffer = slices.Grow(f.buffer, more)
		got, err := io.ReadFull(f.in, f.buffer[len(f.buffer):len(f.buffer)+more])
		f.buffer = f.buffer[:len(f.buffer)+got]
		switch {
		case err == nil:
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return io.EOF
		case errors.Is(err, errUnpack):
			return &PlaceError{f.here(), err}
		default:
			return fmt.Errorf("read input, %s: %w", f.here(), err)
		}
	}
	return nil
}

// here is the place behind the last batch.
func (f *kafkaLog) here() string {
	if f.least == 0 {
		return "at the beginning"
	}
	return fmt.Sprintf("after offset %d", f.least-1)
}

func isZero(b []byte) bool {
	return len(bytes.TrimLeft(b, "\x00")) == 0
}

// zeros passes over what a broker has set aside for records to come.
func (f *kafkaLog) zeros() error {
	var chunk [4096]byte
	for {
		n, err := f.in.Read(chunk[:])
		switch {
		case !isZero(chunk[:n]):
			return &PlaceError{f.here(), errors.New("what follows zeros is no batch of a Kafka log")}
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return fmt.Errorf("read input, %s: %w", f.here(), err)
		}
	}
}

// batchInside finds a batch after offset base anywhere in b, and its offset.
// There is none in what is left of a batch that was cut off; if there is one,
// the length in front of it is wrong, and it must not be lost.
func batchInside(b []byte, base int64) (offset int64, ok bool) {
	for i := 1; i+batchHeaderBytes <= len(b); i++ {
		if b[i+batchMagicAt] != 2 {
			continue
		}
		end := int64(i) + batchLengthEnd + int64(int32(binary.BigEndian.Uint32(b[i+8:])))
		offset := int64(binary.BigEndian.Uint64(b[i:]))
		if offset <= base || end < int64(i)+batchHeaderBytes || end > int64(len(b)) {
			continue
		}
		if crc32.Checksum(b[i+batchCheckedFrom:end], castagnoli) == binary.BigEndian.Uint32(b[i+17:]) {
			return offset, true
		}
	}
	return 0, false
}

// nextRecord reads the next record of the batch. Of a control batch it is a
// marker if it ends a transaction, and otherwise of no interest.
func (f *kafkaLog) nextRecord(rec *record) (offset int64, isOne bool, err error) {
	length, n := binary.Varint(f.records)
	if n <= 0 || length < 0 || length > int64(len(f.records)-n) {
		return 0, false, errors.New("a record is longer than its batch")
	}
	b := f.records[:n+int(length)]
	f.records = f.records[len(b):]
	if headers, ok := peekHeaders(b[n:]); !ok {
		return 0, false, errors.New("a record has fields longer than itself")
	} else if headers*propertyBytes > f.inflater.most {
		return 0, false, fmt.Errorf("a record has %d headers, more than are allowed", headers)
	}
	r := &f.record
	if err := r.UnsafeReadFrom(b); err != nil {
		return 0, false, fmt.Errorf("a record has headers longer than itself: %w", err)
	}
	if r.OffsetDelta <= f.last || r.OffsetDelta > f.batch.LastOffsetDelta {
		return 0, false, fmt.Errorf("a record lies %d behind the first offset, after one at %d, and the last is at %d", r.OffsetDelta, f.last, f.batch.LastOffsetDelta)
	}
	f.last = r.OffsetDelta
	offset = f.batch.FirstOffset + int64(r.OffsetDelta)
	// It decodes what it knows and says nothing of what follows.
	if f.again = r.AppendTo(f.again[:0]); len(f.again) != len(b) {
		return 0, false, fmt.Errorf("offset %d: %d bytes follow its headers", offset, len(b)-len(f.again))
	}
	f.properties = f.properties[:0]
	for i, h := range r.Headers {
		if !utf8.ValidString(h.Key) {
			return 0, false, fmt.Errorf("offset %d: the name of header %d is not UTF-8", offset, i)
		}
		f.properties = append(f.properties, segments.Property{Key: h.Key, Value: h.Value})
	}
	if f.batch.Attributes&isControl != 0 {
		isOne, err = f.marker(rec, r.Key)
		return offset, isOne, err
	}
	m := &f.message[0]
	*m = segments.Message{Position: segments.None, BatchSize: 1, Key: r.Key, Value: r.Value, PublishTime: f.time(r.TimestampDelta64)}
	if len(f.properties) > 0 {
		m.Properties = f.properties
	}
	if f.batch.ProducerID >= 0 && f.batch.ProducerEpoch >= 0 && f.batch.FirstSequence >= 0 {
		m.Producer, m.Epoch = segments.Some(f.producer), segments.Some(int32(f.batch.ProducerEpoch))
		m.Sequence = segments.Some((int64(f.batch.FirstSequence) + int64(r.OffsetDelta)) & sequenceMask)
	}
	*rec = record{messages: f.message[:]}
	if f.batch.Attributes&isTransactional != 0 {
		rec.counted = true
		m.Txn = segments.Some(segments.TxnID{Most: uint64(f.batch.ProducerID)})
	}
	return offset, true, nil
}

// propertyBytes is what a header takes, beside its bytes.
const propertyBytes = 40

// time is the time of a record: that of the batch, where the broker sets it.
func (f *kafkaLog) time(delta int64) segments.Millis {
	millis := f.batch.FirstTimestamp + delta
	if f.batch.Attributes&logAppendTime != 0 {
		millis = f.batch.MaxTimestamp
	}
	if millis == noTimestamp {
		return f.now
	}
	return segments.Millis(millis)
}

// marker makes a marker of a control record. Types other than these are about
// the cluster.
func (f *kafkaLog) marker(rec *record, key []byte) (bool, error) {
	var control kmsg.ControlRecordKey
	if err := control.ReadFrom(key); err != nil {
		return false, errors.New("a control record has no type")
	}
	*rec = record{counted: true, txn: segments.TxnID{Most: uint64(f.batch.ProducerID)}}
	switch control.Type {
	case kmsg.ControlRecordKeyTypeAbort:
		rec.kind = segments.KindAbort
	case kmsg.ControlRecordKeyTypeCommit:
		rec.kind = segments.KindCommit
	default:
		return false, nil
	}
	return true, nil
}

// peekHeaders is how many headers a record says it has. What stands before
// them is its attributes, the deltas of its time and offset, and its key and
// value, each behind its length.
func peekHeaders(b []byte) (n int64, ok bool) {
	skip := func(n int64) bool {
		if n > int64(len(b)) {
			return false
		}
		b = b[max(n, 0):]
		return true
	}
	varint := func() (int64, bool) {
		v, n := binary.Varint(b)
		return v, n > 0 && skip(int64(n))
	}
	if !skip(1) {
		return 0, false
	}
	for range 2 {
		if _, ok := varint(); !ok {
			return 0, false
		}
	}
	for range 2 {
		if length, ok := varint(); !ok || !skip(length) {
			return 0, false
		}
	}
	n, ok = varint()
	return n, ok && n >= 0 && n <= int64(len(b))
}
