//go:build linux && amd64

package holders

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
)

// stacks names the functions of stacks. Each stack is unwound once.
type stacks struct {
	*Look
	frames    map[int][]unwind.Frame // by thread
	functions map[[2]int]string      // by thread and index of the frame
}

// function returns the function whose frame has a word of a root or, if that has no name, one that called it. Of a
// register, it returns the function in which the thread is.
func (s *stacks) function(ctx context.Context, r roots.Root, address uint64) string {
	frames := s.of(r.Thread)
	from := 0
	if r.Phase == roots.Stack && r.Range.Size() > 0 {
		from = frameOf(frames, address)
	}
	return cmp.Or(s.from(ctx, r.Thread, from), s.from(ctx, r.Thread, 0))
}

// of returns the frames of a thread, innermost first.
func (s *stacks) of(thread int) []unwind.Frame {
	frames, ok := s.frames[thread]
	if !ok {
		frames = s.snapshot.Stack(thread, s.process.Modules)
		s.frames[thread] = frames
	}
	return frames
}

// from returns the first function with a name from a frame on.
func (s *stacks) from(ctx context.Context, thread, frame int) string {
	key := [2]int{thread, frame}
	name, ok := s.functions[key]
	if !ok {
		name = s.names.Function(ctx, s.frames[thread][frame:])
		s.functions[key] = name
	}
	return name
}

// frameOf returns the index of the frame that has an address: the last one that begins before it. What is below the
// stack pointer belongs to the innermost function.
func frameOf(frames []unwind.Frame, address uint64) int {
	bySP := func(f unwind.Frame, a uint64) int { return cmp.Compare(f.SP, a) }
	i, found := slices.BinarySearchFunc(frames, address, bySP)
	if !found {
		i--
	}
	return max(i, 0)
}
