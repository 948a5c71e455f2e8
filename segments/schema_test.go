package segments

import (
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// countArrays counts the arrays and buffers that a record batch's metadata
// lists for a column of type t.
func countArrays(t arrow.DataType) (arrays, buffers int) {
	switch t := t.(type) {
	case *arrow.BinaryType, *arrow.StringType:
		return 1, 3 // validity, offsets, bytes
	case *arrow.ListType:
		arrays, buffers = countArrays(t.Elem())
		return arrays + 1, buffers + 2 // validity, offsets
	case *arrow.StructType:
		arrays, buffers = 1, 1 // validity
		for _, f := range t.Fields() {
			a, b := countArrays(f.Type)
			arrays, buffers = arrays+a, buffers+b
		}
		return arrays, buffers
	}
	return 1, 2 // validity, values
}

// TestTheCountsOfABatchAreThoseOfTheSchema derives the constants that the
// decoder goes by.
func TestTheCountsOfABatchAreThoseOfTheSchema(t *testing.T) {
	arrays, buffers := 0, 0
	for i, f := range Schema(All).Fields() {
		if i == headerColumns && buffers != headerBuffers {
			t.Errorf("headerBuffers is %d, want %d", headerBuffers, buffers)
		}
		a, b := countArrays(f.Type)
		arrays, buffers = arrays+a, buffers+b
	}
	if arrays != batchArrays || buffers != batchBuffers {
		t.Errorf("batchArrays and batchBuffers are %d and %d, want %d and %d", batchArrays, batchBuffers, arrays, buffers)
	}
	if last := Schema(Headers).Field(headerColumns - 1).Name; last != "ordering_key" {
		t.Errorf("the last header column is %s", last)
	}
	if size := unsafe.Sizeof(Property{}); size > propertyBytes {
		t.Errorf("propertyBytes is %d, want %d", propertyBytes, size)
	}
}
