package segments

import (
	"encoding/binary"
	"iter"
)

// flat walks a flatbuffer that nobody has vouched for. The generated readers
// index their bytes without asking, and panic; this one answers zero outside
// of its bytes and remembers that it did, so a caller reads what it wants and
// asks bad once, before it believes any of it.
type flat struct {
	bytes []byte
	bad   bool
}

// at is the n bytes at pos, or nil.
func (f *flat) at(pos, n int64) []byte {
	if pos < 0 || n < 0 || pos > int64(len(f.bytes)) || n > int64(len(f.bytes))-pos {
		f.bad = true
		return nil
	}
	return f.bytes[pos : pos+n]
}

func (f *flat) u8(pos int64) uint8 {
	if b := f.at(pos, 1); b != nil {
		return b[0]
	}
	return 0
}

func (f *flat) u16(pos int64) uint16 {
	if b := f.at(pos, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (f *flat) u32(pos int64) uint32 {
	if b := f.at(pos, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (f *flat) u64(pos int64) uint64 {
	if b := f.at(pos, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// root is the table that the buffer is about.
func (f *flat) root() table { return f.table(int64(f.u32(0))) }

// table is the table at pos. In front of a table's fields lies the distance to
// its vtable, which lists where in the table each field is, or 0.
func (f *flat) table(pos int64) table {
	vtable := pos - int64(int32(f.u32(pos)))
	return table{f: f, pos: pos, vtable: vtable, slots: (int64(f.u16(vtable)) - 4) / 2}
}

// table is one table of a flat. Its fields go by their number in the .fbs.
type table struct {
	f           *flat
	pos, vtable int64
	slots       int64
}

// field is where field i is, or 0 where it is left out.
func (t table) field(i int64) int64 {
	if i >= t.slots {
		return 0
	}
	if off := t.f.u16(t.vtable + 4 + 2*i); off != 0 {
		return t.pos + int64(off)
	}
	return 0
}

func (t table) uint8(i int64) uint8 {
	if p := t.field(i); p != 0 {
		return t.f.u8(p)
	}
	return 0
}

func (t table) int16(i int64) int16 {
	if p := t.field(i); p != 0 {
		return int16(t.f.u16(p))
	}
	return 0
}

func (t table) int32(i int64) int32 {
	if p := t.field(i); p != 0 {
		return int32(t.f.u32(p))
	}
	return 0
}

func (t table) int64(i int64) int64 {
	if p := t.field(i); p != 0 {
		return int64(t.f.u64(p))
	}
	return 0
}

// table is the table in field i, and whether there is one.
func (t table) table(i int64) (table, bool) {
	p := t.field(i)
	if p == 0 {
		return table{f: t.f}, false
	}
	return t.f.table(p + int64(t.f.u32(p))), true
}

// vector is the elements, of size bytes each, of the vector in field i, and
// where they lie; nothing where it is left out.
func (t table) vector(i, size int64) (elements []byte, pos int64) {
	p := t.field(i)
	if p == 0 {
		return nil, 0
	}
	p += int64(t.f.u32(p))
	n := int64(t.f.u32(p))
	return t.f.at(p+4, n*size), p + 4
}

// text is the string in field i.
func (t table) text(i int64) string {
	b, _ := t.vector(i, 1)
	return string(b)
}

// count is how many elements of size bytes the vector in field i has.
func (t table) count(i, size int64) int {
	elements, _ := t.vector(i, size)
	return len(elements) / int(size)
}

// tables yields the tables that the vector in field i lists.
func (t table) tables(i int64) iter.Seq[table] {
	return func(yield func(table) bool) {
		refs, pos := t.vector(i, 4)
		for end := pos + int64(len(refs)); pos < end; pos += 4 {
			if !yield(t.f.table(pos + int64(t.f.u32(pos)))) {
				return
			}
		}
	}
}

// textIs reports whether the string in field i is want, without a copy of it.
func (t table) textIs(i int64, want string) bool {
	b, _ := t.vector(i, 1)
	return string(b) == want
}
