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

	"github.com/ledgerfold/ledgerfold/segments"
)

// kafkaLog is the format of a segment of a partition as it lies on a broker's
// disk: record batches one behind the other, in message format v2.
//
// A library for clients would decode it too. But it is made for brokers that
// one trusts: it makes room for as many headers as a record says it has, and
// for as many bytes as a compressed batch says it holds.
type kafkaLog struct {
	in       *bufio.Reader
	batchMax int64
	inflater batchInflater
	now      segments.Millis

	least   int64 // the lowest offset that may come
	buffer  []byte
	batch   batchHeader
	left    int32 // records of the batch that are not read yet
	records []byte
	last    int32 // offset delta of the record before

	message    [1]segments.Message
	properties []segments.Property
	producer   string // of the batch
}

func newKafkaLog(in *bufio.Reader, s *Settings) format {
	return &kafkaLog{
		in: in, batchMax: s.LineBytesMax, inflater: batchInflater{most: s.InflatedBytesMax}, now: segments.MillisOf(s.Now),
	}
}

// batchHeader is what stands in front of the records of a batch, big-endian:
//
//	 0 base offset int64           23 last offset delta int32    51 producer epoch int16
//	 8 length of the rest int32    27 base timestamp int64       53 base sequence int32
//	12 leader epoch int32          35 max timestamp int64        57 number of records int32
//	16 magic int8                  43 producer id int64          61 records
//	17 CRC-32C of the rest uint32
//	21 attributes int16
type batchHeader struct {
	base            int64
	attributes      int16
	lastOffsetDelta int32
	baseTime        int64
	maxTime         int64
	producer        int64
	epoch           int16
	baseSequence    int32
}

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
		offset, isOne, err := f.record(rec)
		if err != nil {
			return &PlaceError{fmt.Sprintf("batch at offset %d", f.batch.base), err}
		}
		if f.left--; f.left == 0 && len(f.records) > 0 {
			return &PlaceError{fmt.Sprintf("batch at offset %d", f.batch.base), fmt.Errorf("%d bytes follow its last record", len(f.records))}
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
	f.batch = batchHeader{
		base:            int64(binary.BigEndian.Uint64(b)),
		attributes:      int16(binary.BigEndian.Uint16(b[21:])),
		lastOffsetDelta: int32(binary.BigEndian.Uint32(b[23:])),
		baseTime:        int64(binary.BigEndian.Uint64(b[27:])),
		maxTime:         int64(binary.BigEndian.Uint64(b[35:])),
		producer:        int64(binary.BigEndian.Uint64(b[43:])),
		epoch:           int16(binary.BigEndian.Uint16(b[51:])),
		baseSequence:    int32(binary.BigEndian.Uint32(b[53:])),
	}
	count := int32(binary.BigEndian.Uint32(b[57:]))
	switch {
	case f.batch.lastOffsetDelta < 0 || f.batch.base > math.MaxInt64-1-int64(f.batch.lastOffsetDelta):
		return bad("its last offset is %d behind its first", f.batch.lastOffsetDelta)
	case count < 0:
		return bad("it has %d records", count)
	case f.batch.attributes&(isTransactional|isControl) != 0 && f.batch.producer < 0:
		return bad("it belongs to a transaction, and has no producer")
	}
	var err error
	if f.records, err = f.inflater.inflate(f.batch.attributes&codecBits, b[batchHeaderBytes:]); err != nil {
		return bad("%w", err)
	}
	if count == 0 && len(f.records) > 0 {
		return bad("it has no records, and %d bytes of them", len(f.records))
	}
	f.least = f.batch.base + int64(f.batch.lastOffsetDelta) + 1
	f.left, f.last = count, -1
	if id := strconv.FormatInt(f.batch.producer, 10); id != f.producer {
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

// record reads the next record of the batch. Of a control batch it is a marker
// if it ends a transaction, and otherwise of no interest.
//
//	length varint | attributes int8 | timestamp delta varlong | offset delta varint
//	    | key length varint, key | value length varint, value
//	    | number of headers varint, (key length, key, value length, value)...
func (f *kafkaLog) record(rec *record) (offset int64, isOne bool, err error) {
	d := varints{b: f.records}
	b := d.bytes()
	if d.bad || b == nil {
		return 0, false, errors.New("a record is longer than its batch")
	}
	f.records = d.b
	d = varints{b: b}
	d.skip(1)
	timeDelta := d.varint()
	offsetDelta := d.varint()
	key, value := d.bytes(), d.bytes()
	headers := d.varint()
	if d.bad || headers < 0 || headers > int64(len(d.b)) {
		return 0, false, errors.New("a record has fields longer than itself")
	}
	if headers*propertyBytes > f.inflater.most {
		return 0, false, fmt.Errorf("a record has %d headers, more than are allowed", headers)
	}
	if offsetDelta <= int64(f.last) || offsetDelta > int64(f.batch.lastOffsetDelta) {
		return 0, false, fmt.Errorf("a record lies %d behind the first offset, after one at %d, and the last is at %d", offsetDelta, f.last, f.batch.lastOffsetDelta)
	}
	f.last = int32(offsetDelta)
	offset = f.batch.base + offsetDelta
	f.properties = f.properties[:0]
	for range headers {
		name, value := d.bytes(), d.bytes()
		if d.bad || name == nil {
			return 0, false, fmt.Errorf("offset %d has headers longer than itself", offset)
		}
		if !utf8.Valid(name) {
			return 0, false, fmt.Errorf("offset %d: the name of header %d is not UTF-8", offset, len(f.properties))
		}
		f.properties = append(f.properties, segments.Property{Key: string(name), Value: value})
	}
	if len(d.b) > 0 {
		return 0, false, fmt.Errorf("offset %d: %d bytes follow its headers", offset, len(d.b))
	}
	if f.batch.attributes&isControl != 0 {
		isOne, err = f.marker(rec, key)
		return offset, isOne, err
	}
	m := &f.message[0]
	*m = segments.Message{Position: segments.None, BatchSize: 1, Key: key, Value: value, PublishTime: f.time(timeDelta)}
	if len(f.properties) > 0 {
		m.Properties = f.properties
	}
	if f.batch.producer >= 0 && f.batch.epoch >= 0 && f.batch.baseSequence >= 0 {
		m.Producer, m.Epoch = segments.Some(f.producer), segments.Some(int32(f.batch.epoch))
		m.Sequence = segments.Some((int64(f.batch.baseSequence) + offsetDelta) & sequenceMask)
	}
	*rec = record{messages: f.message[:]}
	if f.batch.attributes&isTransactional != 0 {
		rec.counted = true
		m.Txn = segments.Some(segments.TxnID{Most: uint64(f.batch.producer)})
	}
	return offset, true, nil
}

// propertyBytes is what a header takes, beside its bytes.
const propertyBytes = 40

// time is the time of a record: that of the batch, where the broker sets it.
func (f *kafkaLog) time(delta int64) segments.Millis {
	millis := f.batch.baseTime + delta
	if f.batch.attributes&logAppendTime != 0 {
		millis = f.batch.maxTime
	}
	if millis == noTimestamp {
		return f.now
	}
	return segments.Millis(millis)
}

// marker makes a marker of a control record, whose key is its version and its
// type, both int16. Types other than these are about the cluster.
func (f *kafkaLog) marker(rec *record, key []byte) (bool, error) {
	const abort, commit = 0, 1
	if len(key) < 4 {
		return false, errors.New("a control record has no type")
	}
	*rec = record{counted: true, txn: segments.TxnID{Most: uint64(f.batch.producer)}}
	switch binary.BigEndian.Uint16(key[2:]) {
	case abort:
		rec.kind = segments.KindAbort
	case commit:
		rec.kind = segments.KindCommit
	default:
		return false, nil
	}
	return true, nil
}

// varints reads what a record is made of. Outside of its bytes it reads nothing
// and becomes bad.
type varints struct {
	b   []byte
	bad bool
}

func (d *varints) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[n:]
	return v
}

// bytes reads a length and so many bytes; nil where the length is negative.
func (d *varints) bytes() []byte {
	n := d.varint()
	if n < 0 || d.bad {
		return nil
	}
	return d.skip(n)
}

func (d *varints) skip(n int64) []byte {
	if n > int64(len(d.b)) {
		d.b, d.bad = nil, true
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}
