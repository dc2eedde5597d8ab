//go:build linux && amd64

package rss

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// image is the memory of a program with two threads and some blocks, from testdata of package glibc.
type image struct {
	Data, Anonymous []blocks.Range
	Heap            blocks.Range
	Memory          blocktest.Memory
	Live            []blocktest.Entry
}

// TestImages adds up the memory of programs with different versions of glibc.
func TestImages(t *testing.T) {
	names, images := blocktest.Read[image](t, "../glibc/testdata/*.gz")
	require.GreaterOrEqual(t, len(names), 4)
	for i, m := range images {
		t.Run(filepath.Base(names[i]), func(t *testing.T) {
			heap, err := glibc.Walk(glibc.Process{
				Memory: m.Memory, Data: m.Data, Heap: m.Heap, Anonymous: m.Anonymous, Resident: m.Memory.Resident,
			})
			require.NoError(t, err)
			c := Copy{Memory: m.Memory, Heap: heap, Mappings: []target.Mapping{
				{Start: m.Heap.Start, End: m.Heap.End, Permissions: "rw-p", Path: "[heap]"},
			}}
			for _, r := range m.Anonymous {
				c.Mappings = append(c.Mappings, target.Mapping{Start: r.Start, End: r.End, Permissions: "rw-p"})
			}
			slices.SortFunc(c.Mappings, func(a, b target.Mapping) int { return cmp.Compare(a.Start, b.Start) })
			total := uint64(0)
			for _, r := range PrivateMemory(c.Mappings) {
				for _, part := range m.Memory.Resident(r) {
					c.Resident = ranges(c.Resident).add(part)
					total += part.Size()
				}
			}
			r := Of(&Kernel{PID: 1}, &c)
			assert.Empty(t, r.Problems)
			assert.Equal(t, int64(total), r.Bytes)
			assert.Len(t, r.Malloc.Arenas, 3)
			assert.Positive(t, r.Part(Cached))
			assert.GreaterOrEqual(t, r.Malloc.Blocks+r.Malloc.MappedBlocks, int64(len(m.Live)))
			t.Log(r.Parts)
			var inUse uint64
			for _, b := range m.Live {
				inUse += ranges(c.Resident).size(blocks.Range{Start: b.Address, End: b.Address + b.Size})
			}
			assert.GreaterOrEqual(t, r.Part(Blocks, Mapped), int64(inUse))
			assert.Less(t, float64(r.Part(Blocks, Mapped)), 1.2*float64(inUse)+100<<10)
		})
	}
}
