package segments

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// fileMagic opens and ends an Arrow IPC file. In front it is padded to 8 bytes.
const fileMagic = "ARROW1"

// Of Arrow's Message.fbs and Schema.fbs: what this package meets.
const (
	metadataV5 = 4 // MetadataVersion

	messageSchema      = 1 // MessageHeader
	messageDictionary  = 2
	messageRecordBatch = 3
)

// message is one encapsulated message of an Arrow file:
//
//	0xFFFFFFFF | int32 length | metadata, a flatbuffer | body
//	`--------------- metaBytes ----------------------' `-- bodyBytes
//
// A message whose metadata has length 0 is the end of the messages.
type message struct {
	end       bool
	kind      uint8
	header    table // of the kind
	metaBytes int64
	bodyBytes int64
}

// parseMessage reads the metadata of the message that b begins with. Its body
// may be there or not.
func parseMessage(b []byte) (message, error) {
	if len(b) < 8 {
		return message{}, errors.New("a message has no room for its length")
	}
	if mark := binary.LittleEndian.Uint32(b); mark != 0xFFFFFFFF {
		return message{}, fmt.Errorf("a message begins with %08x, not ffffffff", mark)
	}
	length := int64(int32(binary.LittleEndian.Uint32(b[4:])))
	if length == 0 {
		return message{end: true, metaBytes: 8}, nil
	}
	if length < 0 || length > int64(len(b))-8 {
		return message{}, fmt.Errorf("a message's metadata has length %d, with %d bytes left", length, len(b)-8)
	}
	if length%8 != 0 {
		return message{}, fmt.Errorf("a message's metadata has length %d, which 8 does not divide", length)
	}
	f := &flat{bytes: b[8 : 8+length]}
	root := f.root()
	m := message{kind: root.uint8(1), metaBytes: 8 + length, bodyBytes: root.int64(3)}
	var ok bool
	m.header, ok = root.table(2)
	switch version := root.int16(0); {
	case f.bad || !ok:
		return message{}, errors.New("a message's metadata points outside of itself")
	case version != metadataV5:
		return message{}, fmt.Errorf("a message has metadata version %d, want %d", version, metadataV5)
	case m.bodyBytes < 0 || m.bodyBytes%8 != 0:
		return message{}, fmt.Errorf("a message's body has length %d", m.bodyBytes)
	}
	return m, nil
}

// codec tells how buffers are compressed.
type codec int

const (
	codecNone codec = iota
	codecLZ4
	codecZstd
)

// batchMeta is the metadata of a record batch. Nodes and buffers are pairs of
// little-endian int64: length and nulls of an array, offset and length of a
// buffer in the body. Variadic, which our own schema has no use for, is int64s:
// how many buffers of data each column of views has.
type batchMeta struct {
	rows     int64
	codec    codec
	nodes    []byte
	buffers  []byte
	variadic []byte
}

const pairBytes = 16

// parseBatch reads the metadata of a record batch and checks that it lists
// what our schema has.
func parseBatch(m message) (batchMeta, error) {
	if m.kind != messageRecordBatch {
		return batchMeta{}, fmt.Errorf("a message is of kind %d, not a record batch", m.kind)
	}
	meta, err := readBatch(m.header)
	if err != nil {
		return batchMeta{}, err
	}
	if n := len(meta.nodes) / pairBytes; n != batchArrays {
		return batchMeta{}, fmt.Errorf("a record batch has %d arrays, want %d", n, batchArrays)
	}
	if n := len(meta.buffers) / pairBytes; n != batchBuffers {
		return batchMeta{}, fmt.Errorf("a record batch has %d buffers, want %d", n, batchBuffers)
	}
	return meta, nil
}

// readBatch reads the metadata of a record batch of any schema.
func readBatch(header table) (batchMeta, error) {
	meta := batchMeta{rows: header.int64(0)}
	meta.nodes, _ = header.vector(1, pairBytes)
	meta.buffers, _ = header.vector(2, pairBytes)
	meta.variadic, _ = header.vector(4, 8)
	if compression, ok := header.table(3); ok {
		switch name, method := compression.uint8(0), compression.uint8(1); {
		case name == 0 && method == 0:
			meta.codec = codecLZ4
		case name == 1 && method == 0:
			meta.codec = codecZstd
		default:
			return batchMeta{}, fmt.Errorf("buffers are compressed by codec %d, method %d", name, method)
		}
	}
	if header.f.bad {
		return batchMeta{}, errors.New("a record batch's metadata points outside of itself")
	}
	return meta, nil
}

// pair is pair i of nodes or buffers.
func pair(pairs []byte, i int) (a, b int64) {
	p := pairs[i*pairBytes:]
	return int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))
}
