package program

import (
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
)

// Unit is what a bar counts.
type Unit int

// The units.
const (
	Steps Unit = iota
	Bytes
)

// Bar shows on a terminal how far something is. The nil Bar, which is what
// everything but a terminal gets, shows nothing.
type Bar struct {
	console  *console
	progress *mpb.Progress
	bar      *mpb.Bar
}

// NewBar begins a bar of total steps or bytes; 0 if that is not known. It has
// to be closed.
func (s *Session) NewBar(name string, total int64, unit Unit) *Bar {
	if !s.Progress {
		return nil
	}
	counter := decor.CountersNoUnit("%d / %d")
	if unit == Bytes {
		counter = decor.CountersKibiByte("% .1f / % .1f")
	}
	p := mpb.New(mpb.WithOutput(s.console.w), mpb.WithWidth(40), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	s.console.share(p)
	return &Bar{s.console, p, p.New(total, mpb.BarStyle(),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(output.Escape(name), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(counter, decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO)))}
}

// Add counts n more. More than the total is no harm.
func (b *Bar) Add(n int64) {
	if b != nil {
		b.bar.IncrInt64(n)
	}
}

// Close takes the bar off the terminal.
func (b *Bar) Close() {
	if b == nil {
		return
	}
	b.bar.SetTotal(-1, true)
	b.console.share(nil)
	b.progress.Wait()
}

// console is standard error, which log lines and a bar share: while there is a
// bar, lines go above it.
type console struct {
	w io.Writer

	mu       sync.Mutex
	progress *mpb.Progress // or nil
}

func (c *console) share(p *mpb.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = p
}

// Write writes one line or more.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress != nil {
		return c.progress.Write(p)
	}
	return c.w.Write(p)
}
