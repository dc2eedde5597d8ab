//go:build linux

package proc

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// Link returns the symbolic link by which a program was run, as redis-server is one to
// redis-check-rdb; empty if there is none. The name comes from the first argument, which programs
// may replace by a title such as "redis-server *:6379". It is used only if it is a link to the
// program, in one of the directories or beside the program.
func Link(i Info, directories []string) string {
	if len(i.Command) == 0 || i.Exe == "" {
		return ""
	}
	words := strings.Fields(i.Command[0])
	if len(words) == 0 {
		return ""
	}
	candidates := []string{words[0]}
	if name := filepath.Base(words[0]); name == words[0] {
		candidates = []string{filepath.Join(filepath.Dir(i.Exe), name)}
		for _, d := range directories {
			candidates = append(candidates, filepath.Join(d, name))
		}
	}
	for _, link := range candidates {
		target, err := filepath.EvalSymlinks(link)
		if err == nil && target == i.Exe && filepath.IsAbs(link) && filepath.Base(link) != filepath.Base(i.Exe) {
			return filepath.Clean(link)
		}
	}
	return ""
}

// ProgramName returns the base name of the program of a process: that of the symbolic link by which it was run, or else
// of its file; "" if the process has ended.
func ProgramName(pid int) string {
	info, ok := Read(pid)
	if !ok || info.Exe == "" {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(cmp.Or(Link(info, SearchPath()), info.Exe)), DeletedSuffix)
}

// SearchPath returns the absolute directories in which the shell of this process finds programs.
func SearchPath() (out []string) {
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(d) {
			out = append(out, d)
		}
	}
	return out
}
