package ingest_test

import (
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
)

func TestLinesOfKcatBecomeMessages(t *testing.T) {
	w := newWorld(t)
	in := `{"topic":"t","partition":0,"offset":0,"tstype":"create","ts":1700000000123,"broker":1,"key":"k1","payload":"v1"}
{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":-1,"broker":1,"headers":["a","1","a","2","n",null,"",""],"key":"k\u0000\"é","payload":"{\"a\":1}"}

{"topic":"t","partition":0,"offset":2,"tstype":"unknown","ts":5,"broker":1,"key":null,"payload":null}
{"topic":"t","partition":0,"offset":5,"tstype":"create","ts":1700000000126,"broker":1,"key":"k1","payload":null}
{"topic":"t","partition":0,"offset":6,"tstype":"logappend","ts":0,"broker":1,"key":"","payload":"","headers":null}
{"topic":"t","partition":0,"offset":7,"tstype":"create","ts":1,"broker":1,"key":"` + "\xff\xfe\\n" + `","headers":["h","` + "\x80" + `"],"payload":"` + "\xc3" + `"}
{"topic":"t","partition":0,"offset":9,"tstype":"create","ts":1,"key_schema_id":3,"value_schema_id":4,"key":{ "id" : 1 },"payload":[1.50, {"a":null}]}
`
	r := w.must(w.as(ingest.Kcat, []byte(in)))
	wantResult(t, r, "ingested 0:0..0:9, 7 messages, 0 duplicates, version 1")
	w.wantLog("kcat",
		`{"id":"0:0","key":"k1","value":"v1","publish_time":"2023-11-14T22:13:20.123Z"}`,
		`{"id":"0:1","key":"k\u0000\"é","value":"{\"a\":1}","properties":[{"key":"a","value":"1"},{"key":"a","value":"2"},{"key":"n","value":null},{"key":"","value":""}]}`,
		`{"id":"0:2","value":null}`,
		`tombstone {"id":"0:5","key":"k1","value":null,"publish_time":"2023-11-14T22:13:20.126Z"}`,
		`{"id":"0:6","key":"","value":"","publish_time":"1970-01-01T00:00:00.000Z"}`,
		`{"id":"0:7","key_base64":"//4K","value_base64":"ww==","publish_time":"1970-01-01T00:00:00.001Z","properties":[{"key":"h","value_base64":"gA=="}]}`,
		`{"id":"0:9","key":"{\"id\":1}","value":"[1.50,{\"a\":null}]","publish_time":"1970-01-01T00:00:00.001Z"}`,
	)
	refuse(t, ingest.Kcat, []refused{
		{`{"topic":"t","partition":0,"offset":0,"key":"k"}`, `line 1: no "payload"`},
		{`{"topic":"t","partition":0,"key":"k","payload":"v"}`, `line 1: no "offset"`},
		{`{"topic":"t","partition":0,"offset":-1,"key":"k","payload":"v"}`, "no offset -1"},
		{`{"topic":"t","partition":0,"offset":9223372036854775807,"key":"k","payload":"v"}`, "no offset 9223372036854775807"},
		{`{"topic":"t","partition":0,"offset":9223372036854775808,"key":"k","payload":"v"}`, "does not fit"},
		{`{"topic":"t","partition":0,"offset":1.5,"key":"k","payload":"v"}`, "not a whole number"},
		{`{"topic":"t","partition":0,"offset":0,"key":"k","payload":"v","payload":"w"}`, `"payload" is there twice`},
		{`{"topic":"t","partition":0,"offset":0,"key":"k","payload":null,"payload_error":"no schema"}`, `"payload_error": kcat could not`},
		{`{"topic":"t","partition":0,"offset":0,"key":"k","payload":"v","headers":["a"]}`, "a name without a value"},
		{`{"topic":"t","partition":0,"offset":0,"key":"k","payload":"v","headers":["` + "\xff" + `","1"]}`, "header is not UTF-8"},
		{`{"topic":"t","partition":0,"offset":0,"key":"k","payload":"v"`, "line 1:"},
		{"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":\"k\",\"payload\":\"v\"}\n{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":\"k\",\"payload\":\"v\"}",
			"offset 1: it does not lie above offset 1"},
		{"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":\"k\",\"payload\":\"v\"}\n{\"topic\":\"t\",\"partition\":1,\"offset\":2,\"key\":\"k\",\"payload\":\"v\"}",
			"line 2: it is of partition 1, and those before it are of 0"},
		{"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":\"k\",\"payload\":\"v\"}\n{\"topic\":\"u\",\"partition\":0,\"offset\":2,\"key\":\"k\",\"payload\":\"v\"}",
			`line 2: it is of topic "u", and those before it are of "t"`},
	})
}

func TestRecordsOfRpkBecomeMessages(t *testing.T) {
	w := newWorld(t)
	in := "\xef\xbb\xbf" + `{
  "topic": "t",
  "key": "k1",
  "value": "}\n{ \"not\": \"a record\\\\\" }",
  "headers": [
    { "key": "a", "value": "1" }, {"key":"a","value":""}, {"key":"n"}, {"value":"x"}
  ],
  "timestamp": 1700000000123,
  "partition": 0,
  "offset": 0
} {"topic":"t","value":"no key","timestamp":-1,"partition":0,"offset":1}{"topic":"t","key":"k1","partition":0,"offset":3,"future":[{}]}

{"topic":"t","key":"k2","value":"","timestamp":0,"partition":0,"offset":4,"value_size":0}
{"topic":"t","key":"` + "\ufffd" + `","value":"\\ufffd","timestamp":0,"partition":0,"offset":5}
`
	r := w.must(w.as(ingest.Rpk, []byte(in)))
	wantResult(t, r, "ingested 0:0..0:5, 5 messages, 0 duplicates, version 1")
	w.wantLog("rpk",
		`{"id":"0:0","key":"k1","value":"}\n{ \"not\": \"a record\\\\\" }","publish_time":"2023-11-14T22:13:20.123Z","properties":[{"key":"a","value":"1"},{"key":"a","value":""},{"key":"n","value":null},{"key":"","value":"x"}]}`,
		`{"id":"0:1","value":"no key"}`,
		`tombstone {"id":"0:3","key":"k1","value":null}`,
		`{"id":"0:4","key":"k2","value":"","publish_time":"1970-01-01T00:00:00.000Z"}`,
		`{"id":"0:5","key":"`+"\ufffd"+`","value":"\\ufffd","publish_time":"1970-01-01T00:00:00.000Z"}`,
	)
	refuse(t, ingest.Rpk, []refused{
		{`{"topic":"t","key":"k","value_size":2,"partition":0,"offset":0}`, "line 1: a \"value_size\" without a \"value\": it was printed with --meta-only"},
		{"\n\n{\n\"topic\":\"t\",\n\"key\":\"k\",\"value\":5,\"partition\":0,\"offset\":0}", `line 3: "value": `},
		{`{"topic":"t","key":"k","value":"a\ufffd","partition":0,"offset":0}`, `"value": rpk replaced bytes`},
		{`{"topic":"t","key":"\ufffd","value":"a","partition":0,"offset":0}`, `"key": rpk replaced bytes`},
		{`{"topic":"t","value":"a","headers":[{"key":"a","value":"\\\ufffd"}],"partition":0,"offset":0}`, `"headers": header 0: "value": rpk replaced bytes`},
		{`{"topic":"t","key":"k","value":"v","partition":0}`, `no "offset"`},
		{`{"topic":"t","key":"k","value":"` + "\xff" + `","partition":0,"offset":1}`, "not UTF-8"},
		{`{"topic":"t","key":"k","key":"l","value":"v","partition":0,"offset":1}`, `"key" is there twice`},
		{"{\"topic\":\"t\",\n\"key\":\"k\"", "line 1: the input ends within an object"},
		{`{"topic":"t","value":"{`, "line 1: the input ends within an object"},
		{"  \n [1]", "line 2: '[', want an object"},
		{`{"a":]}`, "line 1: "},
		{`{"topic":"t","value":"` + strings.Repeat("x", 2000) + `","partition":0,"offset":0}`, "line 1: longer than 1000 bytes"},
	}, func(s *ingest.Settings) { s.LineBytesMax = 1000 })
}

// TestOnePartitionOfADumpIsTaken chooses among several.
func TestOnePartitionOfADumpIsTaken(t *testing.T) {
	kcat := `{"topic":"t","partition":1,"offset":7,"key":"a","payload":"1"}
{"topic":"t","partition":0,"offset":1,"key":"a","payload":"0"}
{"topic":"t","partition":1,"offset":8,"key":"a","payload":"2"}
`
	for format, in := range map[string]string{ingest.Kcat: kcat, ingest.Rpk: strings.ReplaceAll(kcat, "payload", "value")} {
		w := newWorld(t)
		wantResult(t, w.must(w.as(format, []byte(in), partition(1))), "ingested 0:7..0:8, 2 messages, 0 duplicates, version 1")
		wantResult(t, w.must(w.as(format, []byte(in), partition(3))), "already_ingested -1:-1..-1:-1, 0 messages, 0 duplicates, version 1")
		w.wantLog(format, `{"id":"0:7","key":"a","value":"1"}`, `{"id":"0:8","key":"a","value":"2"}`)
		refuse(t, format, []refused{{strings.ReplaceAll(in, `"partition":1,`, ""), `line 1: no "partition"`}}, partition(1))
	}
	s := newWorld(t).settings()
	s.Format = ingest.Debezium
	partition(0)(&s)
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "partition") {
		t.Errorf("a partition of debezium: got %v", err)
	}
}

// TestADumpGoesOnByItsOffsets resumes a named source, whose lines are offsets.
func TestADumpGoesOnByItsOffsets(t *testing.T) {
	w := newWorld(t)
	line := func(offset, value string) string {
		return `{"topic":"t","partition":0,"offset":` + offset + `,"key":"a","payload":"` + value + `"}` + "\n"
	}
	wantResult(t, w.must(w.as(ingest.Kcat, []byte(line("3", "3")+line("7", "7")), named("p0"))), "ingested 0:3..0:7, 2 messages, 0 duplicates, version 1")
	if got := w.latest().Sources[0].Lines; got != 8 {
		t.Errorf("%d offsets are in, want 8", got)
	}
	wantResult(t, w.must(w.as(ingest.Kcat, []byte(line("3", "3")+line("7", "7")), named("p0"))), "already_ingested -1:-1..-1:-1, 0 messages, 2 duplicates, version 1")
	// What comes next may be a dump that begins anywhere.
	wantResult(t, w.must(w.as(ingest.Kcat, []byte(line("5", "5")+line("7", "7")+line("9", "9")), named("p0"))), "ingested 1:9..1:9, 1 messages, 2 duplicates, version 2")
	w.wantLog("resumed", `{"id":"0:3","key":"a","value":"3"}`, `{"id":"0:7","key":"a","value":"7"}`, `{"id":"1:9","key":"a","value":"9"}`)
}

func FuzzKcat(f *testing.F) {
	f.Add([]byte(`{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":-1,"broker":1,"headers":["a","1","n",null],"key":"k\u0000\"é","payload":"{\"a\":1}"}`))
	f.Add([]byte("{\"offset\":1,\"payload\":{\"a\":[1]},\"key\":\"\xff\"}\n{\"offset\":2,\"payload\":null}\n"))
	f.Add([]byte("{\"offset\":9223372036854775806,\"payload\":null}\n{\"offset\":2,\"payload\":null}\n"))
	fuzzFormat(f, ingest.Kcat)
}

func FuzzRpk(f *testing.F) {
	f.Add([]byte(`{"topic":"t","key":"k","value":"v","headers":[{"key":"a","value":"1"}],"timestamp":5,"partition":0,"offset":0} {"offset":1}`))
	f.Add([]byte("{\n\"value\":\"\\ufffd\\\\\",\n\"offset\":\"7\"\n}\n{\"offset\":9,\"value_size\":1}"))
	fuzzFormat(f, ingest.Rpk)
}
