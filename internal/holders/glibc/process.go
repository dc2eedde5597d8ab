//go:build linux

package glibc

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// ProcessOf sorts the mappings of a process. libc is the path of the C library.
func ProcessOf(memory blocks.Memory, mappings []target.Mapping, libc string) Process {
	p := Process{Memory: memory}
	for i, m := range mappings {
		r := blocks.Range{Start: m.Start, End: m.End}
		switch {
		case !strings.HasPrefix(m.Permissions, "rw") || !strings.HasSuffix(m.Permissions, "p"):
		case m.Path == "[heap]":
			if p.Heap.End != r.Start {
				p.Heap.Start = r.Start
			}
			p.Heap.End = r.End
		case m.Path == libc:
			p.Data = append(p.Data, r)
		case m.Path == "" || strings.HasPrefix(m.Path, "[anon"):
			if i > 0 && mappings[i-1].Path == libc && mappings[i-1].End == m.Start {
				p.Data = append(p.Data, r) // .bss
			}
			p.Anonymous = blocks.Join(p.Anonymous, r)
		}
	}
	return p
}
