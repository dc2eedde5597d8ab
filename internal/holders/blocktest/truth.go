package blocktest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Entry is a block that the program says it has. If the size is 0, the program has freed it.
type Entry struct{ Address, Size uint64 }

// Truth reads the tables of testdata/blocks.c of an allocator. Both lists are sorted by address.
func Truth(t testing.TB, m blocks.Memory, symbol func(name string) uint64) (live, freed []Entry) {
	t.Helper()
	size := map[uint64]uint64{}
	for i := range word(t, m, symbol("thread_count")) {
		thread := symbol("threads") + 24*i
		b := make([]byte, 16*word(t, m, thread+8))
		require.NoError(t, m.Read(word(t, m, thread), b))
		for ; len(b) > 0; b = b[16:] {
			// Another thread may have used the address again: then it is in use.
			address, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			size[address] = max(size[address], n)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(size)) {
		e := Entry{address, size[address]}
		if e.Size != 0 {
			live = append(live, e)
		} else {
			freed = append(freed, e)
		}
	}
	return live, freed
}

// Law says when blocks agree with what the program says.
type Law struct {
	// Fits reports whether a block in use is the one of an entry.
	Fits func(Entry, blocks.Block) bool
	// Own reports whether the allocator keeps its own data in a block. If it is nil, it does not.
	Own func(blocks.Block) bool
	// Others is more than the number of blocks that the C library and the dynamic linker have.
	Others int
}

// Differences returns where the blocks differ from what the program says.
func (l Law) Differences(set *blocks.Set, live, freed []Entry) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[uint64]bool{}
	for _, e := range live {
		b, ok := set.Find(e.Address)
		if !ok || b.Free || !l.Fits(e, b) {
			report("%#x of %d bytes is in use: %+v", e.Address, e.Size, b)
		}
		known[b.Start] = true
	}
	for _, e := range freed { // it may lie in a new block that is larger
		if b, ok := set.Find(e.Address); ok && !known[b.Start] && !b.Free && (l.Own == nil || !l.Own(b)) {
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
	if others > l.Others {
		report("%d blocks in use that the program does not know", others)
	}
	return wrong
}

// CheckOrder checks that blocks lie one behind the other in their regions, and regions in memory.
func CheckOrder(t testing.TB, set *blocks.Set) {
	t.Helper()
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
}
