package interval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// lastHolding is the specification of Index.Find, by brute force.
func lastHolding(ranges []Range, addr uint64) (int, bool) {
	for i, r := range slices.Backward(ranges) {
		if r.Lo <= addr && addr < r.Hi {
			return i, true
		}
	}
	return None, false
}

// requireExact compares an index with brute force at both ends of every range and next to them, and
// at more addresses.
func requireExact(t *testing.T, ranges []Range, more ...uint64) {
	t.Helper()
	x := New(ranges)
	require.LessOrEqual(t, len(x.starts), 2*len(ranges))
	check := func(addr uint64) {
		want, wantOK := lastHolding(ranges, addr)
		got, ok := x.Find(addr)
		if got != want || ok != wantOK {
			require.Failf(t, "wrong range", "at 0x%x: got %d %v, want %d %v of %v", addr, got, ok, want, wantOK, ranges)
		}
	}
	for _, r := range ranges {
		for _, a := range []uint64{r.Lo - 1, r.Lo, r.Lo + 1, r.Hi - 1, r.Hi, r.Hi + 1} {
			check(a)
		}
	}
	for _, a := range more {
		check(a)
	}
}

// everyAddress returns all addresses below a limit, and the highest address.
func everyAddress(limit uint64) []uint64 {
	all := []uint64{math.MaxUint64}
	for a := range limit {
		all = append(all, a)
	}
	return all
}

// repeat calls make with 0 to n-1 and returns the ranges.
func repeat(n int, make func(i uint64) Range) []Range {
	var out []Range
	for i := range n {
		out = append(out, make(uint64(i)))
	}
	return out
}

// TestIndexAgainstBruteForce checks ranges of many shapes at every address.
func TestIndexAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, ranges := range map[string][]Range{
		"none":                    nil,
		"one":                     {{3, 5}},
		"empty and reversed":      {{3, 3}, {9, 2}, {0, 0}},
		"empty within another":    {{1, 9}, {4, 4}},
		"equal":                   {{3, 5}, {3, 5}, {3, 5}},
		"adjacent":                {{3, 5}, {5, 8}, {1, 3}},
		"the whole address space": {{0, math.MaxUint64}, {7, 9}},
		"nested, outer first":     repeat(400, func(i uint64) Range { return Range{i, 1000 - i} }),
		"nested, inner first":     repeat(400, func(i uint64) Range { return Range{400 - i, 600 + i} }),
		"same start":              repeat(400, func(i uint64) Range { return Range{10, 500 - i} }),
		"same end":                repeat(400, func(i uint64) Range { return Range{i, 800} }),
		"stairs":                  repeat(400, func(i uint64) Range { return Range{i, i + 300} }),
		"stairs down":             repeat(400, func(i uint64) Range { return Range{400 - i, 700 - i} }),
		"one below many":          append([]Range{{0, 1000}}, repeat(400, func(i uint64) Range { return Range{2 * i, 2*i + 1} })...),
		"one above many":          append(repeat(400, func(i uint64) Range { return Range{2 * i, 2*i + 1} }), Range{0, 1000}),
		"dense": repeat(600, func(uint64) Range {
			lo := random.Uint64N(1000)
			return Range{lo, lo + random.Uint64N(60)}
		}),
		"sparse": repeat(100, func(uint64) Range {
			lo := random.Uint64N(1000)
			return Range{lo, lo + random.Uint64N(8)}
		}),
		"any": repeat(300, func(uint64) Range { return Range{random.Uint64N(1000), random.Uint64N(1000)} }),
	} {
		t.Run(name, func(t *testing.T) { requireExact(t, ranges, everyAddress(1100)...) })
	}
}

// TestZeroIndex checks that the zero value holds no address.
func TestZeroIndex(t *testing.T) {
	var x Index
	_, ok := x.Find(0)
	require.False(t, ok)
}

// TestSweep checks that two ranges overlap if and only if one is open when the other opens.
func TestSweep(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	ranges := repeat(200, func(uint64) Range { return Range{random.Uint64N(300), random.Uint64N(300)} })
	open, pairs, seen := map[int]bool{}, map[[2]int]bool{}, map[int]int{}
	for i, opens := range Sweep(ranges) {
		seen[i]++
		if !opens {
			require.True(t, open[i])
			delete(open, i)
			continue
		}
		for k := range open {
			pairs[[2]int{min(i, k), max(i, k)}] = true
		}
		open[i] = true
	}
	require.Empty(t, open)
	for i, a := range ranges {
		if a.Lo < a.Hi {
			require.Equal(t, 2, seen[i])
		} else {
			require.Zero(t, seen[i])
		}
		for k, b := range ranges[:i] {
			overlap := a.Lo < a.Hi && b.Lo < b.Hi && a.Lo < b.Hi && b.Lo < a.Hi
			require.Equal(t, overlap, pairs[[2]int{k, i}], "%v %v", a, b)
		}
	}
	for range Sweep(ranges) {
		break // the consumer may stop early
	}
}

// TestClaimsAgainstBruteForce checks that each address belongs to the first claimant whose ranges
// hold it.
func TestClaimsAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var addrs []uint64
		want := []int32{}
		for a := range uint64(100) {
			if random.IntN(3) > 0 {
				addrs, want = append(addrs, a), append(want, None)
			}
		}
		c := NewClaims(addrs)
		for by := range int32(12) {
			lo := random.Uint64N(110)
			ranges := []Range{{lo, lo + 1 + random.Uint64N(20)}, {lo / 2, lo/2 + 3}}
			c.Claim(by, ranges...)
			for i, a := range addrs {
				if _, ok := lastHolding(ranges, a); ok && want[i] == None {
					want[i] = by
				}
			}
			require.Equal(t, want, c.Owner)
		}
		free := slices.DeleteFunc(want, func(by int32) bool { return by != None })
		require.Equal(t, len(free), c.Left)
	}
}

// FuzzIndex compares an index with brute force. Each pair of bytes of the input is a range.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{3, 5, 3, 5, 0, 255, 4, 4}, uint64(0))
	f.Add([]byte{0, 255, 1, 254, 2, 253, 3, 252, 3, 9}, uint64(math.MaxUint64-255))
	f.Add([]byte{9, 3}, uint64(1<<47))
	f.Fuzz(func(t *testing.T, data []byte, base uint64) {
		var ranges []Range
		for ; len(data) >= 2 && len(ranges) < 300; data = data[2:] {
			ranges = append(ranges, Range{base + uint64(data[0]), base + uint64(data[1])})
		}
		var all []uint64
		for a := range uint64(258) {
			all = append(all, base+a-1)
		}
		requireExact(t, ranges, all...)
	})
}

// BenchmarkIndex measures 100,000 adjacent ranges, like functions, and 100,000 that
// all overlap.
func BenchmarkIndex(b *testing.B) {
	const n = 100_000
	for name, ranges := range map[string][]Range{
		"disjoint": repeat(n, func(i uint64) Range { return Range{i * 32, i*32 + 30} }),
		"nested":   repeat(n, func(i uint64) Range { return Range{i, 64*n - i} }),
	} {
		b.Run(name+"/build", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(ranges)
			}
		})
		x := New(ranges)
		b.Run(name+"/find", func(b *testing.B) {
			addr := uint64(0)
			for b.Loop() {
				x.Find(addr % (32 * n))
				addr += 7919
			}
		})
	}
}
