package memory

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Available returns the memory of the machine, or of the control group of the process if that is
// less, in bytes. It returns 0 if it is unknown.
func Available() int64 {
	total := physical()
	if group := groupLimit(os.DirFS("/")); group > 0 && (total == 0 || group < total) {
		return group
	}
	return total
}

// groupLimit returns the limit of the control group of the process, or 0 if there is none
// (cgroups(7)). root is the root of the file system.
func groupLimit(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		// 0::/user.slice/… in version 2, 4:memory:/docker/… in version 1
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			limit = min(limit, lowest(root, "sys/fs/cgroup", fields[2], "memory.max"))
		case fields[1] == "memory":
			limit = min(limit, lowest(root, "sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes"))
		}
	}
	if limit > 1<<60 { // version 1 has a large number for none
		return 0
	}
	return limit
}

// lowest returns the lowest limit of a group and those that contain it. In a container, the paths
// of the groups of the host may not exist.
func lowest(root fs.FS, mount, group, file string) int64 {
	limit := int64(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		if text, err := fs.ReadFile(root, path.Join(mount, dir, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // else: max
				limit = min(limit, n)
			}
		}
		if dir == "/" {
			return limit
		}
	}
}
