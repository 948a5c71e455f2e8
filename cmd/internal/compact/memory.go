package compact

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

// leastMemory is what --max-memory must leave: the program by itself takes a
// good part of it.
const leastMemory = 32 << 20

func memoryFlag() cli.Flag {
	return stringFlag("max-memory", "keep the process within this (256MiB, 2GiB; default: the limit of AWS Lambda or of the control group)")
}

// memory is how much the process may take: what --max-memory says, or the limit
// that it runs under, or 0 if nobody says.
func memory(s *program.Session) (int64, error) {
	text := s.Flags.String("max-memory")
	if text == "" {
		return limit(os.DirFS("/"), os.Getenv), nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, program.Usagef("--max-memory: %q is not a size (want 256MiB, 2GiB or bytes)", text)
	}
	if n < leastMemory {
		return 0, program.Usagef("--max-memory %s is too little; give at least %s", text, humanize.IBytes(leastMemory))
	}
	return int64(n), nil
}

// keepWithin makes the garbage collector keep the process within so many bytes,
// as long as what is alive allows it. A tenth is left for what it does not
// count. Who has set GOMEMLIMIT knows better.
func keepWithin(memory int64) {
	if memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory - memory/10)
	}
}

// policyFor suits m's topic in so much memory, of which 0 is unknown.
func policyFor(memory int64, m *manifest.Manifest) compactor.Policy {
	if memory == 0 {
		return compactor.DefaultPolicy()
	}
	return compactor.PolicyFor(memory, len(m.Originals)+len(m.Compacted))
}

// warnOfSegments says so where a topic's segments are too large for the memory.
func warnOfSegments(s *program.Session, memory int64, m *manifest.Manifest) {
	if memory > 0 && memory/4 < m.Settings.SegmentBytes {
		s.Log.Warn("a run takes about four times segment_bytes, and may take more memory than it should",
			"topic", m.Name, "segment_bytes", humanize.IBytes(uint64(m.Settings.SegmentBytes)), "memory", humanize.IBytes(uint64(memory)))
	}
}

// limit is the least limit on memory that the process runs under: of AWS
// Lambda, or of its control group and those around it. It is 0 if there is
// none.
func limit(root fs.FS, getenv func(string) string) int64 {
	least := int64(math.MaxInt64)
	if mib, err := strconv.ParseInt(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 40); err == nil && mib > 0 {
		least = mib << 20
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err == nil {
		for line := range strings.Lines(string(groups)) {
			// number:controllers:path, and in version 2 there are none.
			parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(parts) != 3 {
				continue
			}
			folder, file := "sys/fs/cgroup", "memory.max"
			if parts[1] == "memory" {
				folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			} else if parts[1] != "" {
				continue
			}
			for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
				least = min(least, limitIn(root, path.Join(folder, group, file)))
				if group == "/" {
					break
				}
			}
		}
	}
	if least >= unlimited {
		return 0
	}
	return least
}

// unlimited is more than any machine has. Control groups of version 1 have a
// number like this where there is no limit.
const unlimited = 1 << 50

func limitIn(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64 // there is no such group from in here
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64 // "max"
	}
	return n
}
