//go:build linux

package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// SameProgram reports whether two processes run the same file or, if it was replaced, a file of the
// same path.
func SameProgram(a, b int) bool {
	x, y := exe(a), exe(b)
	if path := pathOf(x); path != "" && path == pathOf(y) {
		return true
	}
	of, err := os.Stat(x)
	if err != nil {
		return false
	}
	other, err := os.Stat(y)
	return err == nil && os.SameFile(of, other)
}

// OtherRoot reports whether the root directory of a process is not that of this process, as in a
// container.
func OtherRoot(pid int) bool {
	own, err := os.Stat("/")
	if err != nil {
		return false
	}
	other, err := os.Stat(fmt.Sprintf("/proc/%d/root", pid))
	return err == nil && !os.SameFile(own, other)
}

func exe(pid int) string { return fmt.Sprintf("/proc/%d/exe", pid) }

// pathOf returns the path of a program as it was when the process started it, or "".
func pathOf(exe string) string {
	path, _ := os.Readlink(exe)
	return strings.TrimSuffix(path, DeletedSuffix)
}

// Maps reports whether a process maps a file with the name of a path. It is true if that is not
// known.
func Maps(pid int, path string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err != nil || bytes.Contains(data, []byte("/"+filepath.Base(path)))
}
