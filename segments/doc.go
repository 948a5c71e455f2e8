// Package segments knows the bytes of a topic: positions and messages, the
// Arrow IPC files that hold them, and the key indexes beside those. It knows
// no store and no manifest; it reads through a Source and writes into memory.
//
// To read it: position.go and message.go are the words of the whole project,
// and info.go is what a manifest keeps of a segment. A Writer (writer.go) puts
// rows into columns (columns.go), the columns into an Arrow file (data.go), and
// what vouches for it into an index (head.go, keyindex.go). A File (file.go,
// lookup.go) goes from the head of the index to the bytes it wants (fetch.go),
// and makes Rows of them (ipc.go and flat.go, decode.go, inflate.go, rows.go).
// Bytes that come without an index are for DecodeFile (foreign.go).
//
// docs/format-segments.md has the format, byte by byte.
package segments
