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

// agentSetting returns the variable that configures the agent. agent.c describes its format.
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

// agentPath returns the path to which the agent is written: in the directory of the snapshots if
// LD_PRELOAD can load a library from there, otherwise in the user's cache directory or in a
// temporary directory.
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

// loadable reports whether LD_PRELOAD can load a library from a directory, which need not exist
// yet.
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

// checkOwner returns an error if the directory belongs to another user, who could replace the
// library.
func checkOwner(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("%s belongs to another user: loading a library from it is not safe", dir)
	}
	return nil
}

// writeAgent writes the agent atomically, because a running program may have an older copy mapped.
func writeAgent(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := checkOwner(filepath.Dir(path)); err != nil {
		return err
	}
	return writeAtomic(path, 0o755, bytes.NewReader(content))
}
