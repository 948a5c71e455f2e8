package segments

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// arrowLimits are those of ingest, but for its bodies.
var arrowLimits = ArrowLimits{BodyBytes: math.MaxInt32, InflatedBytes: 512 << 20}

// blank is a message as ingest hands it to Read.
var blank = Message{Position: None, BatchSize: 1, PublishTime: -7}

// readArrow is all messages in data.
func readArrow(data io.Reader) ([]Message, error) {
	var list []Message
	r := NewArrowReader("object-1", data, arrowLimits)
	for {
		rows, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		for i := range rows.Len() {
			m := blank
			if err := rows.Read(i, &m); err != nil {
				return list, err
			}
			list = append(list, m.Clone())
		}
	}
}

// asRead is rows as they come back: an empty list of properties is none.
func asRead(rows []Message) []Message {
	rows = slices.Clone(rows)
	for i := range rows {
		if len(rows[i].Properties) == 0 {
			rows[i].Properties = nil
		}
	}
	return rows
}

func writeArrow(tb rapid.TB, rows []Message, names ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := NewArrowWriter(&b, names...)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestMessagesComeBackFromArrow reads segments, and what ArrowWriter wrote.
func TestMessagesComeBackFromArrow(t *testing.T) {
	rows := append(goldenRows()[:8], someRows(21, 3000)...)
	for i := range rows[8:] {
		rows[8+i].Position.Ledger += 10
	}
	for _, c := range compressions() {
		s := store(t, WriterSettings{Topic: "topic", BatchBytes: 20000, Compression: c}, rows)
		got, err := readArrow(bytes.NewReader(s.data.bytes))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, string(c), got, asRead(rows))
	}
	written := writeArrow(t, rows)
	for name, in := range map[string]io.Reader{
		"written": bytes.NewReader(written), "byte by byte": iotest.OneByteReader(bytes.NewReader(written)), "data with the end": iotest.DataErrReader(bytes.NewReader(written)),
	} {
		got, err := readArrow(in)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, name, got, asRead(rows))
	}
	for _, err := range DecodeFile("object-1", written, 1<<20) {
		if !errors.Is(err, ErrNotSegment) {
			t.Errorf("what is written is taken for a segment: %v", err)
		}
	}
	if got, err := readArrow(bytes.NewReader(writeArrow(t, nil))); err != nil || len(got) != 0 {
		t.Errorf("a file of nothing: got %d rows, %v", len(got), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		got, err := readArrow(bytes.NewReader(writeArrow(t, rows)))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, "drawn", got, asRead(rows))
	})
}

// TestSomeColumnsCanBeWritten chooses columns, and reads what they say.
func TestSomeColumnsCanBeWritten(t *testing.T) {
	rows := someRows(4, 20)
	want := make([]Message, len(rows))
	for i := range rows {
		want[i] = blank
		want[i].Key, want[i].Value = rows[i].Key, rows[i].Value
	}
	got, err := readArrow(bytes.NewReader(writeArrow(t, rows, "value", "key")))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "key and value", got, want)
	if _, err := readArrow(bytes.NewReader(writeArrow(t, rows, "ledger", "entry", "key"))); !errors.Is(err, ErrNotMessages) || !strings.Contains(err.Error(), `no column "value"`) {
		t.Errorf("without values: got %v", err)
	}
	if _, err := NewArrowWriter(io.Discard, "key", "keys"); err == nil {
		t.Error("a column that there is not was taken")
	}
}

// others is a table as others would write it: each column in another layout
// than ours, and between them columns of every type that are passed over.
func others(mem memory.Allocator) (*arrow.Schema, arrow.RecordBatch) {
	type column struct {
		arrow.Field
		json string // of four rows
	}
	pair := arrow.StructOf(arrow.Field{Name: "value", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}, arrow.Field{Name: "key", Type: arrow.BinaryTypes.LargeString})
	columns := []column{
		{arrow.Field{Name: "a null", Type: arrow.Null}, `[null,null,null,null]`},
		{arrow.Field{Name: "a struct", Type: arrow.StructOf(arrow.Field{Name: "key", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "v", Type: arrow.BinaryTypes.StringView})}, `[{"key":1,"v":"a view that is long enough"},null,null,null]`},
		{arrow.Field{Name: "sequence", Type: arrow.PrimitiveTypes.Uint8, Nullable: true}, `[255,0,null,7]`},
		{arrow.Field{Name: "a list view", Type: arrow.ListViewOf(arrow.FixedWidthTypes.Boolean)}, `[[true],[],null,[false,true]]`},
		{arrow.Field{Name: "key", Type: arrow.BinaryTypes.StringView, Nullable: true}, `["short","a key that is too long for a view",null,""]`},
		{arrow.Field{Name: "a map", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)}, `[[{"key":"a","value":1}],null,[],null]`},
		{arrow.Field{Name: "value", Type: arrow.BinaryTypes.LargeString, Nullable: true}, `["1",null,"","four"]`},
		{arrow.Field{Name: "a decimal", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}}, `["1.25",null,"0","3"]`},
		{arrow.Field{Name: "properties", Type: arrow.LargeListOf(pair), Nullable: true}, `[[{"key":"x","value":"YQ=="},{"key":"x","value":null}],null,[],[{"key":"","value":""}]]`},
		{arrow.Field{Name: "publish_time", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true}, `["2026-01-02 03:04:05.678999999",null,"1969-12-31 23:59:59.999999999","2026-01-02 03:04:05"]`},
		{arrow.Field{Name: "a fixed list", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16)}, `[[1,2],null,[3,4],null]`},
		{arrow.Field{Name: "event_time", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Berlin"}, Nullable: true}, `["2026-01-02 03:04:05Z",null,"1969-12-31 23:59:59Z",null]`},
		{arrow.Field{Name: "ordering_key", Type: &arrow.FixedSizeBinaryType{ByteWidth: 2}, Nullable: true}, `["AAE=",null,"/w8=",null]`},
		{arrow.Field{Name: "epoch", Type: arrow.PrimitiveTypes.Int16, Nullable: true}, `[-1,null,5,null]`},
		{arrow.Field{Name: "producer", Type: arrow.Null}, `[null,null,null,null]`},
		{arrow.Field{Name: "an interval", Type: arrow.FixedWidthTypes.MonthDayNanoInterval}, `[null,null,null,null]`},
	}
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		c.Nullable = true
		a, _, err := array.FromJSON(mem, c.Type, strings.NewReader(c.json))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", c.Name, err))
		}
		fields, arrays = append(fields, c.Field), append(arrays, a)
	}
	schema := arrow.NewSchema(fields, nil)
	return schema, array.NewRecordBatch(schema, arrays, 4)
}

// othersRows is what it says.
func othersRows() []Message {
	rows := []Message{blank, blank, blank, blank}
	r := &rows[0]
	r.Key, r.Value, r.Sequence = []byte("short"), []byte("1"), Some(int64(255))
	r.Properties = []Property{{"x", []byte("a")}, {"x", nil}}
	r.PublishTime, r.EventTime = 1767323045678, Some(Millis(1767323045000))
	r.OrderingKey, r.Epoch = []byte{0, 1}, Some(int32(-1))
	r = &rows[1]
	r.Key, r.Sequence = []byte("a key that is too long for a view"), Some(int64(0))
	r = &rows[2]
	r.Value, r.PublishTime, r.EventTime = []byte{}, -1, Some(Millis(-1000))
	r.OrderingKey, r.Epoch = []byte{0xff, 0x0f}, Some(int32(5))
	r = &rows[3]
	r.Key, r.Value, r.Sequence = []byte{}, []byte("four"), Some(int64(7))
	r.Properties = []Property{{"", []byte{}}}
	r.PublishTime = 1767323045000
	return rows
}

// written is batches in one of Arrow's forms.
func written(tb testing.TB, schema *arrow.Schema, isFile bool, batches []arrow.RecordBatch, options ...ipc.Option) []byte {
	tb.Helper()
	var b bytes.Buffer
	options = append(options, ipc.WithSchema(schema))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(&b, options...)
	if isFile {
		file, err := ipc.NewFileWriter(&b, options...)
		if err != nil {
			tb.Fatal(err)
		}
		w = file
	}
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// dictionaries is a table whose keys, values and properties are in
// dictionaries that grow from batch to batch.
func dictionaries(mem memory.Allocator) (*arrow.Schema, []arrow.RecordBatch, []Message) {
	key := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	value := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: key, Nullable: true}, {Name: "other", Type: key, Nullable: true}, {Name: "value", Type: value, Nullable: true},
	}, nil)
	builder := array.NewRecordBuilder(mem, schema)
	var batches []arrow.RecordBatch
	var want []Message
	for batch := range 3 {
		for row := range 10 {
			m := blank
			if row != 3 {
				m.Key = fmt.Appendf(nil, "key %d", row%(batch+2))
			}
			m.Value = fmt.Appendf(nil, "%d", row*batch)
			want = append(want, m)
			for c, text := range [][]byte{m.Key, []byte("not read"), m.Value} {
				b := builder.Field(c)
				var err error
				switch b := b.(type) {
				case *array.BinaryDictionaryBuilder:
					if text == nil {
						b.AppendNull()
					} else {
						err = b.Append(text)
					}
				default:
					panic(fmt.Sprintf("%T", b))
				}
				if err != nil {
					panic(err)
				}
			}
		}
		batches = append(batches, builder.NewRecordBatch())
	}
	return schema, batches, want
}

// arrowSeeds are good inputs of many kinds, with what they say.
func arrowSeeds(tb testing.TB) (data map[string][]byte, want map[string][]Message) {
	mem := memory.NewGoAllocator()
	schema, batch := others(mem)
	dictSchema, dictBatches, dictWant := dictionaries(mem)
	data, want = make(map[string][]byte), make(map[string][]Message)
	for _, isFile := range []bool{false, true} {
		if isFile {
			file := written(tb, schema, true, []arrow.RecordBatch{batch})
			data["unframed"] = slices.Concat(file[:8], file[16:])
			want["unframed"] = othersRows()
		}
		for name, options := range map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
			name := fmt.Sprintf("%s, file %v", name, isFile)
			data["others, "+name] = written(tb, schema, isFile, []arrow.RecordBatch{batch, batch}, options...)
			want["others, "+name] = append(othersRows(), othersRows()...)
			data["dictionaries, "+name] = written(tb, dictSchema, isFile, dictBatches[:1], options...)
			want["dictionaries, "+name] = dictWant[:10]
			if isFile {
				continue // whose dictionaries must not be replaced
			}
			data["replaced, "+name] = written(tb, dictSchema, isFile, dictBatches, options...)
			want["replaced, "+name] = dictWant
			data["grown, "+name] = written(tb, dictSchema, isFile, dictBatches, append(options, ipc.WithDictionaryDeltas(true))...)
			want["grown, "+name] = dictWant
		}
	}
	return data, want
}

// TestTablesOfOthersAreRead reads columns in every layout they may have.
func TestTablesOfOthersAreRead(t *testing.T) {
	data, want := arrowSeeds(t)
	for name, b := range data {
		got, err := readArrow(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameRows(t, name, got, want[name])
	}
	// Polars puts a schema without a frame in front of its files.
	file := data["others, zstd, file true"]
	frame := bytes.Index(file, []byte("\xff\xff\xff\xff"))
	for _, unframed := range [][]byte{slices.Concat(file[:frame], file[frame+8:]), slices.Concat(file[:frame], file[frame+8:frame+16], []byte("12345678"), file[frame+16:])} {
		got, err := readArrow(bytes.NewReader(unframed))
		if isBad := len(unframed) > len(file)-8; isBad != (err != nil) || err == nil && len(got) != 8 {
			t.Errorf("a schema without a frame: got %d rows, %v", len(got), err)
		}
	}
	stream := data["others, none, file false"]
	withoutEnd := bytes.TrimSuffix(stream, []byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	if got, err := readArrow(bytes.NewReader(withoutEnd)); err != nil || len(got) != 8 || len(withoutEnd) == len(stream) {
		t.Errorf("a stream that just stops: got %d rows, %v", len(got), err)
	}
}

// TestWhatIsNoTableOfMessagesSaysWhy refuses columns by name and type.
func TestWhatIsNoTableOfMessagesSaysWhy(t *testing.T) {
	mem := memory.NewGoAllocator()
	text := arrow.BinaryTypes.String
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	key, value := field("key", text), field("value", text)
	for want, fields := range map[string][]arrow.Field{
		`no column "key"`:                               {value, field("Key", text)},
		`no column "value"`:                             {key},
		"key is of type int64, want binary or utf8":     {field("key", arrow.PrimitiveTypes.Int64), value},
		"value is of type struct":                       {key, field("value", arrow.StructOf(key))},
		"key and value are both of type null":           {field("key", arrow.Null), field("value", arrow.Null)},
		"value is of type run-end encoded":              {key, field("value", arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, text))},
		"column key is there twice":                     {key, value, key},
		`a column "ledger" and none "entry"`:            {key, value, field("ledger", arrow.PrimitiveTypes.Int64)},
		`a column "txn_least" and none "txn_most"`:      {key, value, field("txn_least", arrow.PrimitiveTypes.Uint64)},
		`a column "batch_index" and none "batch_size"`:  {key, value, field("batch_index", arrow.PrimitiveTypes.Int32)},
		"publish_time is of type int64, want a timesta": {key, value, field("publish_time", arrow.PrimitiveTypes.Int64)},
		"epoch is of type float, want an integer":       {key, value, field("epoch", arrow.PrimitiveTypes.Float64)},
		"sequence is of type dictionary of int64":       {key, value, field("sequence", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64})},
		"properties is of type list, want":              {key, value, field("properties", arrow.ListOf(text))},
		"properties is of type utf8, want":              {key, value, field("properties", text)},
	} {
		schema := arrow.NewSchema(fields, nil)
		data := written(t, schema, true, nil)
		_, err := readArrow(bytes.NewReader(data))
		if !errors.Is(err, ErrNotMessages) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "object-1") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	number := func(name string, t arrow.DataType, json string) arrow.RecordBatch {
		fields := []arrow.Field{key, value, field("ledger", arrow.PrimitiveTypes.Int64), field("entry", arrow.PrimitiveTypes.Int64)}
		texts := []string{`["a"]`, `["1"]`, `[0]`, `[0]`}
		if i := slices.IndexFunc(fields, func(f arrow.Field) bool { return f.Name == name }); i >= 0 {
			fields[i].Type, texts[i] = t, json
		} else {
			fields, texts = append(fields, field(name, t)), append(texts, json)
		}
		if name == "batch_index" {
			fields, texts = append(fields, field("batch_size", arrow.PrimitiveTypes.Int32)), append(texts, "[1]")
		}
		if name == "txn_most" {
			fields, texts = append(fields, field("txn_least", arrow.PrimitiveTypes.Int32)), append(texts, "[1]")
		}
		var arrays []arrow.Array
		for i, f := range fields {
			a, _, err := array.FromJSON(mem, f.Type, strings.NewReader(texts[i]))
			if err != nil {
				panic(err)
			}
			arrays = append(arrays, a)
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 1)
	}
	for want, batch := range map[string]arrow.RecordBatch{
		"column ledger: corrupt: row 0: -1 is not in 0 to":    number("ledger", arrow.PrimitiveTypes.Int32, "[-1]"),
		"column ledger: corrupt: row 0: 18446744073709551615": number("ledger", arrow.PrimitiveTypes.Uint64, "[18446744073709551615]"),
		"column ledger: corrupt: row 0: ledger or entry":      number("entry", arrow.PrimitiveTypes.Int64, "[null]"),
		"column batch_index: corrupt: row 0: -2":              number("batch_index", arrow.PrimitiveTypes.Int32, "[-2]"),
		"column batch_size: corrupt: row 0: 0":                number("batch_size", arrow.PrimitiveTypes.Int8, "[0]"),
		"column kind: corrupt: row 0: 4":                      number("kind", arrow.PrimitiveTypes.Int64, "[4]"),
		"column epoch: corrupt: row 0: 2147483648":            number("epoch", arrow.PrimitiveTypes.Int64, "[2147483648]"),
		"column sequence: corrupt: row 0: 9223372036854775808": number("sequence", arrow.PrimitiveTypes.Uint64,
			"[9223372036854775808]"),
		"column txn_most: corrupt: row 0: half":  number("txn_most", arrow.PrimitiveTypes.Uint64, "[null]"),
		"column txn_most: corrupt: row 0: a tra": number("txn_most", arrow.PrimitiveTypes.Int8, "[-1]"),
		"column event_time: corrupt: row 0: a time of": number("event_time", &arrow.TimestampType{Unit: arrow.Second},
			"[9223372036854775807]"),
		"column producer: corrupt: row 0: not UTF-8": number("producer", arrow.BinaryTypes.Binary, `["/w=="]`),
		"column properties: corrupt: row 0: the key of property 0 is not UTF-8": number("properties",
			arrow.ListOf(arrow.StructOf(field("key", arrow.BinaryTypes.Binary), value)), `[[{"key":"/w==","value":"a"}]]`),
		"column properties: corrupt: row 0: the key of property 0 is null": number("properties",
			arrow.ListOf(arrow.StructOf(key, value)), `[[{"key":null,"value":"a"}]]`),
		"batch 0, column properties: corrupt: a property is null": number("properties",
			arrow.ListOf(arrow.StructOf(key, value)), `[[null]]`),
	} {
		data := written(t, batch.Schema(), false, []arrow.RecordBatch{batch})
		_, err := readArrow(bytes.NewReader(data))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "object-1, batch 0, "+strings.TrimPrefix(want, "batch 0, ")) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// integration is a file of Arrow's integration tests as JSON.
type integration struct {
	Schema struct {
		Fields []struct {
			Name       string
			Type       struct{ Name string }
			Dictionary *struct{ ID int64 }
		}
	}
	Dictionaries []struct {
		ID   int64
		Data integrationBatch
	}
	Batches []integrationBatch
}

type integrationBatch struct {
	Count   int
	Columns []struct {
		Validity []int           `json:"VALIDITY"`
		Data     json.RawMessage `json:"DATA"`
	}
}

// cells is a column as texts; "null" for a null.
func (f *integration) cells(tb testing.TB, batch, column int) []string {
	tb.Helper()
	c := f.Batches[batch].Columns[column]
	var values []any
	d := json.NewDecoder(bytes.NewReader(c.Data))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		tb.Fatal(err)
	}
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = fmt.Sprint(v)
		if c.Validity[i] == 0 {
			cells[i] = "null"
		} else if dictionary := f.Schema.Fields[column].Dictionary; dictionary != nil {
			at, _ := strconv.Atoi(cells[i])
			var words []string
			if err := json.Unmarshal(f.Dictionaries[0].Data.Columns[0].Data, &words); err != nil || f.Dictionaries[0].ID != dictionary.ID {
				tb.Fatal(err)
			}
			cells[i] = words[at]
		}
	}
	return cells
}

// TestGoodFilesOfOthersReadAsTheirTwins reads the files of Arrow's own tests,
// and compares every cell with their JSON.
func TestGoodFilesOfOthersReadAsTheirTwins(t *testing.T) {
	names, err := filepath.Glob("testdata/arrow-good/*.arrow_file")
	if err != nil || len(names) != 5 {
		t.Fatalf("found %v, %v", names, err)
	}
	for _, name := range names {
		var twin integration
		zipped, err := os.Open(strings.TrimSuffix(name, ".arrow_file") + ".json.gz")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(zipped)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewDecoder(plain).Decode(&twin); err != nil {
			t.Fatal(err)
		}
		zipped.Close()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var wanted []wantedColumn
		for _, f := range twin.Schema.Fields {
			as := asBytes
			if f.Type.Name == "int" {
				as = asInteger
			}
			wanted = append(wanted, wantedColumn{f.Name, as})
		}
		r := newArrowReader("object-1", bytes.NewReader(data), arrowLimits, wanted, func([]*arrowField) error { return nil })
		for batch := range twin.Batches {
			rows, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if rows.Len() != twin.Batches[batch].Count {
				t.Fatalf("%s: batch %d has %d rows, want %d", name, batch, rows.Len(), twin.Batches[batch].Count)
			}
			for c := range wanted {
				if got, want := cells(rows, c), twin.cells(t, batch, c); !slices.Equal(got, want) {
					t.Errorf("%s: batch %d, column %d: got %q, want %q", name, batch, c, got, want)
				}
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: got %v after the last batch", name, err)
		}
		if _, err := readArrow(bytes.NewReader(data)); !errors.Is(err, ErrNotMessages) || !strings.Contains(err.Error(), `no column "key"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// cells is a column of rows as texts.
func cells(rows *ArrowRows, column int) []string {
	c := &rows.columns[column]
	texts := make([]string, rows.Len())
	for i := range texts {
		if c.bytes != nil {
			b := c.bytes.at(i)
			if texts[i] = string(b); b == nil {
				texts[i] = "null"
			}
		} else if v, _, ok := c.integers.at(i); ok {
			texts[i] = fmt.Sprint(int64(v))
		} else {
			texts[i] = "null"
		}
	}
	return texts
}

// readAnything reads every column of data that can be read in some way, as
// if all of them were wanted, and touches every value.
func readAnything(data []byte) error {
	_, asMessages := readArrow(bytes.NewReader(data))
	var wanted []wantedColumn
	looking := newArrowReader("object-1", bytes.NewReader(data), arrowLimits, nil, func([]*arrowField) error { return nil })
	if front := data[min(8, len(data)):]; bytes.HasPrefix(data, []byte(fileMagic)) || bytes.HasPrefix(data, []byte("\xff\xff\xff\xff")) {
		if !bytes.HasPrefix(data, []byte(fileMagic)) {
			front = data
		}
		if m, err := parseMessage(front); err == nil && m.kind == messageSchema {
			for field := range m.header.tables(1) {
				name := field.text(0)
				if len(wanted) == 20 || m.header.f.bad || slices.ContainsFunc(wanted, func(w wantedColumn) bool { return w.name == name }) {
					break
				}
				for _, as := range []use{asBytes, asInteger, asTime, asProperties} {
					if _, err := newField(field, name, as, layout{}); err == nil {
						wanted = append(wanted, wantedColumn{name, as})
						break
					}
				}
			}
		}
	}
	looking.wanted = wanted
	for {
		rows, err := looking.Next()
		if err == io.EOF {
			return asMessages
		}
		if err != nil {
			return err
		}
		for i := range min(rows.Len(), 1000) {
			for c := range wanted {
				switch column := &rows.columns[c]; wanted[c].as {
				case asBytes:
					touched += len(column.bytes.at(i))
				case asInteger, asTime:
					v, _, _ := column.integers.at(i)
					touched += int(v & 1)
				case asProperties:
					if from, to, ok := column.properties.at(i); ok && to > from {
						touched += len(column.properties.keys.at(from)) + len(column.properties.values.at(to-1))
					}
				}
			}
		}
	}
}

var touched int

// TestArrowThatBrokeOthersIsRefused reads what broke other readers, as tables
// of messages and as whatever they are.
func TestArrowThatBrokeOthersIsRefused(t *testing.T) {
	names, err := filepath.Glob("testdata/arrow-corrupt/*-*")
	if err != nil || len(names) != 80 {
		t.Fatalf("found %d files, %v, want 80", len(names), err)
	}
	var most int64
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var found error
		n := allocated(func() { _, found = readArrow(bytes.NewReader(data)) })
		if most = max(most, n); n > attemptBytes {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if found == nil {
			t.Fatalf("%s: no error", name)
		}
		namesObject(t, found, false)
		n = allocated(func() { found = readAnything(data) })
		if most = max(most, n); n > attemptBytes {
			t.Errorf("%s: %d bytes allocated for all columns", name, n)
		}
		if errors.Is(found, errPanic) {
			t.Errorf("%s: %v", name, found)
		}
	}
	t.Logf("%d files refused; at most %d bytes allocated", len(names), most)
}

// TestMutatedArrowIsNamedAndHarmless changes good files and streams of every
// kind in 10,000 ways.
func TestMutatedArrowIsNamedAndHarmless(t *testing.T) {
	const seed, mutations = 11, 10000
	rnd := rand.New(rand.NewPCG(seed, 0))
	seeds, _ := arrowSeeds(t)
	good := []([]byte){writeArrow(t, someRows(seed, 30))}
	for _, c := range compressions() {
		good = append(good, store(t, WriterSettings{BatchBytes: 3000, Compression: c}, someRows(seed, 30)).data.bytes)
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range seeds {
			if !yield(name) {
				return
			}
		}
	}) {
		good = append(good, seeds[name])
	}
	names, err := filepath.Glob("testdata/arrow-good/*.arrow_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, data)
	}
	var refused, read int
	var most int64
	for i := range mutations {
		bad, what := mutate(rnd, good[i%len(good)])
		var err error
		n := allocated(func() { err = readAnything(bad) })
		if most = max(most, n); n > attemptBytes {
			t.Fatalf("mutation %d (%s): %d bytes allocated", i, what, n)
		}
		if errors.Is(err, errPanic) {
			t.Fatalf("mutation %d (%s): %v", i, what, err)
		}
		if err != nil {
			refused++
			namesObject(t, err, !errors.Is(err, ErrNotMessages))
		} else {
			read++
		}
	}
	t.Logf("%d kinds of good input; %d mutations refused, %d read; at most %d bytes allocated in one go", len(good), refused, read, most)
}

// TestArrowBoundsHold has bodies, dictionaries and bombs that are too large.
func TestArrowBoundsHold(t *testing.T) {
	rows := make([]Message, 64)
	for i := range rows {
		rows[i] = Message{Position: At(0, int64(i)), BatchSize: 1, Key: []byte{1}, Value: make([]byte, 1<<20)}
	}
	for _, c := range []Compression{CompressionZstd, CompressionLZ4, CompressionNone} {
		data := store(t, WriterSettings{BatchBytes: 1 << 30, Compression: c}, rows).data.bytes
		var err error
		n := allocated(func() {
			r := NewArrowReader("object-1", bytes.NewReader(data), ArrowLimits{BodyBytes: 1 << 20, InflatedBytes: 16 << 20})
			_, err = r.Next()
		})
		if !errors.Is(err, ErrCorrupt) || n > 20<<20 {
			t.Errorf("%s: %d bytes for %d: %d bytes allocated, error %v", c, len(data), 64<<20, n, err)
		}
	}
	// A table of one row whose list holds properties without end.
	mem := memory.NewGoAllocator()
	pair := arrow.StructOf(arrow.Field{Name: "key", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}}, arrow.Field{Name: "value", Type: arrow.Null})
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "value", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "properties", Type: arrow.ListOf(pair)}}, nil)
	b := array.NewRecordBuilder(mem, schema)
	b.Field(0).AppendNull()
	b.Field(1).AppendNull()
	list := b.Field(2).(*array.ListBuilder)
	list.Append(true)
	structs := list.ValueBuilder().(*array.StructBuilder)
	for range 1 << 19 {
		structs.Append(true)
		structs.FieldBuilder(1).AppendNull()
		if err := structs.FieldBuilder(0).(*array.BinaryDictionaryBuilder).AppendString("k"); err != nil {
			t.Fatal(err)
		}
	}
	data := written(t, schema, false, []arrow.RecordBatch{b.NewRecordBatch()})
	r := NewArrowReader("object-1", bytes.NewReader(data), ArrowLimits{BodyBytes: 1 << 20, InflatedBytes: 8 << 20})
	got, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	m := blank
	if n := allocated(func() { err = got.Read(0, &m) }); err == nil || n > 1<<20 {
		t.Errorf("%d properties: %d bytes allocated, error %v", 1<<19, n, err)
	}
}

// FuzzArrowReader reads any bytes: they are refused with an error that names
// the object, or messages come of them that can be written and come back.
func FuzzArrowReader(f *testing.F) {
	seeds, _ := arrowSeeds(f)
	for _, data := range seeds {
		f.Add(data)
	}
	f.Add(writeArrow(f, someRows(5, 8)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var err error
		if n := allocated(func() { err = readAnything(data) }); n > attemptBytes+int64(64*len(data)) {
			t.Fatalf("%d bytes allocated for %d", n, len(data))
		}
		if err != nil && (!strings.Contains(err.Error(), "object-1") || errors.Is(err, errPanic)) {
			t.Fatal(err)
		}
		rows, err := readArrow(bytes.NewReader(data))
		if err != nil {
			return
		}
		back, err := readArrow(bytes.NewReader(writeArrow(t, rows)))
		if err != nil || len(back) != len(rows) {
			for i := range rows {
				if rows[i].Position.Ledger < 0 {
					return // the file gave no positions, and a file with the column needs them
				}
			}
			t.Fatalf("got %d rows, want %d: %v", len(back), len(rows), err)
		}
	})
}

// TestReadingThatFailsIsNotTheInputsFault tells an input that is wrong from one
// that cannot be read.
func TestReadingThatFailsIsNotTheInputsFault(t *testing.T) {
	broken := errors.New("the disk is gone")
	data := writeArrow(t, someRows(5, 100))
	for _, n := range []int{0, 3, 8, 100, len(data) / 2, len(data) - 3} {
		_, err := readArrow(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
			t.Errorf("after %d bytes: got %v", n, err)
		}
		if _, err := readArrow(bytes.NewReader(data[:n])); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut after %d bytes: got %v", n, err)
		}
	}
}
