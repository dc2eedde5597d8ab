//go:build linux

package running

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/heaplapse/heaplapse/internal/record/written"
)

// Of returns the recording that is being made of a process, or false if there is none, or if that cannot be
// seen. The recorder holds the file of its events open.
func Of(pid int) (r Recording, ok bool) {
	recorders, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, dir := range recorders {
		entries, _ := os.ReadDir(dir) // those of others are empty
		for _, e := range entries {
			path, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err != nil {
				continue
			}
			image, named := written.ImageOf(filepath.Base(path), pid, written.EventsSuffix)
			if !named || ok && image <= r.Image || !isRecorder(dir) {
				continue
			}
			if _, err := os.Stat(path); err == nil { // the recorder may be in another root directory
				r, ok = Recording{filepath.Dir(path), image}, true
			}
		}
	}
	return r, ok
}

// isRecorder reports whether the descriptors in a directory are those of heaplapse.
func isRecorder(dir string) bool {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return err == nil && IsHeaplapse(pid)
}

// IsHeaplapse reports whether a process runs any build of this program.
func IsHeaplapse(pid int) bool {
	own, ok := debug.ReadBuildInfo()
	other, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
	return ok && err == nil && own.Main.Path != "" && own.Main.Path == other.Main.Path
}
