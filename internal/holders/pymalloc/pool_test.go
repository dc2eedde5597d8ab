package pymalloc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// image is memory from an address on.
type image struct {
	start uint64
	data  []byte
}

func (m *image) Read(address uint64, b []byte) error {
	if address < m.start || address-m.start > uint64(len(m.data)) || uint64(len(m.data))-(address-m.start) < uint64(len(b)) {
		return errors.New("no memory there")
	}
	copy(b, m.data[address-m.start:])
	return nil
}

func (m *image) put(address, v uint64) { binary.LittleEndian.PutUint64(m.data[address-m.start:], v) }

func (m *image) put32(address uint64, v int) {
	binary.LittleEndian.PutUint32(m.data[address-m.start:], uint32(v))
}

func (m *image) walk(t *testing.T) (*blocks.Set, Result) {
	t.Helper()
	var set blocks.Set
	r, err := Walk(Process{Memory: m, Anonymous: []blocks.Range{{Start: m.start, End: m.start + uint64(len(m.data))}}}, &set)
	require.NoError(t, err)
	return &set, r
}

// fill writes a pool, after blocks of a size were taken and returned at random, and returns which blocks are
// in use.
func (m *image) fill(random *rand.Rand, at uint64, whole, size int) (used []uint64) {
	free, fresh := uint64(0), at+headerSize
	for range random.IntN(3 * whole / size) {
		switch {
		case len(used) > 0 && random.IntN(3) == 0:
			i := random.IntN(len(used))
			m.put(used[i], free)
			free = used[i]
			used = slices.Delete(used, i, i+1)
		case free != 0:
			used = append(used, free)
			free = binary.LittleEndian.Uint64(m.data[free-m.start:])
		case fresh+uint64(size) <= at+uint64(whole):
			used = append(used, fresh)
			fresh += uint64(size)
		}
	}
	m.put32(at, len(used))
	m.put(at+8, free)
	m.put32(at+36, size/alignment-1)
	m.put32(at+40, int(fresh-at))
	m.put32(at+44, whole-size)
	return used
}

// TestWalk finds the blocks of pools of all sizes, between other memory.
func TestWalk(t *testing.T) {
	const start, pools = 0x7f0000001000, 40
	for _, whole := range []int{pageSize, largest} {
		for class := range classes {
			random := rand.New(rand.NewPCG(uint64(whole), uint64(class)))
			m := &image{start, make([]byte, (pools+2)*whole)}
			for i := range m.data {
				m.data[i] = byte(random.Uint32())
			}
			first := uint64(start+whole-1) &^ uint64(whole-1)
			var want []uint64
			n := 0
			var empty []blocks.Range
			for i := range uint64(pools) {
				if random.IntN(4) > 0 {
					at := first + i*uint64(whole)
					used := m.fill(random, at, whole, (class+1)*alignment)
					want = append(want, used...)
					n++
					if len(used) == 0 {
						empty = append(empty, blocks.Range{Start: at, End: at + uint64(whole)})
					}
				}
			}
			set, r := m.walk(t)
			assert.Equal(t, set.Regions(), r.Regions)
			assert.Equal(t, Result{Pools: n, Empty: empty, Regions: r.Regions}, r)
			slices.Sort(want)
			assert.Equal(t, want, inUse(set))
			for _, address := range want {
				b, ok := set.Find(address + 1)
				require.True(t, ok && b.Start == address && b.Size() >= uint64(class+1)*alignment)
			}
		}
	}
}

func inUse(set *blocks.Set) (list []uint64) {
	for _, r := range set.Regions() {
		for b := range r.All() {
			if !b.Free {
				list = append(list, b.Start)
			}
		}
	}
	return list
}

// TestChanging has pools from which a thread takes a block.
func TestChanging(t *testing.T) {
	const at = 0x10000
	for _, change := range []int{-1, 0, 1} {
		m := &image{at, make([]byte, largest)}
		used := m.fill(rand.New(rand.NewPCG(1, 1)), at, largest, 64)
		m.put32(at, len(used)+change)
		set, r := m.walk(t)
		assert.Equal(t, 1, r.Pools)
		assert.Equal(t, change != 0, r.Changing == 1)
		slices.Sort(used)
		assert.Equal(t, used, inUse(set))
	}
}

// TestNoPool changes headers.
func TestNoPool(t *testing.T) {
	const at, size = 0x10000, 64
	for name, change := range map[string]func(m *image){
		"nothing":              func(*image) {},
		"too many blocks":      func(m *image) { m.put32(at, 1000) },
		"too few blocks":       func(m *image) { m.put32(at, 3) },
		"class":                func(m *image) { m.put32(at+36, 99) },
		"another class":        func(m *image) { m.put32(at+36, 5) },
		"first fresh block":    func(m *image) { m.put32(at+40, headerSize+8) },
		"fresh in the header":  func(m *image) { m.put32(at+40, 16) },
		"fresh behind the end": func(m *image) { m.put32(at+40, largest+2*size) },
		"list leads outside":   func(m *image) { m.put(at+8, at-64) },
		"list leads between":   func(m *image) { m.put(at+8, at+headerSize+8) },
		"list does not end": func(m *image) {
			m.put(at+8, at+headerSize)
			m.put(at+headerSize, at+headerSize)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &image{at, make([]byte, largest)}
			m.fill(rand.New(rand.NewPCG(1, 1)), at, largest, size)
			change(m)
			_, r := m.walk(t)
			assert.Equal(t, name == "nothing", r.Pools == 1)
		})
	}
	unaligned := &image{at, make([]byte, 3*largest)}
	unaligned.fill(rand.New(rand.NewPCG(1, 1)), at+pageSize, largest, size)
	_, r := unaligned.walk(t)
	assert.Zero(t, r.Pools)
}

// FuzzWalk: any memory gives blocks that lie one behind the other in the memory.
func FuzzWalk(f *testing.F) {
	for i, whole := range []int{pageSize, largest} {
		m := &image{0x10000, make([]byte, largest)}
		m.fill(rand.New(rand.NewPCG(1, 1)), 0x10000, whole, 48*(i+1))
		f.Add(m.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &image{0x10000, data}
		set, _ := m.walk(t)
		last := m.start
		for _, r := range set.Regions() {
			for b := range r.All() {
				require.True(t, b.Start >= last && b.End > b.Start && b.End <= m.start+uint64(len(data)), fmt.Sprint(b))
				last = b.End
			}
		}
	})
}
