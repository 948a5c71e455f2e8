package compact

import (
	"testing"
	"testing/fstest"
)

func TestTheLeastLimitCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		lambda string
		want   int64
	}{
		{"nothing is known", nil, "", 0},
		{"lambda", nil, "128", 128 << 20},
		{"version 2, in a container", map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, "", 512 << 20},
		{"version 2, without a limit", map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n",
		}, "", 0},
		{"version 2, the group around it has less", map[string]string{
			"proc/self/cgroup":                                "0::/system.slice/a.service\n",
			"sys/fs/cgroup/system.slice/memory.max":           "1000000",
			"sys/fs/cgroup/system.slice/a.service/memory.max": "2000000",
		}, "", 1000000},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:devices:/\n4:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/devices/memory.limit_in_bytes":  "1\n",
		}, "", 3000000},
		{"version 1, without a limit", map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, "", 0},
		{"both", map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "1000000000",
		}, "256", 256 << 20},
		{"nonsense", map[string]string{
			"proc/self/cgroup":         "0::/../..\n::\nx\n",
			"sys/fs/cgroup/memory.max": "a lot",
		}, "much", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := limit(root, func(string) string { return c.lambda }); got != c.want {
				t.Errorf("limit %d, want %d", got, c.want)
			}
		})
	}
}
