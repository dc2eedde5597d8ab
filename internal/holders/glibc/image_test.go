package glibc

import (
	"bytes"
	"encoding/binary"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
)

var update = flag.Bool("update", false, "write the images of testdata")

// recording is what an image file has: the memory of testdata/blocks.c, and the truth about it.
type recording struct {
	Data, Anonymous []blocks.Range
	Heap            blocks.Range
	Memory          blocktest.Memory
	Live, Freed     []blocktest.Entry
}

// images reads all images of testdata.
func images(t testing.TB) (names []string, list []recording) {
	t.Helper()
	names, list = blocktest.Read[recording](t, "testdata/*.gz")
	require.GreaterOrEqual(t, len(names), 4)
	return names, list
}

func (r *recording) process() Process {
	return Process{Memory: r.Memory, Data: r.Data, Heap: r.Heap, Anonymous: r.Anonymous, Resident: r.Memory.Resident}
}

// check returns where a heap differs from what the program says.
func check(h *Heap, live, freed []blocktest.Entry) (wrong []string) {
	law := blocktest.Law{Own: h.isCacheBlock, Others: 60, Fits: func(e blocktest.Entry, b blocks.Block) bool {
		return b.Start == e.Address && b.End >= e.Address+e.Size
	}}
	return law.Differences(&h.Blocks, live, freed)
}

func (h *Heap) isCacheBlock(b blocks.Block) bool {
	for _, c := range caches {
		if b.Size() == c.chunk() || b.Size() == c.chunk()+16 {
			return true
		}
	}
	return false
}

// TestWalkImages finds the blocks in images of several versions of glibc.
func TestWalkImages(t *testing.T) {
	names, list := images(t)
	for i, r := range list {
		h, err := Walk(r.process())
		require.NoError(t, err, names[i])
		assert.Empty(t, h.Problems, names[i])
		assert.Empty(t, check(h, r.Live, r.Freed), names[i])
		assert.Equal(t, 2, h.Caches, names[i])
		assert.NotEmpty(t, r.Freed, names[i])
	}
}

// eachHeap calls a function for each heap and each mapped block of the images.
func eachHeap(t *testing.T, f func(r *recording, region *blocks.Region)) {
	t.Helper()
	_, list := images(t)
	for i := range list {
		h, err := Walk(list[i].process())
		require.NoError(t, err)
		for _, region := range h.Blocks.Regions() {
			f(&list[i], region)
		}
	}
}

// TestCorrupt changes a word of an image. The walk must say that something does not fit.
func TestCorrupt(t *testing.T) {
	eachHeap(t, func(r *recording, region *blocks.Region) {
		n := 0
		for b := range region.All() {
			if n++; n%29 != 0 || b.End == region.End {
				continue
			}
			for _, size := range []uint64{0, 0x18, 0x21 << 40, ^uint64(0)} {
				undo := r.Memory.Put(t, b.Start-8, size)
				broken, err := Walk(r.process())
				require.NoError(t, err)
				assert.NotEmpty(t, broken.Problems, "%#x: size %#x", b.Start, size)
				undo()
			}
		}
	})
}

// TestSizeOfTop: a process may be stopped before malloc has written the size of the last chunk. Then the block before
// that is not in use yet. It may also be stopped when the heap is smaller already than the last chunk.
func TestSizeOfTop(t *testing.T) {
	eachHeap(t, func(r *recording, region *blocks.Region) {
		top, before := lastBlocks(region)
		if !top.Free {
			return // a mapping of its own
		}
		undo := r.Memory.Put(t, top.Start-8, 1<<40|inUse)
		smaller, err := Walk(r.process())
		require.NoError(t, err)
		assert.Empty(t, smaller.Problems)
		assert.Empty(t, check(smaller, r.Live, r.Freed))
		undo()

		undo = r.Memory.Put(t, top.Start-8, 0)
		unwritten, err := Walk(r.process())
		require.NoError(t, err)
		assert.Empty(t, unwritten.Problems)
		b, ok := unwritten.Blocks.Find(before.Start)
		assert.True(t, ok && b.Free && b.Range == before.Range)
		undo()
	})
}

// lastBlocks returns the last block of a region, and the one before.
func lastBlocks(region *blocks.Region) (last, before blocks.Block) {
	for b := range region.All() {
		last, before = b, last
	}
	return last, before
}

// FuzzWalk changes words of an image: each 12 bytes say which one, and what it becomes. Any memory gives blocks
// that lie one behind the other in the memory, or an error.
func FuzzWalk(f *testing.F) {
	_, list := images(f)
	f.Add(uint8(0), []byte("\x00\x00\x01\x00\x21\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint8(1), bytes.Repeat([]byte{0x10, 0x02, 0x00, 0x00, 0xff}, 24))
	f.Add(uint8(3), bytes.Repeat([]byte{0}, 36))
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		r := list[int(which)%len(list)]
		r.Memory = r.Memory.Clone()
		for ; len(changes) >= 12; changes = changes[12:] {
			r.Memory.Change(binary.LittleEndian.Uint32(changes), binary.LittleEndian.Uint64(changes[4:]), nil)
		}
		h, err := Walk(r.process())
		if err != nil {
			require.Nil(t, h)
			return
		}
		blocktest.CheckOrder(t, &h.Blocks)
	})
}

// TestNoArena has no C library.
func TestNoArena(t *testing.T) {
	_, err := Walk(Process{Memory: blocktest.Memory{}})
	require.ErrorIs(t, err, ErrNoArena)
	var b [1 << 16]byte
	r := blocks.Range{Start: 0x1000, End: 0x11000}
	p := Process{Memory: blocktest.Memory{{Start: r.Start, Data: b[:]}}, Data: []blocks.Range{r}}
	_, err = Walk(p)
	require.ErrorIs(t, err, ErrNoArena)
}
