//go:build linux && amd64

package holders

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
)

const (
	// maxStacks limits the threads whose local variables are looked at, and maxLocals these variables.
	maxStacks = 1 << 9
	maxLocals = 1 << 13
)

// findLocals finds the local variables of the functions that threads run.
func (l *Look) findLocals(ctx context.Context) (list []roots.LocalMemory) {
	for thread := range min(len(l.snapshot.Threads), maxStacks) {
		frames := l.stacks.of(thread)
		locals := l.names.Locals(ctx, frames)
		locals = locals[:min(len(locals), maxLocals-len(l.locals))]
		l.locals = append(l.locals, locals...)
		main := -1 // the outermost function with variables
		if l.snapshot.Threads[thread].ID == l.snapshot.PID {
			for _, v := range locals {
				main = max(main, v.Frame)
			}
		}
		for _, v := range locals {
			list = append(list, roots.LocalMemory{
				Range: v.Range, Thread: thread, Depth: len(frames) - v.Frame, Main: v.Frame == main,
			})
		}
	}
	slices.SortFunc(l.locals, func(a, b names.Local) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// localAt returns the local variable at an address.
func (l *Look) localAt(address uint64) names.Local {
	i, found := slices.BinarySearchFunc(l.locals, address, func(v names.Local, a uint64) int {
		return cmp.Compare(v.Start, a)
	})
	if !found {
		i--
	}
	return l.locals[i]
}
