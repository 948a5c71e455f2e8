// Package ndjson knows the message lines: one JSON object a line, the same for
// what goes into a topic and what is read from it.
//
//	{"id":"3:0","key":"k1","value":"v1","publish_time":"2026-01-02T03:04:05.678Z",
//	 "event_time":"2026-01-02T03:04:05Z","producer":"p","sequence":"7","epoch":0,"txn":"1,4",
//	 "ordering_key":"o","properties":[{"key":"a","value":"b"}]}       a message
//	{"id":"3:1:0","batch_size":2,"key":"k2","value":null}             a message of a batch; null deletes its key
//	{"key_base64":"/w==","value_base64":"AAE="}                       bytes that are not UTF-8
//	{"batch":[{"key":"a","value":"1"},{"key":"b","value":"2"}]}       a batch in one line; "id":"3:1" may come with it
//	{"txn":"1,4","marker":"commit","low_water_mark":"3"}              an end of a transaction; the mark may be left out
//
// What a line does not say it leaves out; null says the same, but for "value",
// whose null is the null value. A message must have "value" or "value_base64",
// so that a mistyped name does not delete a key. Members with other names are
// ignored. A line is refused, rather than guessed at, when a name is there
// twice, when a type is wrong, when text is not UTF-8 (an escape of half a
// surrogate pair is not), or when a member does not go with the others.
//
// encoding/json would take several of these lines and change them: it replaces
// what is not UTF-8, ignores the case of names and takes the last of two. It
// also takes several times as long.
package ndjson
