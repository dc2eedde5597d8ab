package jemalloc

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

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

// recording is what an image file has: the memory of testdata/blocks.c that Walk reads, and the truth about it.
type recording struct {
	Data, Anonymous []blocks.Range
	Threads         []Thread
	Memory          image
	Live, Freed     []entry
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
func (r recorder) image() (m image) {
	for _, page := range slices.Sorted(maps.Keys(r.pages)) {
		if n := len(m); n > 0 && m[n-1].Start+uint64(len(m[n-1].Data)) == page {
			m[n-1].Data = append(m[n-1].Data, r.pages[page]...)
		} else {
			m = append(m, part{page, r.pages[page]})
		}
	}
	return m
}

func (r *recording) write(t *testing.T, path string) {
	t.Helper()
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
	require.GreaterOrEqual(t, len(names), 3)
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
	return Process{Memory: r.Memory, Data: r.Data, Anonymous: r.Anonymous, Resident: r.resident, Threads: r.Threads}
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

// clone returns a recording whose memory can be changed.
func (r *recording) clone() recording {
	c := *r
	c.Memory = slices.Clone(r.Memory)
	for i := range c.Memory {
		c.Memory[i].Data = slices.Clone(c.Memory[i].Data)
	}
	return c
}

// entry is a block that the program says it has, or had if its size is 0.
type entry struct{ Address, Size uint64 }

// check compares blocks with the truth, and returns how many differ.
func check(set *blocks.Set, live, freed []entry) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[uint64]bool{}
	for _, e := range live {
		known[e.Address] = true
		b, ok := set.Find(e.Address)
		size := (e.Size + 15) &^ 15
		// Version 5.3.1 does not tell which of two sizes a large block has.
		if !ok || b.Free || b.Start != e.Address&^15 || b.Size() < size || b.Size() >= size+size/4 && size != b.Size() {
			report("%#x of %d bytes is in use: %+v", e.Address, e.Size, b)
		}
		known[b.Start] = true
	}
	for _, e := range freed {
		if b, ok := set.Find(e.Address); ok && !known[b.Start] && !b.Free {
			report("%#x was freed: %+v", e.Address, b)
		}
	}
	others := 0
	for _, r := range set.Regions() {
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

// maxOthers is more than the number of blocks that the C library and the dynamic linker have.
const maxOthers = 60

// TestWalkImages finds the blocks in images of several versions.
func TestWalkImages(t *testing.T) {
	names, list := images(t)
	for i, r := range list {
		var set blocks.Set
		got, err := Walk(r.process(), &set)
		require.NoError(t, err, names[i])
		assert.Empty(t, got.Problems, names[i])
		assert.Empty(t, check(&set, r.Live, r.Freed), names[i])
		assert.Equal(t, 4, got.Caches, names[i])
		assert.Greater(t, got.Cached, 500, names[i])
		assert.NotEmpty(t, r.Freed, names[i])
		for _, x := range got.Own {
			assert.Zero(t, x.Start%hugePage)
			assert.Equal(t, []blocks.Range{x}, set.Gaps(x), "no block is in the allocator's own memory")
		}
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

// add adds to the word at an address.
func (r *recording) add(t *testing.T, address, v uint64) (undo func()) {
	t.Helper()
	for _, p := range r.Memory {
		if address >= p.Start && address < p.Start+uint64(len(p.Data)) {
			b := p.Data[address-p.Start:]
			before := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, before+v)
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
		last := uint64(0)
		for _, region := range set.Regions() {
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

// change changes a word that is not 0, the next from word n on, to an address, to a sum of itself and a small number,
// or to any value.
func (r *recording) change(n uint32, v uint64) {
	p := r.Memory[int(n>>20)%len(r.Memory)]
	at := int(n&0xfffff) % (len(p.Data) / 8) * 8
	for at+8 < len(p.Data) && binary.LittleEndian.Uint64(p.Data[at:]) == 0 {
		at += 8
	}
	word := p.Data[at:]
	switch v % 3 {
	case 0:
		v = p.Start + v>>8%uint64(len(p.Data))
	case 1:
		v = binary.LittleEndian.Uint64(word) + uint64(int8(v>>8))
	}
	binary.LittleEndian.PutUint64(word, v)
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
	_, err := Walk(Process{Memory: image{}}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoTree)
	b := bytes.Repeat([]byte{0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00}, nodeSize/8)
	r := blocks.Range{Start: 0x100000, End: 0x100000 + nodeSize}
	p := Process{Memory: image{{r.Start, b}}, Data: []blocks.Range{r}, Anonymous: []blocks.Range{r}}
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
