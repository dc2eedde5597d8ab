//go:build linux

package snapshot

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/units"
)

// status has what /proc/PID/status tells about the memory of a process, in bytes.
type status struct{ anonymous, swapped, pageTables int64 }

func readStatus(root fs.FS, pid int) (s status) {
	text, _ := fs.ReadFile(root, fmt.Sprintf("proc/%d/status", pid))
	return status{kilobytes(text, "RssAnon:"), kilobytes(text, "VmSwap:"), kilobytes(text, "VmPTE:")}
}

// reserve returns the memory that must be free for a snapshot. The fork copies the page tables, and
// reading the copy brings back what is in swap. The process pays for a page when it first writes to it;
// within the time of a look that is a part of its memory.
func (s status) reserve() int64 {
	const least, part = 32 << 20, 8
	return s.pageTables + s.swapped + max(least, (s.anonymous+s.swapped)/part)
}

// room returns how much memory a process can still take: that of the machine, or of the control groups
// that contain the process. root is the root of the file system.
func room(root fs.FS, pid int) int64 {
	free := int64(math.MaxInt64)
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		if n := kilobytes(text, "MemAvailable:"); n > 0 {
			free = n
		}
	}
	text, err := fs.ReadFile(root, fmt.Sprintf("proc/%d/cgroup", pid))
	if err != nil {
		return free
	}
	for line := range strings.Lines(string(text)) {
		// 0::/user.slice/… in version 2, 4:memory:/docker/… in version 1
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			free = min(free, version2.room(root, fields[2]))
		case fields[1] == "memory":
			free = min(free, version1.room(root, fields[2]))
		}
	}
	return free
}

// groups is where a version of control groups has its files (cgroups(7)).
type groups struct{ mount, limit, usage, inactive string }

var (
	version1 = groups{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	version2 = groups{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// room returns the least room of a group and those that contain it. In a container, the paths of the
// groups of the host may not exist.
func (g groups) room(root fs.FS, group string) int64 {
	free := int64(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		limit, ok := readNumber(root, path.Join(g.mount, dir, g.limit))
		used, known := readNumber(root, path.Join(g.mount, dir, g.usage))
		if ok && known {
			free = min(free, limit-used+g.reclaimable(root, dir))
		}
		if dir == "/" {
			return free
		}
	}
}

// reclaimable returns the part of the cache of files that the kernel drops first.
func (g groups) reclaimable(root fs.FS, dir string) int64 {
	text, _ := fs.ReadFile(root, path.Join(g.mount, dir, "memory.stat"))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, g.inactive+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// readNumber returns the number in a file, or ok false if there is none ("max").
func readNumber(root fs.FS, name string) (n int64, ok bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// kilobytes returns the value of a line like "VmPTE:	     120 kB" in bytes, or 0.
func kilobytes(text []byte, field string) int64 {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// checkRoom refuses a process for whose snapshot there may be too little memory.
func checkRoom(root fs.FS, pid int) error {
	need, free := readStatus(root, pid).reserve(), room(root, pid)
	if free >= need {
		return nil
	}
	return &Refusal{Reason: fmt.Sprintf("a copy of process %d may need %s, its control group or the machine has %s",
		pid, units.Bytes(need), units.Bytes(max(free, 0)))}
}
