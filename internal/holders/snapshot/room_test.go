//go:build linux

package snapshot

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestRoom(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal:        4000000 kB\nMemAvailable:    1000000 kB\n")
	const machine = 1000000 << 10
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"nothing is known": {fstest.MapFS{}, math.MaxInt64},
		"no control group": {fstest.MapFS{"proc/meminfo": meminfo}, machine},
		"group without limit": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/7/cgroup": file("0::/a\n"),
			"sys/fs/cgroup/a/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.current": file("5\n"),
		}, machine},
		"version 2, the group around it is smaller": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/7/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("9000\n"), "sys/fs/cgroup/a/b/memory.current": file("1000\n"),
			"sys/fs/cgroup/a/memory.max": file("6000\n"), "sys/fs/cgroup/a/memory.current": file("4000\n"),
			"sys/fs/cgroup/a/memory.stat": file("anon 12\ninactive_file 500\nactive_file 9\n"),
		}, 2500},
		"version 1, paths of the host": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/7/cgroup": file("3:cpu:/x\n4:memory:/docker/1234\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("8000\n"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes": file("9000\n"),
			"sys/fs/cgroup/memory/memory.stat":           file("inactive_file 1\ntotal_inactive_file 100\n"),
		}, -900},
	} {
		assert.Equal(t, c.want, room(c.files, 7), name)
	}
}

func TestCheckRoom(t *testing.T) {
	fs := fstest.MapFS{
		"proc/7/status": {Data: []byte("Name:\tx\nRssAnon:\t  800000 kB\nVmPTE:\t  2000 kB\n")},
		"proc/meminfo":  {Data: []byte("MemAvailable:  50000 kB\n")},
	}
	assert.EqualError(t, checkRoom(fs, 7),
		"a copy of process 7 may need 99.6 MiB, its control group or the machine has 48.8 MiB")
	fs["proc/meminfo"].Data = []byte("MemAvailable:  101999 kB\n")
	assert.Error(t, checkRoom(fs, 7))
	fs["proc/meminfo"].Data = []byte("MemAvailable:  102000 kB\n")
	assert.NoError(t, checkRoom(fs, 7))
	fs["proc/7/status"].Data = append(fs["proc/7/status"].Data, "VmSwap:\t  80000 kB\n"...)
	assert.EqualError(t, checkRoom(fs, 7),
		"a copy of process 7 may need 188 MiB, its control group or the machine has 99.6 MiB", "reading brings it back")
}
