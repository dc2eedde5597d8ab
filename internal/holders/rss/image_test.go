//go:build linux && amd64

package rss

import (
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// image is the memory of a program with two threads and some blocks, from testdata of package glibc.
type image struct {
	Data, Anonymous []blocks.Range
	Heap            blocks.Range
	Memory          []struct {
		Start uint64
		Data  []byte
	}
	Live []struct{ Address, Size uint64 }
}

func (m *image) Read(address uint64, b []byte) error {
	for len(b) > 0 {
		i := sort.Search(len(m.Memory), func(i int) bool { return m.Memory[i].Start+uint64(len(m.Memory[i].Data)) > address })
		if i == len(m.Memory) || m.Memory[i].Start > address {
			return os.ErrNotExist
		}
		n := copy(b, m.Memory[i].Data[address-m.Memory[i].Start:])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}

func (m *image) resident(within blocks.Range) []blocks.Range {
	var all, list ranges
	for _, p := range m.Memory {
		all = all.add(blocks.Range{Start: p.Start, End: p.Start + uint64(len(p.Data))})
	}
	for r := range all.within(within) {
		list = list.add(r)
	}
	return list
}

// TestImages adds up the memory of programs with different versions of glibc.
func TestImages(t *testing.T) {
	names, err := filepath.Glob("../glibc/testdata/*.gz")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 4)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			require.NoError(t, err)
			defer f.Close()
			z, err := gzip.NewReader(f)
			require.NoError(t, err)
			var m image
			require.NoError(t, gob.NewDecoder(z).Decode(&m))
			heap, err := glibc.Walk(glibc.Process{
				Memory: &m, Data: m.Data, Heap: m.Heap, Anonymous: m.Anonymous, Resident: m.resident,
			})
			require.NoError(t, err)
			c := Copy{Memory: &m, Heap: heap, Mappings: []target.Mapping{
				{Start: m.Heap.Start, End: m.Heap.End, Permissions: "rw-p", Path: "[heap]"},
			}}
			for _, r := range m.Anonymous {
				c.Mappings = append(c.Mappings, target.Mapping{Start: r.Start, End: r.End, Permissions: "rw-p"})
			}
			slices.SortFunc(c.Mappings, func(a, b target.Mapping) int { return cmp.Compare(a.Start, b.Start) })
			total := uint64(0)
			for _, r := range PrivateMemory(c.Mappings) {
				for _, part := range m.resident(r) {
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
