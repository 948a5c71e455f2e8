// Package dlq sets messages aside that a group can't handle: as dead letters in
// a topic of their own, from which they can be listed and sent back.
//
// A letter is the message with its key, value, properties and event time, and
// more properties that say where it is from and why it is here. It is durably
// written before the message counts as finished. So a crash in between gives a
// second letter of the same message, never none; List folds such doubles.
//
// A message that is gone from its topic, of which only the position is known,
// gets a letter without payload, which says so.
package dlq
