//go:build linux

package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/agent"
	"golang.org/x/sys/unix"
)

// agentSetting configures it, see agent.c.
func agentSetting(o *Options, prefix string) Setting {
	part, children := 0, 0
	if o.Adaptive {
		part = DefaultPart
	}
	if o.FollowChildren {
		children = 1
	}
	return Setting{"HEAPLAPSE_RECORD", fmt.Sprintf("%d %d %d %07d %s", o.Every.Milliseconds(), part, children, 0, prefix)}
}

// agentPath is where the agent will be: beside the snapshots, unless nothing there can be loaded.
func agentPath(dir string) string {
	if loadable(dir) {
		return filepath.Join(dir, agent.Name)
	}
	base, err := os.UserCacheDir()
	if base = filepath.Join(base, "heaplapse", "agent"); err == nil && loadable(base) {
		return filepath.Join(base, agent.Name)
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("heaplapse-%d", os.Geteuid()), agent.Name)
}

// loadable says whether LD_PRELOAD can name a file of this directory, which need not exist yet.
func loadable(dir string) bool {
	if strings.ContainsAny(dir, " :") {
		return false
	}
	for ; ; dir = filepath.Dir(dir) {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			return st.Flags&unix.ST_NOEXEC == 0
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}

// ours refuses a directory of another user, who could put another library into its place.
func ours(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("%s is another user's: it is not a place to load a library from", dir)
	}
	return nil
}

// writeAgent puts it in place, whole or not at all: a running program may have the old one mapped.
func writeAgent(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := ours(filepath.Dir(path)); err != nil {
		return err
	}
	return writeWhole(path, 0o755, bytes.NewReader(content))
}
