package ingest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// kafkaBatch is a record batch to be written.
type kafkaBatch struct {
	base       int64
	magic      int8 // 0 is 2
	attributes int16
	lastDelta  int32 // where it is 0, that of the last record
	baseTime   int64
	maxTime    int64
	producer   int64
	epoch      int16
	sequence   int32
	records    []kafkaRecord
	raw        []byte // instead of records
	count      int32  // with raw
	pack       func([]byte) []byte
}

type kafkaRecord struct {
	delta   int64 // of the offset
	time    int64
	key     []byte
	value   []byte
	headers []segments.Property
}

// plainBatch is a batch without a producer.
func plainBatch(base int64, records ...kafkaRecord) kafkaBatch {
	return kafkaBatch{base: base, producer: -1, epoch: -1, sequence: -1, records: records}
}

func appendKafkaBytes(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(v))), v...)
}

func (r *kafkaRecord) bytes() []byte {
	b := []byte{0}
	b = binary.AppendVarint(b, r.time)
	b = binary.AppendVarint(b, r.delta)
	b = appendKafkaBytes(b, r.key)
	b = appendKafkaBytes(b, r.value)
	b = binary.AppendVarint(b, int64(len(r.headers)))
	for _, h := range r.headers {
		b = appendKafkaBytes(b, []byte(h.Key))
		b = appendKafkaBytes(b, h.Value)
	}
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

// bytes is the batch as Kafka writes it.
func (k kafkaBatch) bytes() []byte {
	records, count, last := k.raw, k.count, k.lastDelta
	for i, r := range k.records {
		records = append(records, r.bytes()...)
		count = int32(i + 1)
		if k.lastDelta == 0 {
			last = int32(r.delta)
		}
	}
	if k.pack != nil {
		records = k.pack(records)
	}
	if k.magic == 0 {
		k.magic = 2
	}
	checked := binary.BigEndian.AppendUint16(nil, uint16(k.attributes))
	checked = binary.BigEndian.AppendUint32(checked, uint32(last))
	checked = binary.BigEndian.AppendUint64(checked, uint64(k.baseTime))
	checked = binary.BigEndian.AppendUint64(checked, uint64(k.maxTime))
	checked = binary.BigEndian.AppendUint64(checked, uint64(k.producer))
	checked = binary.BigEndian.AppendUint16(checked, uint16(k.epoch))
	checked = binary.BigEndian.AppendUint32(checked, uint32(k.sequence))
	checked = binary.BigEndian.AppendUint32(checked, uint32(count))
	checked = append(checked, records...)
	b := binary.BigEndian.AppendUint64(nil, uint64(k.base))
	b = binary.BigEndian.AppendUint32(b, uint32(9+len(checked)))
	b = binary.BigEndian.AppendUint32(b, 0) // leader epoch
	b = append(b, byte(k.magic))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(checked, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, checked...)
}

func kafkaLog(batches ...kafkaBatch) []byte {
	var b []byte
	for _, k := range batches {
		b = append(b, k.bytes()...)
	}
	return b
}

func sent(delta int64, key, value string) kafkaRecord {
	return kafkaRecord{delta: delta, key: []byte(key), value: []byte(value)}
}

const (
	transactional = 0x10
	control       = 0x20
)

// inTxn is a batch of one message of a transaction.
func inTxn(base, producer int64, sequence int32, value string) kafkaBatch {
	return kafkaBatch{base: base, attributes: transactional, producer: producer, sequence: sequence, records: []kafkaRecord{sent(0, "k", value)}}
}

// marker ends a transaction: 0 aborts, 1 commits, and others are about the
// cluster.
func marker(base, producer int64, kind byte) kafkaBatch {
	return kafkaBatch{base: base, attributes: transactional | control, producer: producer, sequence: -1,
		records: []kafkaRecord{{key: []byte{0, 0, 0, kind}, value: make([]byte, 6)}}}
}

// TestPartitionsWrittenByAClientAreRead reads what franz-go wrote, in every
// codec.
func TestPartitionsWrittenByAClientAreRead(t *testing.T) {
	var want []segments.Message
	for i := range 60 {
		m := segments.Message{Position: segments.At(0, int64(i)), BatchSize: 1, PublishTime: segments.Millis(1700000000000 + i),
			Key: fmt.Appendf(nil, "key %d", i%7), Value: []byte(strings.Repeat(fmt.Sprintf("value %d ", i), 5)),
			Sequence: segments.Some(int64(i)), Epoch: segments.Some(int32(0))}
		switch i % 10 {
		case 3:
			m.Key = nil
		case 4:
			m.Value, m.Kind = nil, segments.KindTombstone
		case 5:
			m.Key, m.Value = []byte{}, []byte{}
		case 6:
			m.Properties = []segments.Property{{Key: "h", Value: []byte("1")}, {Key: "h"}, {Key: "", Value: []byte{}}}
		case 7:
			m.Key, m.Value = []byte{0xff, 0xfe}, []byte{0, 0xff}
		}
		want = append(want, m)
	}
	for codec, producer := range map[string]string{"none": "6264955189989466070", "gzip": "5853873301523091658", "snappy": "448737392144671439", "lz4": "3808069506353057481", "zstd": "3026937967592469913"} {
		w := newWorld(t)
		s := w.settings()
		s.Format = ingest.KafkaLog
		log := read(t, "testdata/kafka-log/"+codec+".log")
		wantResult(t, w.must(ingest.Run(t.Context(), w.topic, iotest.OneByteReader(bytes.NewReader(log)), s, w.components())),
			"ingested 0:0..0:59, 60 messages, 0 duplicates, version 1")
		for i := range want {
			want[i].Producer = segments.Some(producer)
		}
		for i, got := range w.rows() {
			if show(&got) != show(&want[i]) {
				t.Errorf("%s: got\n%s, want\n%s", codec, show(&got), show(&want[i]))
			}
		}
		wantResult(t, w.must(w.as(ingest.KafkaLog, gzipped(t, string(log)))), "already_ingested -1:-1..-1:-1, 0 messages, 60 duplicates, version 1")
	}
}

// TestTransactionsOfAClientAreRead reads those of franz-go, whose epoch rises
// with each.
func TestTransactionsOfAClientAreRead(t *testing.T) {
	log := read(t, "testdata/kafka-log/txn.log")
	const a, b = "3414781078840391614", "3414781078840391613"
	want := []string{
		`{"id":"0:0","key":"k","value":"committed 1","publish_time":"2023-11-14T22:13:20.000Z","producer":"A","sequence":"0","epoch":0,"txn":"A,0"}`,
		`{"id":"0:1","key":"o","value":"aborted","publish_time":"2023-11-14T22:13:20.001Z","producer":"B","sequence":"0","epoch":0,"txn":"B,0"}`,
		`{"id":"0:2","key":"l","value":"committed 2","publish_time":"2023-11-14T22:13:20.002Z","producer":"A","sequence":"1","epoch":0,"txn":"A,0"}`,
		`0:3 commit A,0`,
		`0:4 abort B,0`,
		`{"id":"0:5","key":"k","value":"aborted too","publish_time":"2023-11-14T22:13:20.003Z","producer":"A","sequence":"0","epoch":1,"txn":"A,1"}`,
		`0:6 abort A,1`,
		`{"id":"0:7","key":"o","value":"committed 3","publish_time":"2023-11-14T22:13:20.004Z","producer":"B","sequence":"0","epoch":1,"txn":"B,1"}`,
		`0:8 commit B,1`,
		`{"id":"0:9","key":"open","value":"open","publish_time":"2023-11-14T22:13:20.005Z","producer":"A","sequence":"0","epoch":2,"txn":"A,2"}`,
	}
	for i := range want {
		want[i] = strings.NewReplacer("A", a, "B", b).Replace(want[i])
	}
	w := newWorld(t)
	wantResult(t, w.must(w.as(ingest.KafkaLog, log)), "ingested 0:0..0:9, 6 messages, 0 duplicates, version 1")
	equal(t, "transactions", w.log(), want)
	if got := w.latest().MaxRead; got != segments.At(0, 8) {
		t.Errorf("the max read position is %s, want 0:8", got)
	}
	// The same again adds no message and no marker.
	wantResult(t, w.must(w.as(ingest.KafkaLog, log)), "already_ingested -1:-1..-1:-1, 0 messages, 6 duplicates, version 1")
	// The next segment goes on with the transaction that is open.
	grown := kafkaLog(kafkaBatch{base: 10, attributes: transactional, producer: 3414781078840391614, epoch: 2, sequence: 1, records: []kafkaRecord{sent(0, "open", "more")}}, marker(11, 3414781078840391614, 1))
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(bytes.Clone(log), grown...))), "ingested 1:10..1:11, 1 messages, 6 duplicates, version 2")
	equal(t, "the next segment", w.log()[10:], []string{
		`{"id":"1:10","key":"open","value":"more","publish_time":"1970-01-01T00:00:00.000Z","producer":"` + a + `","sequence":"1","epoch":2,"txn":"` + a + `,2"}`,
		`1:11 commit ` + a + `,2`,
	})
	wantResult(t, w.must(w.as(ingest.KafkaLog, grown)), "already_ingested -1:-1..-1:-1, 0 messages, 1 duplicates, version 2")
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(bytes.Clone(log), grown...))), "already_ingested -1:-1..-1:-1, 0 messages, 7 duplicates, version 2")
}

func xerial(records []byte) []byte {
	b := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for len(records) > 0 {
		n := min(len(records), 20)
		block := s2.EncodeSnappy(nil, records[:n])
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(block))), block...)
		records = records[n:]
	}
	return b
}

// TestCornersOfALog goes through what a segment may hold beside plain batches.
func TestCornersOfALog(t *testing.T) {
	plain := plainBatch(0, sent(0, "a", "0"))
	empty := plainBatch(1)
	empty.lastDelta, empty.baseTime = 3, -1
	holes := plainBatch(5, sent(1, "b", "6"), sent(4, "c", "9"))
	holes.lastDelta, holes.baseTime, holes.records[1].time = 5, 1000, -5
	appended := plainBatch(11, kafkaRecord{key: []byte("d"), value: []byte("11"), time: 7})
	appended.attributes, appended.baseTime, appended.maxTime = 0x08, 1000, 5000
	none := plainBatch(12, kafkaRecord{key: []byte("e"), value: []byte("12"), time: -1})
	horizon := plainBatch(13, kafkaRecord{key: []byte("f"), time: -3})
	horizon.attributes, horizon.baseTime = 0x40, 10000
	snappy := plainBatch(14, sent(0, "g", strings.Repeat("14", 50)))
	snappy.attributes, snappy.pack = 2, xerial
	emptyXerial := plainBatch(15)
	emptyXerial.attributes, emptyXerial.pack = 2, xerial
	cluster := marker(16, 5, 2)
	unsent := plainBatch(17, sent(0, "h", "17"))
	unsent.producer, unsent.epoch, unsent.sequence = 9, -1, -1
	log := kafkaLog(plain, empty, holes, appended, none, horizon, snappy, emptyXerial, cluster, unsent)
	w := newWorld(t)
	wantResult(t, w.must(w.as(ingest.KafkaLog, log)), "ingested 0:0..0:17, 8 messages, 0 duplicates, version 1")
	w.wantLog("corners",
		`{"id":"0:0","key":"a","value":"0","publish_time":"1970-01-01T00:00:00.000Z"}`,
		`{"id":"0:6","key":"b","value":"6","publish_time":"1970-01-01T00:00:01.000Z"}`,
		`{"id":"0:9","key":"c","value":"9","publish_time":"1970-01-01T00:00:00.995Z"}`,
		`{"id":"0:11","key":"d","value":"11","publish_time":"1970-01-01T00:00:05.000Z"}`,
		`{"id":"0:12","key":"e","value":"12"}`,
		`tombstone {"id":"0:13","key":"f","value":null,"publish_time":"1970-01-01T00:00:09.997Z"}`,
		`{"id":"0:14","key":"g","value":"`+strings.Repeat("14", 50)+`","publish_time":"1970-01-01T00:00:00.000Z"}`,
		`{"id":"0:17","key":"h","value":"17","publish_time":"1970-01-01T00:00:00.000Z"}`,
	)
	for name, end := range map[string][]byte{
		"a batch that is cut off": kafkaLog(plainBatch(18, sent(0, "x", "y"), sent(1, "x", "y"))),
		"room for more":           make([]byte, 10000),
		"little room":             make([]byte, 3),
	} {
		for cut := 1; cut < len(end); cut += 1 + len(end)/97 {
			w := newWorld(t)
			if r, err := w.as(ingest.KafkaLog, append(bytes.Clone(log), end[:cut]...)); err != nil || r.Messages != 8 {
				t.Errorf("%s, %d bytes of it: got %+v, %v", name, cut, r, err)
			}
		}
	}
	if r := w.must(w.as(ingest.KafkaLog, nil)); r.State != ingest.AlreadyIngested {
		t.Errorf("nothing: got %+v", r)
	}
}

// TestALogThatIsWrongSaysWhere refuses what no broker writes.
func TestALogThatIsWrongSaysWhere(t *testing.T) {
	good := plainBatch(3, sent(0, "a", "1"), sent(1, "b", "2")).bytes()
	changed := func(at int, to ...byte) string {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return string(b)
	}
	with := func(f func(*kafkaBatch)) string {
		b := plainBatch(3, sent(0, "a", "1"), sent(1, "b", "2"))
		f(&b)
		return string(b.bytes())
	}
	long := kafkaLog(plainBatch(3, sent(0, "a", "1")), plainBatch(4, sent(0, "a", "1")))
	binary.BigEndian.PutUint32(long[8:], 1000)
	refuse(t, ingest.KafkaLog, []refused{
		{changed(60, 3), "batch at offset 3: it is corrupt: its CRC-32C"},
		{changed(len(good)-1, 9), "batch at offset 3: it is corrupt"},
		{changed(16, 1), "batch at offset 3: it is in message format v1, of before Kafka 0.11"},
		{changed(16, 0), "batch at offset 3: it is in message format v0"},
		{changed(16, 7), "at the beginning: what follows is no batch of a Kafka log"},
		{changed(8, 0, 0, 0, 48), "batch at offset 3: it has 48 bytes, fewer"},
		{changed(8, 0xff, 0xff, 0xff, 0xff), "fewer than its header"},
		{string(long), "batch at offset 3: it says it has 1000 bytes, more than there are, but the batch at offset 4 follows"},
		{string(good) + string(good), "batch at offset 3: it lies behind offset 4"},
		{string(good) + strings.Repeat("\x00", 100) + "x", "after offset 4: what follows zeros"},
		{with(func(b *kafkaBatch) { b.base = -5 }), "batch at offset -5: it lies behind"},
		{with(func(b *kafkaBatch) { b.base = math.MaxInt64 - 1 }), "its last offset is 1 behind"},
		{with(func(b *kafkaBatch) { b.lastDelta = -1 }), "its last offset is -1 behind"},
		{with(func(b *kafkaBatch) { b.attributes = 5 }), "unknown codec 5"},
		{with(func(b *kafkaBatch) { b.attributes = 1 }), "it cannot be decompressed (gzip)"},
		{with(func(b *kafkaBatch) { b.attributes = 2 }), "it cannot be decompressed (snappy)"},
		{with(func(b *kafkaBatch) { b.attributes = 3 }), "it cannot be decompressed (lz4)"},
		{with(func(b *kafkaBatch) { b.attributes = 4 }), "it cannot be decompressed (zstd)"},
		{with(func(b *kafkaBatch) { b.attributes = transactional }), "has no producer"},
		{with(func(b *kafkaBatch) { b.records, b.count, b.raw = nil, -1, nil }), "it has -1 records"},
		{with(func(b *kafkaBatch) { b.records, b.raw = nil, []byte{0} }), "no records, and 1 bytes"},
		{with(func(b *kafkaBatch) { b.records, b.count = nil, 1 }), "a record is longer than its batch"},
		{with(func(b *kafkaBatch) { b.records[1].delta = 0 }), "a record lies 0 behind the first offset, after one at 0"},
		{with(func(b *kafkaBatch) { b.lastDelta = 5; b.records[1].delta = 6 }), "and the last is at 5"},
		{with(func(b *kafkaBatch) { b.raw, b.records, b.count = []byte{0, 0}, nil, 1 }), "a record has fields longer"},
		{with(func(b *kafkaBatch) { b.raw = append((&b.records[0]).bytes(), 9); b.records, b.count = nil, 1 }), "1 bytes follow its last record"},
		{with(func(b *kafkaBatch) { b.raw, b.records, b.count = []byte{16, 0, 0, 0, 1, 1, 0, 8, 8}, nil, 1 }), "offset 3: 2 bytes follow its headers"},
		{with(func(b *kafkaBatch) { b.raw, b.records, b.count = []byte{12, 0, 0, 0, 1, 1, 6}, nil, 1 }), "longer than itself"},
		{with(func(b *kafkaBatch) { b.records[0].headers = []segments.Property{{Key: "\xff"}} }), "offset 3: the name of header 0 is not UTF-8"},
		{with(func(b *kafkaBatch) { b.attributes, b.producer = control, 1; b.records[0].key = []byte{0} }), "a control record has no type"},
		{"this is no log of Kafka, but a text that is long enough to be one", "at the beginning: what follows is no batch"},
	})
	broken := errors.New("the disk is gone")
	for n := range good {
		w := newWorld(t)
		s := w.settings()
		s.Format = ingest.KafkaLog
		if _, err := ingest.Run(t.Context(), w.topic, io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken)), s, w.components()); !errors.Is(err, broken) || errors.Is(err, ingest.ErrBadInput) {
			t.Errorf("after %d bytes: got %v", n, err)
		}
	}
}

// allocated is the bytes that do allocates.
func allocated(do func()) int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - before)
}

// TestABombInALogIsRefused has batches whose right checksums hide that they
// hold much, or say that they do.
func TestABombInALogIsRefused(t *testing.T) {
	zeros := make([]byte, 64<<20)
	var lz bytes.Buffer
	lw := lz4.NewWriter(&lz)
	if _, err := lw.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := lw.Close(); err != nil {
		t.Fatal(err)
	}
	lie := zstded(t, "little")
	lying := append(bytes.Clone(lie[:4]), 0xe0) // single segment, content size of 8 bytes
	lying = binary.LittleEndian.AppendUint64(lying, 1<<34)
	lying = append(lying, 1, 0, 0)
	headers := append(binary.AppendVarint(nil, 1<<21+20), 0, 0, 0, 1, 1)
	headers = append(binary.AppendVarint(headers, 1<<20), make([]byte, 1<<21+12)...)
	for name, b := range map[string]kafkaBatch{
		"gzip":                  {attributes: 1, raw: gzipped(t, string(zeros))},
		"snappy":                {attributes: 2, raw: s2.EncodeSnappy(nil, zeros)},
		"snappy, a lie":         {attributes: 2, raw: append(binary.AppendUvarint(nil, 1<<31), 0, 0)},
		"xerial, a lie":         {attributes: 2, raw: append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), 0x7f, 0xff, 0xff, 0xff)},
		"lz4":                   {attributes: 3, raw: lz.Bytes()},
		"zstd":                  {attributes: 4, raw: zstded(t, string(zeros))},
		"zstd, a lie":           {attributes: 4, raw: lying},
		"headers, a million":    {raw: headers},
		"a record, a lie":       {raw: binary.AppendVarint(nil, 1<<40)},
		"a record of 2^63, lie": {raw: binary.AppendVarint(nil, math.MaxInt64)},
	} {
		b.count = 1
		log := kafkaLog(b)
		w := newWorld(t)
		var err error
		n := allocated(func() {
			_, err = w.as(ingest.KafkaLog, log, func(s *ingest.Settings) { s.InflatedBytesMax = 8 << 20 })
		})
		if !errors.Is(err, ingest.ErrBadInput) || n > int64(40<<20) {
			t.Errorf("%s: %d bytes of log: %d bytes allocated, error %v", name, len(log), n, err)
		}
	}
}

// TestSequencesGoOnWhereKafkaBeginsAgain crosses the highest sequence, in one
// run and between two.
func TestSequencesGoOnWhereKafkaBeginsAgain(t *testing.T) {
	batch := func(base int64, sequence int32, records int) kafkaBatch {
		b := kafkaBatch{base: base, producer: 7, sequence: sequence}
		for i := range records {
			b.records = append(b.records, sent(int64(i), "k", fmt.Sprint(base+int64(i))))
		}
		return b
	}
	first := kafkaLog(batch(0, math.MaxInt32-2, 6), batch(6, 3, 2))
	second := kafkaLog(batch(8, 5, 1), batch(9, 1<<30, 1), batch(10, math.MaxInt32, 2))
	third := kafkaLog(batch(12, 1, 1))
	w := newWorld(t)
	wantResult(t, w.must(w.as(ingest.KafkaLog, first)), "ingested 0:0..0:7, 8 messages, 0 duplicates, version 1")
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(first, second...))), "ingested 1:8..1:11, 4 messages, 8 duplicates, version 2")
	wantResult(t, w.must(w.as(ingest.KafkaLog, third)), "ingested 2:12..2:12, 1 messages, 0 duplicates, version 3")
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(append(first, second...), third...))), "already_ingested -1:-1..-1:-1, 0 messages, 13 duplicates, version 3")
	last := int64(math.MaxInt32 - 3)
	for _, m := range w.rows() {
		if m.Sequence.V <= last {
			t.Errorf("%s has sequence %d, after %d", m.Position, m.Sequence.V, last)
		}
		last = m.Sequence.V
	}
	if want := int64(2*(1<<31) + 1); last != want {
		t.Errorf("the last sequence is %d, want %d", last, want)
	}
}

// TestSegmentsAreCommittedWhileSequencesBeginAgain: what looks like a
// duplicate, and is none, must not hold back commits.
func TestSegmentsAreCommittedWhileSequencesBeginAgain(t *testing.T) {
	w := newWorld(t, smallest)
	var log []byte
	for i := range int64(40) {
		b := inTxn(i, 7, int32((math.MaxInt32-5+i)&math.MaxInt32), strings.Repeat("x", 100))
		b.attributes = 0
		log = append(log, b.bytes()...)
	}
	r := w.must(w.as(ingest.KafkaLog, log))
	if r.Messages != 40 || r.Version < 6 {
		t.Errorf("got %s", brief(r))
	}
}

// TestMarkersOfEveryShapeAreCounted has transactions without messages, open
// ones, and old markers, over several runs.
func TestMarkersOfEveryShapeAreCounted(t *testing.T) {
	w := newWorld(t)
	first := kafkaLog(
		inTxn(0, 7, 0, "0"), marker(1, 7, 1), // 7,0
		marker(2, 8, 1),                          // 8,0: compaction left nothing of it
		inTxn(3, 7, 1, "3"), inTxn(4, 8, 0, "4"), // 7,1 and 8,1 stay open
	)
	wantResult(t, w.must(w.as(ingest.KafkaLog, first)), "ingested 0:0..0:4, 3 messages, 0 duplicates, version 1")
	// Old markers must not end the transactions that are open now.
	wantResult(t, w.must(w.as(ingest.KafkaLog, first)), "already_ingested -1:-1..-1:-1, 0 messages, 3 duplicates, version 1")
	wantResult(t, w.must(w.as(ingest.KafkaLog, first[:len(kafkaLog(inTxn(0, 7, 0, "0"), marker(1, 7, 1)))])), "already_ingested -1:-1..-1:-1, 0 messages, 1 duplicates, version 1")
	second := kafkaLog(marker(5, 7, 0), marker(6, 7, 1), inTxn(7, 7, 2, "7"), marker(8, 8, 1), marker(9, 7, 1), inTxn(10, 7, 3, "10"))
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(first, second...))), "ingested 1:5..1:10, 2 messages, 3 duplicates, version 2")
	wantResult(t, w.must(w.as(ingest.KafkaLog, append(first, second...))), "already_ingested -1:-1..-1:-1, 0 messages, 5 duplicates, version 2")
	var ends []string
	for _, line := range w.log() {
		if !strings.HasPrefix(line, "{") {
			ends = append(ends, line)
		} else if i := strings.Index(line, `"txn":`); i >= 0 {
			ends = append(ends, line[len(`{"id":`):len(`{"id":"0:0"`)]+" "+strings.TrimSuffix(line[i+len(`"txn":`):], "}"))
		}
	}
	equal(t, "markers", ends, []string{
		`"0:0" "7,0"`, `0:1 commit 7,0`, `0:2 commit 8,0`, `"0:3" "7,1"`, `"0:4" "8,1"`,
		`1:5 abort 7,1`, `1:6 commit 7,2`, `"1:7" "7,3"`, `1:8 commit 8,1`, `1:9 commit 7,3`, `"1:10 "7,4"`,
	})
}

func FuzzKafkaLog(f *testing.F) {
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd", "txn"} {
		f.Add(read(f, "testdata/kafka-log/"+name+".log"))
	}
	f.Add(kafkaLog(plainBatch(0), marker(1, 2, 1), inTxn(2, 2, 0, "x")))
	fuzzFormat(f, ingest.KafkaLog)
}

// TestTheSameSegmentTwiceAtOnceIsAddedOnce lets two imports of one partition,
// of which one has come further, meet; and then runs what is longer once more.
func TestTheSameSegmentTwiceAtOnceIsAddedOnce(t *testing.T) {
	log := read(t, "testdata/kafka-log/txn.log")
	var ends []int
	for at := 0; at < len(log); {
		at += 12 + int(binary.BigEndian.Uint32(log[at+8:]))
		ends = append(ends, at)
	}
	values := func(w *world) (list []string) {
		for _, m := range w.rows() {
			list = append(list, fmt.Sprintf("%d %s %d %s", m.Position.Entry, m.Value, m.Kind, m.Txn.V))
		}
		return list
	}
	for _, source := range []string{"", "p0"} {
		for i, mine := range ends {
			for j, other := range ends {
				w := newWorld(t)
				topic := w.through(&between{Store: w.store, do: func() { w.must(w.as(ingest.KafkaLog, log[:other], named(source))) }})
				s := w.settings()
				s.Format, s.Source = ingest.KafkaLog, source
				w.must(ingest.Run(t.Context(), topic, bytes.NewReader(log[:mine]), s, w.components()))
				once := newWorld(t)
				once.must(once.as(ingest.KafkaLog, log[:max(mine, other)]))
				equal(t, fmt.Sprintf("source %q, %d and %d batches", source, i+1, j+1), values(w), values(once))
				w.must(w.as(ingest.KafkaLog, log, named(source)))
				once.must(once.as(ingest.KafkaLog, log))
				equal(t, fmt.Sprintf("source %q, %d and %d batches, and all", source, i+1, j+1), values(w), values(once))
				w.wantNoOrphans()
			}
		}
	}
}
