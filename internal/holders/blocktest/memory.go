// Package blocktest has what the tests of the allocators share: the memory of a process in a file, and the comparison
// of the blocks that were found with what the program says.
package blocktest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Memory is the memory of a process in parts, by address.
type Memory []Part

// Part is the memory from an address on.
type Part struct {
	Start uint64
	Data  []byte
}

func (p Part) end() uint64 { return p.Start + uint64(len(p.Data)) }

// Read fills b with the bytes at an address.
func (m Memory) Read(address uint64, b []byte) error {
	for len(b) > 0 {
		i := sort.Search(len(m), func(i int) bool { return m[i].end() > address })
		if i == len(m) || m[i].Start > address {
			return errors.New("no memory there")
		}
		n := copy(b, m[i].Data[address-m[i].Start:])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}

// Resident returns the parts of a range that m has.
func (m Memory) Resident(within blocks.Range) (list []blocks.Range) {
	for _, p := range m {
		r := blocks.Range{Start: max(within.Start, p.Start), End: min(within.End, p.end())}
		if r.Start < r.End {
			list = append(list, r)
		}
	}
	return list
}

// Add copies a range of another memory, unless m has a part that starts there.
func (m *Memory) Add(t testing.TB, from blocks.Memory, r blocks.Range) {
	t.Helper()
	byStart := func(p Part, start uint64) int { return cmp.Compare(p.Start, start) }
	i, found := slices.BinarySearchFunc(*m, r.Start, byStart)
	if found {
		return
	}
	p := Part{r.Start, make([]byte, r.Size())}
	require.NoError(t, from.Read(p.Start, p.Data))
	*m = slices.Insert(*m, i, p)
}

// Clone returns a copy that can be changed.
func (m Memory) Clone() Memory {
	c := slices.Clone(m)
	for i := range c {
		c[i].Data = slices.Clone(c[i].Data)
	}
	return c
}

// Word returns the word at an address.
func (m Memory) Word(t testing.TB, address uint64) uint64 {
	t.Helper()
	return word(t, m, address)
}

func word(t testing.TB, m blocks.Memory, address uint64) uint64 {
	t.Helper()
	var b [8]byte
	require.NoError(t, m.Read(address, b[:]))
	return binary.LittleEndian.Uint64(b[:])
}

// Put changes the word at an address, and returns a function that undoes it.
func (m Memory) Put(t testing.TB, address, v uint64) (undo func()) {
	t.Helper()
	for _, p := range m {
		if address >= p.Start && address+8 <= p.end() {
			b := p.Data[address-p.Start:]
			before := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, v)
			return func() { binary.LittleEndian.PutUint64(b, before) }
		}
	}
	t.Fatalf("no memory at %#x", address)
	return nil
}

// Change changes word n, whose upper 12 bits are the number of a part, to an address, to a sum of itself and a small
// number, or to any value, as v says. If skip is not nil, it takes the next word for which skip returns false.
func (m Memory) Change(n uint32, v uint64, skip func(word uint64) bool) {
	p := m[int(n>>20)%len(m)]
	at := int(n&0xfffff) % (len(p.Data) / 8) * 8
	for skip != nil && at+16 <= len(p.Data) && skip(binary.LittleEndian.Uint64(p.Data[at:])) {
		at += 8
	}
	b := p.Data[at:]
	switch v % 3 {
	case 0:
		v = p.Start + v>>8%uint64(len(p.Data))
	case 1:
		v = binary.LittleEndian.Uint64(b) + uint64(int8(v>>8))
	}
	binary.LittleEndian.PutUint64(b, v)
}

// Write writes a recording to a file that [Read] reads.
func Write[T any](t testing.TB, path string, recording T) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	require.NoError(t, gob.NewEncoder(z).Encode(recording))
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// Read reads the recordings whose paths match a pattern.
func Read[T any](t testing.TB, pattern string) (names []string, recordings []T) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		var r T
		require.NoError(t, gob.NewDecoder(z).Decode(&r))
		recordings = append(recordings, r)
	}
	return names, recordings
}
