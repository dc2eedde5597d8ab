package dicts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
)

const start = 0x10000

// memory is words from start on.
type memory []uint64

func (m memory) bytes() (b []byte) {
	for _, w := range m {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return append(b, make([]byte, 8<<10)...) // pages are read whole
}

func (m memory) Read(address uint64, b []byte) error {
	if all := m.bytes(); address >= start && address-start+uint64(len(b)) <= uint64(len(all)) {
		copy(b, all[address-start:])
		return nil
	}
	return errors.New("no memory there")
}

func (m memory) word(address uint64) (uint64, bool) {
	if i := (address - start) / 8; address >= start && i < uint64(len(m)) {
		return m[i], true
	}
	return 0, false
}

func (m memory) block() blocks.Range {
	return blocks.Range{Start: start, End: start + 8*uint64(len(m))}
}

// someKeys are those of a dict with 8 slots, three of which are in use, and a fourth was removed.
func someKeys(v Version, onlyStr bool) memory {
	m := memory{1, 8, 0, 1, 4, 0}
	if v >= 11 {
		m = memory{1, 3 | 3<<8, 1, 4, 0} // logarithms of the number of slots and of the size of the indices
		if onlyStr {
			m[1] |= 1 << 16
		}
	}
	for _, e := range []Entry{{0x100, 0x101}, {0x200, 0x201}, {}, {0x300, 0x301}} {
		if !onlyStr {
			m = append(m, 0xcafe) // hash
		}
		m = append(m, e.Key, e.Value)
	}
	for len(m) < 32 {
		m = append(m, 0xdead)
	}
	return m
}

func TestEntries(t *testing.T) {
	for _, v := range []Version{8, 10, 11, 12, 13, 14} {
		for _, onlyStr := range []bool{false, true} {
			if onlyStr && v < 11 {
				continue
			}
			read := &blocks.Reader{Memory: someKeys(v, onlyStr)}
			got := slices.Collect(v.Entries(read, start, 0))
			require.Equal(t, []Entry{{0x100, 0x101}, {0x200, 0x201}, {0x300, 0x301}}, got, "3.%d, %v", v, onlyStr)
		}
	}
}

// TestValues: the values of attributes are not with the keys. From 3.13 on, a word is before them.
func TestValues(t *testing.T) {
	for v, before := range map[Version]memory{8: nil, 12: nil, 13: {4}, 14: {4}} {
		m := someKeys(v, v >= 11)
		values := start + 8*uint64(len(m))
		m = append(append(m, before...), 0x11, 0x22, 0, 0)
		got := slices.Collect(v.Entries(&blocks.Reader{Memory: m}, start, values))
		require.Equal(t, []Entry{{0x100, 0x11}, {0x200, 0x22}}, got, "3.%d", v)
	}
}

// TestHostileKeys: no keys, or a number of entries that memory does not have.
func TestHostileKeys(t *testing.T) {
	for _, v := range []Version{8, 14} {
		m := someKeys(v, false)
		m[v.entries()/8] = 1 << 60
		require.LessOrEqual(t, len(slices.Collect(v.Entries(&blocks.Reader{Memory: m}, start, 0))), 8<<10)
		require.Empty(t, slices.Collect(v.Entries(&blocks.Reader{Memory: m}, 0, 0)))
		require.Empty(t, slices.Collect(v.Entries(&blocks.Reader{Memory: m}, 1<<63, 0)))
	}
}

// doubtful returns the doubtful parts of a block, as offsets.
func doubtful(v Version, m memory) (list []string) {
	p := graph.Parts{Block: m.block()}
	v.Doubtful(&p, m.word)
	for _, part := range p.List {
		list = append(list, fmt.Sprintf("%d-%d/%d", part.Start-start, part.End-start, part.Every))
	}
	return list
}

// TestSlackOfKeys: behind 5 entries nothing is in use. Hashes, which not all keys have, may be addresses.
func TestSlackOfKeys(t *testing.T) {
	require.Equal(t, []string{"48-168/24", "168-256/0"}, doubtful(8, someKeys(8, false)))
	require.Equal(t, []string{"40-160/24", "160-256/0"}, doubtful(12, someKeys(12, false)))
	require.Equal(t, []string{"120-256/0"}, doubtful(12, someKeys(12, true)))
	free := someKeys(12, true)
	free[0] = 0
	require.Equal(t, []string{"40-256/0"}, doubtful(12, free))
	other := someKeys(12, true)
	other[3] = 9 // more entries than there are
	require.Empty(t, doubtful(12, other))
}

// TestOrderOfAttributes: the order in which they were set is before the values or behind them.
func TestOrderOfAttributes(t *testing.T) {
	before := memory{0, 16<<56 | 2<<48, 0x1000, 0x2000}
	behind := memory{4 | 2<<8, 0x1000, 0x2000, 0, 0, 0x0100}
	for _, v := range []Version{8, 11, 12, 13, 14} {
		var wantBefore, wantBehind []string
		switch v {
		case 11, 12:
			wantBefore = []string{"0-16/0"}
		case 13, 14:
			wantBehind = []string{"0-8/0", "40-48/0"}
		}
		require.Equal(t, wantBefore, doubtful(v, before), "3.%d", v)
		require.Equal(t, wantBehind, doubtful(v, behind), "3.%d", v)
	}
}
