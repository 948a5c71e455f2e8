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
// A segment that comes without an index is for DecodeFile (foreign.go).
//
// Tables of messages that others wrote are for an ArrowReader: arrowreader.go
// goes from message to message, arrowschema.go finds the columns, arrowcolumn.go
// decodes them in whatever layout they have, and arrowrows.go makes messages of
// them. An ArrowWriter (arrowwriter.go) writes such tables.
//
// docs/format-segments.md has the format, byte by byte.
package segments
