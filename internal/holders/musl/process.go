//go:build linux

package musl

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// ProcessOf sorts the mappings of a process. libc is the C library.
func ProcessOf(memory blocks.Memory, mappings []target.Mapping, libc *target.Module) Process {
	p := Process{Memory: memory}
	for _, r := range libc.Writable {
		p.Data = append(p.Data, blocks.Range(r))
	}
	for _, m := range mappings {
		if strings.HasPrefix(m.Permissions, "rw") && strings.HasSuffix(m.Permissions, "p") {
			p.Writable = blocks.Join(p.Writable, blocks.Range{Start: m.Start, End: m.End})
		}
	}
	return p
}
