package ingest_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
)

func TestEventsOfDebeziumBecomeRows(t *testing.T) {
	const source = `"source":{"connector":"postgresql","ts_ms":1700000000000,"table":"t"}`
	w := newWorld(t)
	in := `/*
 * A licence, with {"key":1,"value":null} in it.
 */
{"key":{"id":1},"value":{"before":null,"after":{"id":1,"n":1.50,"t":"a  \u00e9\"b"},` + source + `,"op":"c","ts_ms":1700000000100,"transaction":null}}
{ "key" : { "id" : 2 } , "value" : { "op" : "r" , "after" : { "id" : 2 , "big" : 12345678901234567890.000 } } }
/* one line */
{"key":{"schema":{"type":"struct"},"payload":{"id":1}},"value":{"schema":{"type":"struct"},"payload":{"before":{"id":1},"after":{"id":1,"n":2},` + source + `,"op":"u","ts_ms":1700000000200}}}
{"key":{"id":1},"value":{"before":{"id":1,"n":2},"after":null,` + source + `,"op":"d","ts_ms":1700000000300}}
{"key":{"id":1},"value":null}
{"key":{"id":3},"value":{"before":null,"after":{"id":3,"n":2},` + source + `,"op":"c","ts_ms":1700000000300}}
{"key":{"schema":null,"payload":{"id":2}},"value":{"schema":null,"payload":null}}
{"key":"text","value":{"op":"c","after":{"schema":1,"payload":2}}}
{"key":{"schema":1,"payload":2,"id":3},"value":{"op":"c","after":"{\"_id\": {\"$oid\": \"5\"}}"}}
`
	r := w.must(w.as(ingest.Debezium, []byte(in)))
	wantResult(t, r, "ingested 0:0..0:8, 9 messages, 0 duplicates, version 1")
	w.wantLog("debezium",
		`{"id":"0:0","key":"{\"id\":1}","value":"{\"id\":1,\"n\":1.50,\"t\":\"a  \\u00e9\\\"b\"}","publish_time":"2023-11-14T22:13:20.100Z","event_time":"2023-11-14T22:13:20.000Z"}`,
		`{"id":"0:1","key":"{\"id\":2}","value":"{\"id\":2,\"big\":12345678901234567890.000}"}`,
		`{"id":"0:2","key":"{\"id\":1}","value":"{\"id\":1,\"n\":2}","publish_time":"2023-11-14T22:13:20.200Z","event_time":"2023-11-14T22:13:20.000Z"}`,
		`tombstone {"id":"0:3","key":"{\"id\":1}","value":null,"publish_time":"2023-11-14T22:13:20.300Z","event_time":"2023-11-14T22:13:20.000Z"}`,
		`tombstone {"id":"0:4","key":"{\"id\":1}","value":null}`,
		`{"id":"0:5","key":"{\"id\":3}","value":"{\"id\":3,\"n\":2}","publish_time":"2023-11-14T22:13:20.300Z","event_time":"2023-11-14T22:13:20.000Z"}`,
		`tombstone {"id":"0:6","key":"{\"id\":2}","value":null}`,
		`{"id":"0:7","key":"\"text\"","value":"{\"schema\":1,\"payload\":2}"}`,
		`{"id":"0:8","key":"{\"schema\":1,\"payload\":2,\"id\":3}","value":"{\"_id\": {\"$oid\": \"5\"}}"}`,
	)
	// Under a name, comments count as the lines they are.
	wantResult(t, w.must(w.as(ingest.Debezium, []byte(in), named("db"))), "ingested 1:0..1:8, 9 messages, 0 duplicates, version 2")
	wantResult(t, w.must(w.as(ingest.Debezium, []byte(in+`{"key":9,"value":null}`), named("db"))), "ingested 2:0..2:0, 1 messages, 9 duplicates, version 3")
}

func TestEventsThatAreAboutNoRowAreSkipped(t *testing.T) {
	w := newWorld(t)
	in := `{"key":{"serverName":"db"},"value":{"ts_ms":1700000000000,"ts_us":1}}
{"key":{"id":"571:53195829"},"value":{"status":"BEGIN","id":"571:53195829","ts_ms":1486500577125,"event_count":null,"data_collections":null}}
{"key":{"databaseName":"inventory"},"value":{"source":{"ts_ms":1},"ts_ms":2,"databaseName":"inventory","schemaName":null,"ddl":"CREATE TABLE t","tableChanges":[]}}
{"key":{"prefix":"p"},"value":{"op":"m","ts_ms":2,"message":{"prefix":"p","content":"Zm9v"},"source":{"ts_ms":1}}}
`
	wantResult(t, w.must(w.as(ingest.Debezium, []byte(in))), "already_ingested -1:-1..-1:-1, 0 messages, 0 duplicates, version 0")
}

func TestValuesAloneNeedAKey(t *testing.T) {
	w := newWorld(t)
	in := `{"before":null,"after":{"id":1,"region":"eu","at":{"zip":"007"}},"op":"c"}
{"schema":null,"payload":{"before":{"id":1,"region":"eu","at":{"zip":"007"}},"after":{"id":1,"region":"us","at":{"zip":"007"}},"op":"u"}}
{"before":{"id":1},"after":{"id":1,"region":"us","at":{"zip" : "008"}},"op":"u"}
{"key":null,"value":{"before":null,"after":"{\"id\":2,\"region\":null,\"at\":{\"zip\":1.0}}","op":"r"}}
{"before":{"id":1,"region":"us","at":{"zip":"007"}},"after":null,"op":"d"}
{"key":{"k":1},"value":{"before":null,"after":{"id":1},"op":"c"}}
`
	r := w.must(w.as(ingest.Debezium, []byte(in), keyed("region,id,at.zip")))
	wantResult(t, r, "ingested 0:0..0:6, 7 messages, 0 duplicates, version 1")
	w.wantLog("keyed",
		`{"id":"0:0","key":"{\"region\":\"eu\",\"id\":1,\"zip\":\"007\"}","value":"{\"id\":1,\"region\":\"eu\",\"at\":{\"zip\":\"007\"}}"}`,
		`tombstone {"id":"0:1","key":"{\"region\":\"eu\",\"id\":1,\"zip\":\"007\"}","value":null}`,
		`{"id":"0:2","key":"{\"region\":\"us\",\"id\":1,\"zip\":\"007\"}","value":"{\"id\":1,\"region\":\"us\",\"at\":{\"zip\":\"007\"}}"}`,
		`{"id":"0:3","key":"{\"region\":\"us\",\"id\":1,\"zip\":\"008\"}","value":"{\"id\":1,\"region\":\"us\",\"at\":{\"zip\":\"008\"}}"}`,
		`{"id":"0:4","key":"{\"region\":null,\"id\":2,\"zip\":1.0}","value":"{\"id\":2,\"region\":null,\"at\":{\"zip\":1.0}}"}`,
		`tombstone {"id":"0:5","key":"{\"region\":\"us\",\"id\":1,\"zip\":\"007\"}","value":null}`,
		`{"id":"0:6","key":"{\"k\":1}","value":"{\"id\":1}"}`,
	)
	refuse(t, ingest.Debezium, []refused{
		{`{"before":null,"after":{"id":1},"op":"c"}`, `line 1: after: there is no "region" in the row`},
		{`{"before":null,"after":null,"op":"d"}`, "line 1: before: there is no row"},
		{`{"before":null,"after":[1],"op":"c"}`, "line 1: after: a row is an object"},
		{`{"before":null,"after":"[1]","op":"c"}`, `there is no "region"`},
		{`{"before":null,"after":"{","op":"c"}`, "line 1: after: "},
	}, keyed("region"))
	refuse(t, ingest.Debezium, []refused{
		{`{"before":null,"after":{"id":1},"op":"c"}`, "line 1: after: the event has no key; say with --key"},
		{`{"key":null,"value":{"before":{"id":1},"after":null,"op":"d"}}`, "line 1: before: the event has no key"},
		{`{"key":{"schema":null,"payload":null},"value":{"before":{"id":1},"after":null,"op":"d"}}`, "the event has no key"},
		{`null`, "line 1: a null without a key"},
		{`{"key":null,"value":null}`, "line 1: a null without a key"},
		{`{"value":null}`, "line 1: a null without a key"},
		{"\n" + `{"key":{"id":1},"value":{"op":"t"}}`, "line 2: op t empties the table"},
		{`{"key":{"id":1},"value":{"op":"x","after":{}}}`, `op "x" is none of`},
		{`{"key":{"id":1},"value":{"op":7}}`, "op: "},
		{`{"key":{"id":1},"value":{"id":1,"name":"a"}}`, `line 1: no "op"`},
		{`{"id":1,"name":"a"}`, `line 1: no "op"`},
		{`{"key":{"id":1},"value":"text"}`, `line 1: no "op"`},
		{`{"key":{"id":1},"value":{}}`, `line 1: no "op"`},
		{`{"key":{"id":1},"value":{"op":"u","after":null}}`, "line 1: op u without a row"},
		{`{"key":{"id":1},"value":{"op":"c","op":"d","after":{}}}`, `"op" is there twice`},
		{`{"key":{"id":1},"key":{"id":2},"value":null}`, `"key" is there twice`},
		{`{"key":{"id":1},"value":{"op":"c","after":{},"ts_ms":"x"}}`, "ts_ms: "},
		{`{"key":{"id":1},"value":{"op":"c","after":{},"source":{"ts_ms":1.5}}}`, "source: ts_ms: "},
		{`{"key":{"id":1},"value":`, "line 1: byte"},
		{`{"key":{"id":1},"value":null} x`, "something follows"},
		{"{\"key\":{\"id\":\"\xff\"},\"value\":null}", "not UTF-8"},
	})
	for _, path := range []string{",", "a,", "a..b", `a"b`, "\xff"} {
		s := newWorld(t).settings()
		s.Format = ingest.Debezium
		keyed(path)(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "key is") {
			t.Errorf("key %q: got %v", path, err)
		}
	}
	s := newWorld(t).settings()
	keyed("id")(&s)
	if err := s.Validate(); err == nil {
		t.Error("a key of ndjson was taken")
	}
}

// TestSamplesOfDebeziumAreRead reads those of other projects: events one a line
// behind their licence, and events over many lines, put on one.
func TestSamplesOfDebeziumAreRead(t *testing.T) {
	names, err := filepath.Glob("testdata/debezium/table-*.txt")
	if err != nil || len(names) != 4 {
		t.Fatalf("found %v, %v", names, err)
	}
	for _, name := range names {
		w := newWorld(t)
		w.must(w.as(ingest.Debezium, read(t, name), keyed("id")))
		for _, m := range w.rows() {
			if !strings.HasPrefix(string(m.Key), `{"id":10`) || m.Value != nil && !json.Valid(m.Value) || strings.Contains(name, "with-delete") != (m.Value == nil) {
				t.Errorf("%s: got %s", name, show(&m))
			}
		}
	}
	one := func(name string) []byte {
		var b bytes.Buffer
		if err := json.Compact(&b, read(t, "testdata/debezium/"+name)); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	const row = `{"id":"0:0","key":"{\"id\":1004}","value":"{\"id\":1004,\"first_name\":\"Anne\",\"last_name\":\"Kretchmar\",\"email\":\"annek@noanswer.org\"}","publish_time":"2016-06-09T16:56:51.815Z","event_time":"1970-01-01T00:00:00.000Z"}`
	for _, name := range []string{"serde-with-schema.json", "serde-without-schema.json", "serde-update.json"} {
		w := newWorld(t)
		w.must(w.as(ingest.Debezium, one(name), keyed("id")))
		w.wantLog(name, row)
	}
	refuse(t, ingest.Debezium, []refused{{string(one("serde-unwrapped.json")), `no "op"`}}, keyed("id"))
}

func FuzzDebezium(f *testing.F) {
	f.Add([]byte(`{"key":{"schema":{},"payload":{"id":1}},"value":{"before":null,"after":{"id":1,"n":1.50,"t":"a  \u00e9"},"source":{"ts_ms":5},"op":"c","ts_ms":7}}`))
	f.Add([]byte("/* c\n*/\n{\"key\":1,\"value\":null}\n{\"after\":\"{\\\"id\\\":1}\",\"op\":\"u\",\"before\":{\"id\":2}}\n"))
	f.Add([]byte(`{"ts_ms":5}` + "\n" + `{"op":"d","before":{"id":{"id":[]}}}`))
	fuzzFormat(f, ingest.Debezium, keyed("id"))
}
