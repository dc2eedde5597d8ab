package jemalloc

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
)

// recording is what an image file has: the memory of testdata/blocks.c that Walk reads, and the truth about it.
type recording struct {
	Data, Anonymous []blocks.Range
	Threads         []Thread
	Memory          blocktest.Memory
	Live, Freed     []blocktest.Entry
}

// recorder notes which pages are read.
type recorder struct {
	blocks.Memory
	pages map[uint64][]byte
}

func (r recorder) Read(address uint64, b []byte) error {
	err := r.Memory.Read(address, b)
	for page := address &^ (pageSize - 1); err == nil && page < address+uint64(len(b)); page += pageSize {
		if r.pages[page] == nil {
			r.pages[page] = make([]byte, pageSize)
			if r.Memory.Read(page, r.pages[page]) != nil {
				delete(r.pages, page)
			}
		}
	}
	return err
}

// image returns the pages that were read.
func (r recorder) image() (m blocktest.Memory) {
	for _, page := range slices.Sorted(maps.Keys(r.pages)) {
		if n := len(m); n > 0 && m[n-1].Start+uint64(len(m[n-1].Data)) == page {
			m[n-1].Data = append(m[n-1].Data, r.pages[page]...)
		} else {
			m = append(m, blocktest.Part{Start: page, Data: r.pages[page]})
		}
	}
	return m
}

// images reads all images of testdata.
func images(t testing.TB) (names []string, list []recording) {
	t.Helper()
	names, list = blocktest.Read[recording](t, "testdata/*.gz")
	require.GreaterOrEqual(t, len(names), 3)
	return names, list
}

func (r *recording) process() Process {
	return Process{
		Memory: r.Memory, Data: r.Data, Anonymous: r.Anonymous, Resident: r.Memory.Resident, Threads: r.Threads,
	}
}

// clone returns a recording whose memory can be changed.
func (r *recording) clone() recording {
	c := *r
	c.Memory = r.Memory.Clone()
	return c
}

// change changes a word that is not 0.
func (r *recording) change(n uint32, v uint64) {
	r.Memory.Change(n, v, func(word uint64) bool { return word == 0 })
}

// add adds to the word at an address.
func (r *recording) add(t *testing.T, address, v uint64) (undo func()) {
	t.Helper()
	return r.Memory.Put(t, address, r.Memory.Word(t, address)+v)
}

var law = blocktest.Law{Others: 60, Fits: func(e blocktest.Entry, b blocks.Block) bool {
	size := (e.Size + 15) &^ 15
	// Version 5.3.1 does not tell which of two sizes a large block has.
	return b.Start == e.Address&^15 && b.Size() >= size && (b.Size() < size+size/4 || size == b.Size())
}}

// TestWalkImages finds the blocks in images of several versions.
func TestWalkImages(t *testing.T) {
	names, list := images(t)
	for i, r := range list {
		var set blocks.Set
		got, err := Walk(r.process(), &set)
		require.NoError(t, err, names[i])
		assert.Empty(t, got.Problems, names[i])
		assert.Empty(t, law.Differences(&set, r.Live, r.Freed), names[i])
		assert.Equal(t, 4, got.Caches, names[i])
		assert.Greater(t, got.Cached, 500, names[i])
		assert.NotEmpty(t, r.Freed, names[i])
		lookups := 0
		for _, x := range got.Own {
			if x.Size() < hugePage {
				lookups++
				assert.Zero(t, word(t, r.process(), x.Start)%(1<<30), "a leaf is for 1 GiB")
			} else {
				assert.Zero(t, x.Start%hugePage)
			}
			assert.Equal(t, []blocks.Range{x}, set.Gaps(x), "no block is in the allocator's own memory")
		}
		assert.NotZero(t, lookups, "threads remember where they have found extents")
	}
}

// TestCorrupt changes a word of an extent. The walk must say that something does not fit.
func TestCorrupt(t *testing.T) {
	names, list := images(t)
	for i := range list {
		r := list[i].clone()
		w, err := read(r.process())
		require.NoError(t, err)
		changed := 0
		for n := range w.extents {
			x := &w.extents[n]
			if !x.used || n%5 != 0 {
				continue
			}
			changes := map[uint64]uint64{0: 1 << w.layout.class, addressAt: 3 * pageSize << 10, sizeAt: 1 << 40}
			for offset, change := range changes {
				changed++
				undo := r.add(t, x.at+offset, change)
				got, err := Walk(r.process(), &blocks.Set{})
				assert.True(t, err != nil || len(got.Problems) > 0, "%s: %#x+%d", names[i], x.at, offset)
				undo()
			}
			if x.slab {
				undo := r.add(t, x.at, 1<<w.layout.free)
				got, err := Walk(r.process(), &blocks.Set{})
				assert.True(t, err != nil || len(got.Problems) > 0, "%s: %#x: free regions", names[i], x.at)
				undo()
			}
		}
		assert.Greater(t, changed, 30)
	}
}

// TestCorruptCache changes the cache of a thread: its blocks would be taken for lost ones.
func TestCorruptCache(t *testing.T) {
	names, list := images(t)
	for i := range list {
		r := list[i].clone()
		w, err := read(r.process())
		require.NoError(t, err)
		place, ok := w.findCache(r.Threads[0])
		require.True(t, ok)
		bins := r.Threads[0].Pointer - place
		r.add(t, bins+3*binSize, 1<<30)
		r.add(t, bins+3*binSize+16, 1<<30)
		got, err := Walk(r.process(), &blocks.Set{})
		require.NoError(t, err)
		assert.NotEmpty(t, got.Problems, names[i])
		assert.Equal(t, 3, got.Caches)
	}
}

// FuzzWalk changes words of an image: each 12 bytes say which one, and what it becomes. Any memory gives blocks
// that lie one behind the other in the memory, or an error.
func FuzzWalk(f *testing.F) {
	_, list := images(f)
	f.Add(uint8(0), []byte("\x00\x00\x01\x00\x21\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint8(1), bytes.Repeat([]byte{0x10, 0x02, 0x00, 0x00, 0xff}, 24))
	f.Add(uint8(2), bytes.Repeat([]byte{0}, 36))
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		r := list[int(which)%len(list)].clone()
		for ; len(changes) >= 12; changes = changes[12:] {
			r.change(binary.LittleEndian.Uint32(changes), binary.LittleEndian.Uint64(changes[4:]))
		}
		var set blocks.Set
		got, err := Walk(r.process(), &set)
		if err != nil {
			require.Nil(t, got)
			return
		}
		blocktest.CheckOrder(t, &set)
	})
}

// TestMutations changes some words in many ways.
func TestMutations(t *testing.T) {
	names, list := images(t)
	for i := range list {
		problems := 0
		for seed := range uint32(200) {
			r := list[i].clone()
			for n := range 1 + seed%4 {
				r.change(seed*2654435761+n*40503, uint64(seed)*0x9e3779b97f4a7c15+uint64(n))
			}
			var set blocks.Set
			if got, err := Walk(r.process(), &set); err != nil || len(got.Problems) > 0 {
				problems++
			}
		}
		t.Logf("%s: %d of 200 have problems", names[i], problems)
		assert.Greater(t, problems, 20)
	}
}

// TestNoTree has a module without jemalloc.
func TestNoTree(t *testing.T) {
	_, err := Walk(Process{Memory: blocktest.Memory{}}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoTree)
	b := bytes.Repeat([]byte{0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00}, nodeSize/8)
	r := blocks.Range{Start: 0x100000, End: 0x100000 + nodeSize}
	all := []blocks.Range{r}
	p := Process{Memory: blocktest.Memory{{Start: r.Start, Data: b}}, Data: all, Anonymous: all}
	_, err = Walk(p, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoTree)
}

// TestClasses has the number of classes of the allocator (SC_NSIZES).
func TestClasses(t *testing.T) {
	assert.Len(t, classes, 232)
	assert.Equal(t, []uint64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}, classes[:14])
	assert.Equal(t, uint64(14<<10), classes[smallClasses-1])
	assert.True(t, slices.IsSorted(classes))
}

// word reads a word of a process.
func word(t *testing.T, p Process, address uint64) uint64 {
	t.Helper()
	var b [8]byte
	require.NoError(t, p.Memory.Read(address, b[:]))
	return binary.LittleEndian.Uint64(b[:])
}
