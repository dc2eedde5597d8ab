package glibc

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

var update = flag.Bool("update", false, "write the images of testdata")

// image is memory in parts, by address.
type image []part

type part struct {
	Start uint64
	Data  []byte
}

func (m image) Read(address uint64, b []byte) error {
	for len(b) > 0 {
		i := sort.Search(len(m), func(i int) bool { return m[i].Start+uint64(len(m[i].Data)) > address })
		if i == len(m) || m[i].Start > address {
			return errors.New("no memory there")
		}
		n := copy(b, m[i].Data[address-m[i].Start:])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}

// recording is what an image file has: the memory of testdata/blocks.c, and the truth about it.
type recording struct {
	Data, Anonymous []blocks.Range
	Heap            blocks.Range
	Memory          image
	Live, Freed     []entry
}

// add adds memory.
func (r *recording) add(t *testing.T, m blocks.Memory, part blocks.Range) {
	t.Helper()
	b := make([]byte, part.Size())
	require.NoError(t, m.Read(part.Start, b))
	r.Memory = append(r.Memory, struct {
		Start uint64
		Data  []byte
	}{part.Start, b})
}

func (r *recording) write(t *testing.T, path string) {
	t.Helper()
	slices.SortFunc(r.Memory, func(a, b part) int { return cmp.Compare(a.Start, b.Start) })
	r.Memory = slices.CompactFunc(r.Memory, func(a, b part) bool { return a.Start == b.Start })
	for _, list := range [][]entry{r.Live, r.Freed} {
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.Address, b.Address) })
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	require.NoError(t, gob.NewEncoder(z).Encode(r))
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// images reads all images of testdata.
func images(t testing.TB) (names []string, list []recording) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.gz")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 4)
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		var r recording
		require.NoError(t, gob.NewDecoder(z).Decode(&r))
		list = append(list, r)
	}
	return names, list
}

func (r *recording) process() Process {
	return Process{Memory: r.Memory, Data: r.Data, Heap: r.Heap, Anonymous: r.Anonymous, Resident: r.resident}
}

func (r *recording) resident(within blocks.Range) (list []blocks.Range) {
	for _, p := range r.Memory {
		b := blocks.Range{Start: max(within.Start, p.Start), End: min(within.End, p.Start+uint64(len(p.Data)))}
		if b.Start < b.End {
			list = append(list, b)
		}
	}
	return list
}

// entry is a block that the program says it has, or had if its size is 0.
type entry struct{ Address, Size uint64 }

// check compares a heap with the truth, and returns how many blocks differ.
func check(h *Heap, live, freed []entry) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[uint64]bool{}
	for _, e := range live {
		known[e.Address] = true
		b, ok := h.Blocks.Find(e.Address)
		// posix_memalign returns an address within a block that has a mapping of its own.
		large := ok && h.Blocks.Region(e.Address).Len() == 1
		if !ok || b.Free || b.End < e.Address+e.Size || b.Start != e.Address && !large {
			report("%#x of %d bytes is in use: %+v", e.Address, e.Size, b)
		}
		known[b.Start] = true
	}
	for _, e := range freed { // it may lie in a new block that is larger, or is the cache of a thread
		if b, ok := h.Blocks.Find(e.Address); ok && !known[b.Start] && !b.Free && !h.isCacheBlock(b) {
			report("%#x was freed: %+v", e.Address, b)
		}
	}
	others := 0
	for _, r := range h.Blocks.Regions() {
		for b := range r.All() {
			if !b.Free && !known[b.Start] {
				others++
			}
		}
	}
	if others > maxOthers {
		report("%d blocks in use that the program does not know", others)
	}
	return wrong
}

func (h *Heap) isCacheBlock(b blocks.Block) bool {
	for _, c := range caches {
		if b.Size() == c.chunk() || b.Size() == c.chunk()+16 {
			return true
		}
	}
	return false
}

// maxOthers is more than the number of blocks that the C library has for itself.
const maxOthers = 60

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

// TestCorrupt changes a word of an image. The walk must say that something does not fit.
func TestCorrupt(t *testing.T) {
	_, list := images(t)
	for i := range list {
		r := &list[i]
		h, err := Walk(r.process())
		require.NoError(t, err)
		for _, region := range h.Blocks.Regions() {
			n := 0
			for b := range region.All() {
				if n++; n%29 != 0 || b.End == region.End {
					continue
				}
				for _, size := range []uint64{0, 0x18, 0x21 << 40, ^uint64(0)} {
					undo := r.put(t, b.Start-8, size)
					broken, err := Walk(r.process())
					require.NoError(t, err)
					assert.NotEmpty(t, broken.Problems, "%#x: size %#x", b.Start, size)
					undo()
				}
			}
		}
	}
}

// put changes a word, and returns a function that undoes it.
func (r *recording) put(t *testing.T, address, v uint64) (undo func()) {
	t.Helper()
	for _, p := range r.Memory {
		if address >= p.Start && address-p.Start+8 <= uint64(len(p.Data)) {
			b := p.Data[address-p.Start:]
			before := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, v)
			return func() { binary.LittleEndian.PutUint64(b, before) }
		}
	}
	t.Fatalf("no memory at %#x", address)
	return nil
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
		r.Memory = slices.Clone(r.Memory)
		for i := range r.Memory {
			r.Memory[i].Data = slices.Clone(r.Memory[i].Data)
		}
		for ; len(changes) >= 12; changes = changes[12:] {
			r.change(binary.LittleEndian.Uint32(changes), binary.LittleEndian.Uint64(changes[4:]))
		}
		h, err := Walk(r.process())
		if err != nil {
			require.Nil(t, h)
			return
		}
		last := uint64(0)
		for _, region := range h.Blocks.Regions() {
			n := 0
			for b := range region.All() {
				require.True(t, b.Start >= last && b.End > b.Start && region.Contains(b.Start) && b.End <= region.End)
				last = b.End
				n++
			}
			require.Equal(t, region.Len(), n)
		}
	})
}

// change changes word n of the image to an address, to a sum of itself and a small number, or to any value.
func (r *recording) change(n uint32, v uint64) {
	p := r.Memory[int(n>>20)%len(r.Memory)]
	at := int(n&0xfffff) % (len(p.Data) / 8) * 8
	word := p.Data[at:]
	switch v % 3 {
	case 0:
		v = p.Start + v>>8%uint64(len(p.Data))
	case 1:
		v = binary.LittleEndian.Uint64(word) + uint64(int8(v>>8))
	}
	binary.LittleEndian.PutUint64(word, v)
}

// TestNoArena has no C library.
func TestNoArena(t *testing.T) {
	_, err := Walk(Process{Memory: image{}})
	require.ErrorIs(t, err, ErrNoArena)
	var b [1 << 16]byte
	p := Process{Memory: image{{0x1000, b[:]}}, Data: []blocks.Range{{Start: 0x1000, End: 0x11000}}}
	_, err = Walk(p)
	require.ErrorIs(t, err, ErrNoArena)
}
