package musl

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
	Data, Writable []blocks.Range
	Pointers       []uint64
	Memory         blocktest.Memory
	Live, Freed    []blocktest.Entry
}

func (r *recording) process() Process {
	return Process{Memory: r.Memory, Data: r.Data, Writable: r.Writable, ThreadPointers: r.Pointers}
}

// images reads all images of testdata.
func images(t testing.TB) (names []string, list []recording) {
	t.Helper()
	names, list = blocktest.Read[recording](t, "testdata/*.gz")
	require.GreaterOrEqual(t, len(names), 3)
	return names, list
}

// law is for entries whose size is what the program requested + 1: it may request 0 bytes.
var law = blocktest.Law{Others: 12, Fits: func(e blocktest.Entry, b blocks.Block) bool {
	size := max(e.Size-1, 1)
	return b.Start == e.Address && b.Size() == (size+unit-1)&^(unit-1)
}}

// TestWalkImages finds the blocks in images of several versions of musl.
func TestWalkImages(t *testing.T) {
	names, list := images(t)
	for i, r := range list {
		set := &blocks.Set{}
		result, err := Walk(r.process(), set)
		require.NoError(t, err, names[i])
		assert.Empty(t, result.Problems, names[i])
		assert.Zero(t, result.Changing, names[i])
		assert.Empty(t, law.Differences(set, r.Live, r.Freed), names[i])
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
				old := r.Memory.Word(t, meta+word)
				undo := r.Memory.Put(t, meta+word, 0x5a5a5a5a5a5a5a5a)
				result, err := Walk(r.process(), &blocks.Set{})
				require.NoError(t, err)
				if r.Memory.Word(t, meta+16) != 0 && (word == 16 || old != 0) {
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
				old := r.Memory.Word(t, e.Address-8)
				undo := r.Memory.Put(t, e.Address-8, header&^0xffffffff|old&0xffffffff)
				result, err := Walk(r.process(), &blocks.Set{})
				require.NoError(t, err)
				assert.Equal(t, 1, result.Changing, "%#x: %#x becomes %#x", e.Address, old, header)
				undo()
			}
		}
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
		r := list[int(which)%len(list)]
		r.Memory = r.Memory.Clone()
		for ; len(changes) >= 12; changes = changes[12:] {
			r.Memory.Change(binary.LittleEndian.Uint32(changes), binary.LittleEndian.Uint64(changes[4:]), nil)
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
		r.Memory = r.Memory.Clone()
		for range 1 + draw()%6 {
			if draw()%3 == 0 {
				r.Memory.Change(uint32(draw()), draw(), nil)
				continue
			}
			at := c.head + draw()%(areaSize/8)*8
			old := r.Memory.Word(t, at)
			values := []uint64{draw(), old + unit, old ^ 1<<(draw()%64), old + 1<<12, list[0].Memory[0].Start}
			r.Memory.Put(t, at, values[draw()%5])
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
	blocktest.CheckOrder(t, set)
	w := newWalk(r.process(), nil)
	for _, region := range set.Regions() {
		require.NotZero(t, w.writable(region.Range).Size())
	}
	for _, own := range result.Own {
		for _, gap := range set.Gaps(own) {
			require.True(t, own.Start <= gap.Start && gap.End <= own.End)
		}
	}
	return min(len(result.Problems)+result.Changing, 1)
}

// TestNoContext has no C library.
func TestNoContext(t *testing.T) {
	_, err := Walk(Process{Memory: blocktest.Memory{}}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoContext)
	var b [1 << 16]byte
	all := []blocks.Range{{Start: 0x1000, End: 0x11000}}
	m := blocktest.Memory{{Start: 0x1000, Data: b[:]}}
	_, err = Walk(Process{Memory: m, Data: all, Writable: all}, &blocks.Set{})
	require.ErrorIs(t, err, ErrNoContext)
}
