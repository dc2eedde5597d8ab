//go:build linux && amd64

package holders

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/holders/musl"
)

// walkMusl finds the blocks of musl's malloc, if the process has some.
func (l *Look) walkMusl() {
	s := l.snapshot
	p := musl.ProcessOf(s.Memory, s.Mappings, l.process.Libc)
	for _, t := range s.Threads {
		p.ThreadPointers = append(p.ThreadPointers, t.TLS)
	}
	r, err := musl.Walk(p, l.set)
	l.Heap, l.musl = nil, err == nil
	l.own, l.problems = append(l.own, r.Own...), append(l.problems, r.Problems...)
	if r.Changing > 0 {
		l.problems = append(l.problems, fmt.Errorf("%d blocks of malloc were being changed", r.Changing))
	}
}
