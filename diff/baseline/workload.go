package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// commandPrefix begins a workload that is a hash of a command line.
const commandPrefix = "command "

// CommandWorkload returns the workload of a command line: a hash, or "" if it is empty. It leaves
// out directories, which may differ between releases.
func CommandWorkload(command []string) string {
	if len(command) == 0 {
		return ""
	}
	parts := make([]string, len(command))
	for i, arg := range command {
		parts[i] = withoutDirectory(arg)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return commandPrefix + hex.EncodeToString(sum[:6])
}

// withoutDirectory removes the directory of an argument, or of the value in --flag=VALUE. It
// returns a URL as it is.
func withoutDirectory(arg string) string {
	if strings.Contains(arg, "://") {
		return arg
	}
	if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		return flag + "=" + withoutDirectory(value)
	}
	if !strings.Contains(arg, "/") {
		return arg
	}
	return path.Base(arg)
}

// SameWorkload reports whether two runs did the same work, as far as that is known.
func (m *Meta) SameWorkload(o *Meta) bool {
	a, b := m.workload(), o.workload()
	return a == b || a == "" || b == ""
}

// workload returns the workload. It computes hashes anew, because earlier versions left out the
// directory of the program only.
func (m *Meta) workload() string {
	if m.isCommand() {
		return CommandWorkload(m.Command)
	}
	return m.Workload
}

// WorkloadName returns the workload for people: the command line instead of its hash.
func (m *Meta) WorkloadName() string {
	if m.isCommand() {
		return strings.Join(m.Command, " ")
	}
	return m.Workload
}

// isCommand reports whether the workload is the hash of the recorded command line.
func (m *Meta) isCommand() bool {
	return strings.HasPrefix(m.Workload, commandPrefix) && len(m.Command) > 0
}
