// Package segments knows the bytes of a topic: positions and messages, the
// Arrow IPC files that hold them, and the key indexes beside those. It knows
// no store and no manifest; it reads through a Source and writes into memory.
package segments
