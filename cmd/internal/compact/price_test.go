package compact

import (
	"math"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func TestAPriceIsWhatTheTableSays(t *testing.T) {
	table, err := parsePrices([]byte(`{"name":"mine","dollars_per_1000_gets":1,"dollars_per_1000_puts":10,
		"dollars_per_gib_read":100,"dollars_per_gib_written":1000,
		"rates":{"requests_per_second":10,"bytes_read_per_second":1e9,"bytes_written_per_second":1e8}}`))
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{Settings: manifest.DefaultSettings()}
	plan := &compactor.Plan{Estimate: compactor.Estimate{Gets: 2000, Puts: 1000, ReadBytes: 3 << 30, WriteBytes: 1 << 30}}
	p := table.of(m, plan)
	if want := 2.0 + 10 + 300 + 1000; math.Abs(p.Dollars-want) > 1e-9 {
		t.Errorf("%v dollars, want %v", p.Dollars, want)
	}
	if want := 300 + 3*(1<<30)/1e9 + (1<<30)/1e8; p.Seconds == nil || math.Abs(*p.Seconds-want) > 1e-6 {
		t.Errorf("%v seconds, want %v", *p.Seconds, want)
	}
	if p.Requests != 3000 || p.Prices != "mine" {
		t.Errorf("%+v", p)
	}
	if p := standard.of(m, plan); p.Seconds != nil || math.Abs(p.Dollars-0.0058) > 1e-9 {
		t.Errorf("by S3: %+v", p)
	}
}

func TestABadPriceFileIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "EOF",
		`{"dollars_per_1000_get":1}`:    "unknown field",
		`{"dollars_per_1000_gets":"1"}`: "cannot unmarshal",
		`{"dollars_per_1000_gets":-1}`:  "below 0",
		`{"rates":{"requests_per_second":1,"bytes_read_per_second":1}}`: "a rate is missing",
	} {
		if _, err := parsePrices([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
