package segments

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// formatPage is docs/format-segments.md.
func formatPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/format-segments.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// tableOf is the rows of the table on page whose first heading is heading,
// without the backquotes.
func tableOf(t *testing.T, page, heading string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n| "+heading+" |")
	if !ok {
		t.Fatalf("the page has no table of %q", heading)
	}
	var rows [][]string
	for _, line := range strings.Split(rest, "\n")[2:] {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			break
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		rows = append(rows, cells[1:len(cells)-1])
	}
	return rows
}

// typeName is how the page names a type.
func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.ListType:
		return "list<" + fieldName(t.ElemField()) + ">"
	case *arrow.StructType:
		var names []string
		for _, f := range t.Fields() {
			names = append(names, fieldName(f))
		}
		return "struct<" + strings.Join(names, ", ") + ">"
	}
	return t.String()
}

func fieldName(f arrow.Field) string {
	name := f.Name + ": " + typeName(f.Type)
	if f.Nullable {
		name += " nullable"
	}
	return name
}

// TestTheFormatPageHasTheSchema compares the table of columns with Schema, and
// that of metadata with what a segment carries.
func TestTheFormatPageHasTheSchema(t *testing.T) {
	page := formatPage(t)
	rows := tableOf(t, page, "column")
	fields := Schema(All).Fields()
	if len(rows) != len(fields) {
		t.Fatalf("the page has %d columns, want %d", len(rows), len(fields))
	}
	for i, f := range fields {
		null, part := "no", "header"
		if f.Nullable {
			null = "yes"
		}
		if i >= headerColumns {
			part = "payload"
		}
		if want := []string{f.Name, typeName(f.Type), null, part}; !slices.Equal(rows[i][:4], want) {
			t.Errorf("column %d is %q on the page, want %q", i, rows[i][:4], want)
		}
	}
	var keys []string
	for _, row := range tableOf(t, page, "key") {
		keys = append(keys, row[0])
	}
	if want := fileSchema(WriterSettings{}, Range{}).Metadata().Keys(); !slices.Equal(keys, want) {
		t.Errorf("metadata has the keys %q on the page, want %q", keys, want)
	}
}

// TestTheFormatPageHasTheHead compares the tables of fields with the structs
// that are written as JSON.
func TestTheFormatPageHasTheHead(t *testing.T) {
	page := formatPage(t)
	for heading, of := range map[string]any{
		"field":               head{},
		"field of a block":    headBlock{},
		"field of a fence":    fence{},
		"field of tombstones": headTombstones{},
	} {
		var got, want []string
		for _, row := range tableOf(t, page, heading) {
			got = append(got, row[0])
		}
		for i := range reflect.TypeOf(of).NumField() {
			want = append(want, reflect.TypeOf(of).Field(i).Tag.Get("json"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("table of %q: got %q, want %q", heading, got, want)
		}
	}
}

// TestTheFormatPageHasTheNumbers looks for the sentences that constants are in.
func TestTheFormatPageHasTheNumbers(t *testing.T) {
	page := strings.Join(strings.Fields(formatPage(t)), " ")
	empty := Message{}
	for _, want := range []string{
		fmt.Sprintf("format version %d.", FormatVersion),
		fmt.Sprintf("`format` | %d; a reader refuses any other", FormatVersion),
		fmt.Sprintf("(%d MiB where none is set)", DefaultBatchBytes>>20),
		fmt.Sprintf("counted as %d bytes a row", empty.Bytes()),
		fmt.Sprintf("never more than %d bytes", int64(maxBatchBytes)),
		fmt.Sprintf("an int64, the length that it has when it is inflated, or %d", notCompressed),
		fmt.Sprintf("| %d | digest:", len(Digest{})),
		fmt.Sprintf("| %d | number of the row", entryBytes-len(Digest{})),
		fmt.Sprintf("A page has %d entries", pageEntries),
		fmt.Sprintf("at most %d bytes, or one block", fetchBytes),
		fmt.Sprintf("less than %d unwanted bytes", fetchGap),
		fmt.Sprintf("| entries | ranged reads of at most %d bytes", pageFetchBytes),
		fmt.Sprintf("%d arrays, %d buffers (%d of the header columns)", batchArrays, batchBuffers, headerBuffers),
		fmt.Sprintf("%d message, %d tombstone, %d commit marker, %d abort marker", KindMessage, KindTombstone, KindCommit, KindAbort),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
