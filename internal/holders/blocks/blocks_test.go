package blocks

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRegionAgreesWithSlice compares a region with a plain slice of blocks at every address.
func TestRegionAgreesWithSlice(t *testing.T) {
	const start = 0x7f0000000010
	for _, largest := range []int{3, 200, 20000} { // in slots
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, uint64(largest)))
			size := uint64(1+random.IntN(40000)) * slotSize
			r, err := NewRegion(Range{start, start + size})
			require.NoError(t, err)
			var want []Block
			step := func() uint64 { return uint64(1+random.IntN(largest)) * slotSize }
			for at := start + step() - slotSize; at < r.End; at += step() {
				free := random.IntN(3) == 0
				require.True(t, r.Add(at, free))
				if n := len(want); n > 0 {
					want[n-1].End = at
				}
				want = append(want, Block{Range{at, r.End}, free})
			}
			for i := range want {
				if random.IntN(5) == 0 {
					assert.Equal(t, !want[i].Free, r.SetFree(want[i].Start))
					want[i].Free = true
				}
			}
			assert.Equal(t, len(want), r.Len())
			assert.Equal(t, want, slices.Collect(r.All()))
			i := -1
			for at := r.Start; at < r.End; at += 8 {
				if i+1 < len(want) && want[i+1].Start == at {
					i++
				}
				got, number, ok := r.Find(at)
				if i < 0 {
					require.False(t, ok)
					continue
				}
				require.True(t, ok && got == want[i] && number == i, "%#x: %v, want %v", at, got, want[i])
				begin, number, ok := r.Locate(at)
				require.Equal(t, !want[i].Free, ok)
				require.True(t, !ok || begin == want[i].Start && number == i, "%#x", at)
			}
			for i := range want {
				require.Equal(t, want[i], r.Number(i))
			}
		}
	}
}

func TestRegionRefuses(t *testing.T) {
	_, err := NewRegion(Range{8, 32})
	require.Error(t, err)
	_, err = NewRegion(Range{32, 16})
	require.Error(t, err)
	_, err = NewRegion(Range{0, MaxRegion + 16})
	require.ErrorIs(t, err, ErrLimit)
	r, err := NewRegion(Range{0x1000, 0x1018})
	require.NoError(t, err)
	assert.False(t, r.SetFree(0x1000), "no block")
	for _, address := range []uint64{0xff0, 0x1008, 0x1020} {
		assert.False(t, r.Add(address, false), "%#x", address)
	}
	assert.Empty(t, slices.Collect(r.All()))
	_, _, ok := r.Find(0x1000)
	assert.False(t, ok)
	assert.True(t, r.Add(0x1010, false))
	assert.False(t, r.Add(0x1000, false), "not in order")
	assert.False(t, r.Add(0x1010, false), "again")
	assert.Equal(t, []Block{{Range{0x1010, 0x1018}, false}}, slices.Collect(r.All()))
	assert.False(t, r.SetFree(0x1018))
	assert.False(t, r.SetFree(0x1014))
}

func TestSet(t *testing.T) {
	var s Set
	add := func(start, end uint64) error {
		r, err := NewRegion(Range{start, end})
		require.NoError(t, err)
		require.True(t, r.Add(start, false))
		return s.Add(r)
	}
	require.NoError(t, add(0x3000, 0x4000))
	require.NoError(t, add(0x1000, 0x2000))
	require.NoError(t, add(0x2000, 0x2800))
	for _, overlapping := range []Range{{0x1000, 0x1010}, {0x1ff0, 0x2010}, {0x0, 0x1010}, {0x3800, 0x5000}} {
		assert.Error(t, add(overlapping.Start, overlapping.End), "%#x", overlapping)
	}
	assert.Equal(t, []Range{{0, 0x1000}, {0x2800, 0x3000}, {0x4000, 0x5000}}, s.Gaps(Range{0, 0x5000}))
	assert.Equal(t, []Range{{0x2900, 0x2a00}}, s.Gaps(Range{0x2900, 0x2a00}))
	assert.Empty(t, s.Gaps(Range{0x1100, 0x1200}))
	for address, want := range map[uint64]uint64{0x1000: 0x1000, 0x1fff: 0x1000, 0x2000: 0x2000, 0x3fff: 0x3000} {
		b, ok := s.Find(address)
		assert.True(t, ok && b.Start == want, "%#x", address)
	}
	for _, address := range []uint64{0, 0xfff, 0x2800, 0x4000} {
		_, ok := s.Find(address)
		assert.False(t, ok, "%#x", address)
	}
	assert.True(t, s.SetFree(0x2000))
	assert.False(t, s.SetFree(0x2000))
	assert.False(t, s.SetFree(0x5000))
}

// pages is memory of which only some pages can be read. Each word has its address.
type pages map[uint64]bool

func (p pages) Read(address uint64, b []byte) error {
	for i := range b {
		at := address + uint64(i)
		if !p[at/pageSize] {
			return errors.New("unreadable")
		}
		b[i] = byte(at &^ 7 >> (at % 8 * 8))
	}
	return nil
}

func TestWindow(t *testing.T) {
	w := Window{Memory: pages{1: true, 2: true, 4: true, 40: true}, Within: Range{0x1000, 41*pageSize - 4}}
	for _, address := range []uint64{0x1000, 0x1ff8, 0x2ff8, 0x4008, 0x1010, 40 * pageSize, 0x4ff8} {
		v, ok := w.Word(address)
		assert.True(t, ok && v == address, "%#x", address)
	}
	v, ok := w.Word(0x1ffc) // on two pages
	assert.True(t, ok)
	assert.Equal(t, uint64(0x2000)<<32, v)
	for _, address := range []uint64{0xff8, 0x2ffc, 0x3000, 0x5000, 41*pageSize - 8, ^uint64(0) - 3} {
		_, ok := w.Word(address)
		assert.False(t, ok, "%#x", address)
	}
}

func TestContaining(t *testing.T) {
	list := []Range{{10, 20}, {20, 30}, {40, 50}}
	for r, want := range map[Range]Range{
		{10, 20}: {10, 20}, {12, 13}: {10, 20}, {20, 30}: {20, 30}, {49, 50}: {40, 50},
		{9, 11}: {}, {19, 21}: {}, {30, 40}: {}, {50, 51}: {}, {12, 12}: {}, {13, 12}: {},
	} {
		got, ok := Containing(list, r)
		assert.Equal(t, want, got, r)
		assert.Equal(t, want.Size() > 0, ok, r)
	}
}

func TestJoin(t *testing.T) {
	list := Join(nil, Range{10, 20})
	list = Join(list, Range{20, 30})
	assert.Equal(t, []Range{{10, 30}, {40, 50}}, Join(list, Range{40, 50}))
}
