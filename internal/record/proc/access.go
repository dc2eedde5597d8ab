//go:build linux

package proc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// owner is what the kernel compares with the permissions of a file.
type owner struct {
	user   int
	groups []int
	all    bool // permissions do not apply
}

// capDACOverride is CAP_DAC_OVERRIDE of capability.h.
const capDACOverride = 1

// Permissions of a directory.
const (
	search = 1
	write  = 2
)

// CanWrite reports whether a process can create files in a directory, by the permissions of it and of
// those above. It returns true if it does not know. Access control lists are not considered.
func CanWrite(pid int, dir string) bool { return may(pid, dir, search|write) }

// CanReach reports whether a process can open the files in a directory, as CanWrite does.
func CanReach(pid int, dir string) bool { return may(pid, dir, search) }

func may(pid int, dir string, need uint32) bool {
	o, ok := ownerOf(pid)
	if !ok || o.all {
		return true
	}
	root := fmt.Sprintf("/proc/%d/root", pid)
	for path := dir; ; need, path = search, filepath.Dir(path) {
		var st unix.Stat_t
		if err := unix.Stat(root+path, &st); err != nil {
			// It is outside of the root directory of the process. A zombie has none.
			return err != unix.ENOENT || !Alive(pid)
		}
		if !o.permitted(&st, need) {
			return false
		}
		if path == "/" || path == "." {
			return true
		}
	}
}

func (o *owner) permitted(st *unix.Stat_t, need uint32) bool {
	bits := st.Mode
	switch {
	case int(st.Uid) == o.user:
		bits >>= 6
	case slices.Contains(o.groups, int(st.Gid)):
		bits >>= 3
	}
	return bits&need == need
}

// ownerOf returns the user, the groups and the capability of a process as its file operations use
// them.
func ownerOf(pid int) (o owner, ok bool) {
	ids := func(name string) (out []int) {
		for _, word := range strings.Fields(statusField(pid, name)) {
			if n, err := strconv.Atoi(word); err == nil {
				out = append(out, n)
			}
		}
		return out
	}
	users, groups := ids("Uid"), ids("Gid") // real, effective, saved, of files
	caps, err := strconv.ParseUint(statusField(pid, "CapEff"), 16, 64)
	if len(users) != 4 || len(groups) != 4 || err != nil {
		return owner{}, false
	}
	return owner{users[3], append(ids("Groups"), groups[3]), caps&(1<<capDACOverride) != 0}, true
}

// Descendants returns the processes below a process, as far as their parents live.
func Descendants(pid int) (out []int) {
	for next := Children(pid); len(next) > 0; {
		out = append(out, next...)
		var below []int
		for _, child := range next {
			below = append(below, Children(child)...)
		}
		next = below
	}
	return out
}
