package compact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dustin/go-humanize"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

// prices is a table of what a store asks for, and of how fast it is from here.
// The user can give another one as a JSON file.
type prices struct {
	Name string `json:"name"`

	// In dollars.
	PerThousandGets float64 `json:"dollars_per_1000_gets"` // and others that read
	PerThousandPuts float64 `json:"dollars_per_1000_puts"` // and listings
	PerGiBRead      float64 `json:"dollars_per_gib_read"`
	PerGiBWritten   float64 `json:"dollars_per_gib_written"`

	// Rates are what one process gets done. Nobody can guess them, so without
	// them no time is told.
	Rates *rates `json:"rates,omitempty"`
}

type rates struct {
	Requests     float64 `json:"requests_per_second"`
	BytesRead    float64 `json:"bytes_read_per_second"`
	BytesWritten float64 `json:"bytes_written_per_second"`
}

// standard is what S3 Standard asks for in most regions. Bytes cost nothing
// within a region. It is to tell cents from hundreds of dollars, and no bill.
var standard = prices{
	Name:            "S3 Standard, within a region",
	PerThousandGets: 0.0004,
	PerThousandPuts: 0.005,
}

// mostPriceBytes bounds a price file.
const mostPriceBytes = 1 << 20

// pricesOf are those of --price-file, or else of S3; nil without --price.
func pricesOf(s *program.Session) (*prices, error) {
	name := s.Flags.String("price-file")
	if name == "" {
		if s.Flags.Bool("price") {
			return &standard, nil
		}
		return nil, nil
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, program.Missing(err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(file, mostPriceBytes))
	if err != nil {
		return nil, err
	}
	p, err := parsePrices(body)
	if err != nil {
		return nil, program.Usagef("%s: %w", name, err)
	}
	return p, nil
}

// parsePrices reads a price file. A mistyped name would make something free, so
// it is refused.
func parsePrices(body []byte) (*prices, error) {
	p := new(prices)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	for _, dollars := range []float64{p.PerThousandGets, p.PerThousandPuts, p.PerGiBRead, p.PerGiBWritten} {
		if dollars < 0 {
			return nil, errors.New("a price is below 0")
		}
	}
	if r := p.Rates; r != nil && (r.Requests <= 0 || r.BytesRead <= 0 || r.BytesWritten <= 0) {
		return nil, errors.New("a rate is missing, or not above 0")
	}
	return p, nil
}

// priceOf is what a plan costs at most, and what the topic takes in the store
// before and after it.
type priceOf struct {
	Prices     string   `json:"prices"`
	Requests   int64    `json:"requests"`
	Gets       int64    `json:"gets"`
	Puts       int64    `json:"puts"`
	ReadBytes  int64    `json:"read_bytes"`
	WriteBytes int64    `json:"write_bytes"`
	Dollars    float64  `json:"dollars"`
	Seconds    *float64 `json:"seconds,omitempty"`

	Before compactor.Footprint `json:"before"`
	After  compactor.Footprint `json:"after"`
}

// of is the price of plan p of m.
func (t *prices) of(m *manifest.Manifest, p *compactor.Plan) *priceOf {
	e := p.Estimate
	const gib = 1 << 30
	price := &priceOf{
		Prices:     t.Name,
		Requests:   e.Requests(),
		Gets:       e.Gets,
		Puts:       e.Puts,
		ReadBytes:  e.ReadBytes,
		WriteBytes: e.WriteBytes,
		Dollars: float64(e.Gets)/1000*t.PerThousandGets + float64(e.Puts)/1000*t.PerThousandPuts +
			float64(e.ReadBytes)/gib*t.PerGiBRead + float64(e.WriteBytes)/gib*t.PerGiBWritten,
		Before: compactor.FootprintOf(m),
		After:  compactor.FootprintAfter(m, p),
	}
	if r := t.Rates; r != nil {
		// As if one thing was done after the other.
		seconds := float64(e.Requests())/r.Requests + float64(e.ReadBytes)/r.BytesRead + float64(e.WriteBytes)/r.BytesWritten
		price.Seconds = &seconds
	}
	return price
}

func (p *priceOf) list(l *output.List) {
	l.Add("prices", p.Prices)
	l.Add("requests, at most", fmt.Sprintf("%s (%s to read, %s to write)", humanize.Comma(p.Requests), humanize.Comma(p.Gets), humanize.Comma(p.Puts)))
	l.Add("bytes read, at most", humanize.IBytes(uint64(p.ReadBytes)))
	l.Add("bytes written, at most", humanize.IBytes(uint64(p.WriteBytes)))
	l.Add("dollars, at most", fmt.Sprintf("%.6f", p.Dollars))
	if p.Seconds != nil {
		l.Add("seconds, about", fmt.Sprintf("%.1f", *p.Seconds))
	}
	for _, f := range []struct {
		name string
		compactor.Footprint
	}{{"before", p.Before}, {"after, if no row dies", p.After}} {
		l.Add(f.name, fmt.Sprintf("%d segments, %s, %.2f bytes for each live one",
			f.Segments, humanize.IBytes(uint64(f.Bytes)), f.Amplification))
	}
}
