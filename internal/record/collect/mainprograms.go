//go:build linux

package collect

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// Includes reports whether a descendant of the process root is recorded. Both run.
func (s Scope) Includes(root, pid int) bool {
	mains := mainPrograms(root)
	if s == All || slices.Contains(mains, pid) {
		return true
	}
	return s == Workers && slices.ContainsFunc(mains, func(main int) bool { return proc.SameProgram(pid, main) })
}

// mainPrograms returns the processes that run main programs: root or, if root is a wrapper, those
// of its descendants whose ancestors up to it are all wrappers.
func mainPrograms(root int) (pids []int) {
	info, ok := proc.Read(root)
	if !ok || !program.IsWrapper(info.Exe) {
		return []int{root}
	}
	for _, child := range proc.Children(root) {
		pids = append(pids, mainPrograms(child)...)
	}
	return pids
}
