package musl

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
	Data, Writable []blocks.Range
	Pointers       []uint64
	Memory         image
	Live, Freed    []entry
}

func (r *recording) process() Process {
	return Process{Memory: r.Memory, Data: r.Data, Writable: r.Writable, ThreadPointers: r.Pointers}
}

// add adds memory, which has the pages of parts. Others are zero.
func (r *recording) add(t *testing.T, m blocks.Memory, parts []blocks.Range) {
	t.Helper()
	for _, p := range parts {
		b := make([]byte, p.Size())
		require.NoError(t, m.Read(p.Start, b))
		r.Memory = append(r.Memory, part{p.Start, b})
	}
}

func (r *recording) write(t *testing.T, path string) {
	t.Helper()
	slices.SortFunc(r.Memory, func(a, b part) int { return cmp.Compare(a.Start, b.Start) })
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

// entry is a block that the program says it has, with the size that it requested + 1, or had if that is 0.
type entry struct{ Address, Size uint64 }

// check compares the blocks with the truth, and returns how many differ.
func check(set *blocks.Set, live, freed []entry) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[uint64]bool{}
	for _, e := range live {
		b, ok := set.Find(e.Address)
		size := max(e.Size-1, 1)
		if !ok || b.Free || b.Start != e.Address || b.Size() != (size+unit-1)&^(unit-1) {
			report("%#x of %d bytes is in use: %+v", e.Address, size, b)
		}
		known[b.Start] = true
	}
	for _, e := range freed { // it may lie in a new block that is larger
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

// maxOthers is more than the number of blocks that the C library has for itself.
const maxOthers = 12

// TestWalkImages finds the blocks in images of several versions of musl.
func TestWalkImages(t *testing.T) {
	names, list := images(t)
	for i, r := range list {
		set := &blocks.Set{}
		result, err := Walk(r.process(), set)
		require.NoError(t, err, names[i])
		assert.Empty(t, result.Problems, names[i])
		assert.Zero(t, result.Changing, names[i])
		assert.Empty(t, check(set, r.Live, r.Freed), names[i])
		assert.NotEmpty(t, r.Freed, names[i])
		assert.Positive(t, result.Nested, names[i])
	}
}

// TestCorrupt changes words of an image. The walk must say that something does not fit.
func TestCorrupt(t *testing.T) {
	_, list := images(t)
	for i := range list {
		r := &list[i]
		c, ok := newWalk(r.process(), nil).findContext()
		require.True(t, ok)
		for n := range 60 {
			meta := c.head + toMetas + uint64(n)*metaSize
			for _, word := range []uint64{16, 24, 32} {
				undo, old := r.put(t, meta+word, 0x5a5a5a5a5a5a5a5a)
				result, err := Walk(r.process(), &blocks.Set{})
				require.NoError(t, err)
				if r.at(t, meta+16) != 0 && (word == 16 || old != 0) {
					assert.NotEmpty(t, result.Problems, "%#x+%d", meta, word)
				}
				undo()
			}
		}
		for n, e := range r.Live {
			if n%17 != 0 {
				continue
			}
			for _, header := range []uint64{0x1f << 40, 0x7777 << 48, 0xffff << 40, ^uint64(0)} {
				old := r.at(t, e.Address-8)
				undo, _ := r.put(t, e.Address-8, header&^0xffffffff|old&0xffffffff)
				result, err := Walk(r.process(), &blocks.Set{})
				require.NoError(t, err)
				assert.Equal(t, 1, result.Changing, "%#x: %#x becomes %#x", e.Address, old, header)
				undo()
			}
		}
	}
}

// at returns a word.
func (r *recording) at(t *testing.T, address uint64) uint64 {
	t.Helper()
	var b [8]byte
	require.NoError(t, r.Memory.Read(address, b[:]))
	return binary.LittleEndian.Uint64(b[:])
}

// put changes a word, and returns a function that undoes it, and what the word was.
func (r *recording) put(t *testing.T, address, v uint64) (undo func(), before uint64) {
	t.Helper()
	for _, p := range r.Memory {
		if address >= p.Start && address-p.Start+8 <= uint64(len(p.Data)) {
			b := p.Data[address-p.Start:]
			before := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, v)
			return func() { binary.LittleEndian.PutUint64(b, before) }, before
		}
	}
	t.Fatalf("no memory at %#x", address)
	return nil, 0
}

// FuzzWalk changes words of an image: each 12 bytes say which one, and what it becomes. Any memory gives blocks
// that lie one behind the other in the memory, or an error.
func FuzzWalk(f *testing.F) {
	_, list := images(f)
	f.Add(uint8(0), []byte("\x00\x00\x01\x00\x21\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint8(1), bytes.Repeat([]byte{0x10, 0x02, 0x00, 0x00, 0xff}, 24))
	f.Add(uint8(2), bytes.Repeat([]byte{0}, 36))
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		r := list[int(which)%len(list)]
		r.Memory = slices.Clone(r.Memory)
		for i := range r.Memory {
			r.Memory[i].Data = slices.Clone(r.Memory[i].Data)
		}
		for ; len(changes) >= 12; changes = changes[12:] {
			r.change(binary.LittleEndian.Uint32(changes), binary.LittleEndian.Uint64(changes[4:]))
		}
		checkLaws(t, &r)
	})
}

// TestMutations changes many words at once, at random but always the same: more of struct meta than of other memory.
func TestMutations(t *testing.T) {
	_, list := images(t)
	seed := uint64(1)
	draw := func() uint64 { seed = seed*6364136223846793005 + 1442695040888963407; return seed >> 16 }
	problems := 0
	for n := range 600 {
		r := list[n%len(list)]
		c, ok := newWalk(r.process(), nil).findContext()
		require.True(t, ok)
		r.Memory = slices.Clone(r.Memory)
		for i := range r.Memory {
			r.Memory[i].Data = slices.Clone(r.Memory[i].Data)
		}
		for range 1 + draw()%6 {
			if draw()%3 == 0 {
				r.change(uint32(draw()), draw())
				continue
			}
			at := c.head + draw()%(areaSize/8)*8
			_, old := r.put(t, at, 0)
			r.put(t, at, []uint64{draw(), old + unit, old ^ 1<<(draw()%64), old + 1<<12, list[0].Memory[0].Start}[draw()%5])
		}
		problems += checkLaws(t, &r)
	}
	assert.Greater(t, problems, 200)
}

// checkLaws walks, and returns whether there were problems (1 or 0).
func checkLaws(t *testing.T, r *recording) int {
	t.Helper()
	set := &blocks.Set{}
	result, err := Walk(r.process(), set)
	if err != nil {
		require.Empty(t, set.Regions())
		return 1
	}
	last := uint64(0)
	w := newWalk(r.process(), nil)
	for _, region := range set.Regions() {
		require.NotZero(t, w.writable(region.Range).Size())
		n := 0
		for b := range region.All() {
			require.True(t, b.Start >= last && b.End > b.Start && region.Contains(b.Start) && b.End <= region.End)
			last = b.End
			n++
		}
		require.Equal(t, region.Len(), n)
	}
	for _, own := range result.Own {
		for _, gap := range set.Gaps(own) {
			require.True(t, own.Start <= gap.Start && gap.End <= own.End)
		}
	}
	return min(len(result.Problems)+result.Changing, 1)
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

// TestNoContext has no C library.
func TestNoContext(t *testing.T) {
	_, err := Walk(Process{Memory: image{}}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoContext)
	var b [1 << 16]byte
	all := []blocks.Range{{Start: 0x1000, End: 0x11000}}
	_, err = Walk(Process{Memory: image{{0x1000, b[:]}}, Data: all, Writable: all}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoContext)
}
