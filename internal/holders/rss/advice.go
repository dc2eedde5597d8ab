package rss

import (
	"cmp"
	"slices"
)

// leastShare is the least share of the resident memory for which an advice is worth giving.
const leastShare = 0.1

// advise lists what would give memory back, each for itself: together they give less than the sum.
func advise(r *Result) []Advice {
	list := []Advice{}
	for _, a := range []Advice{
		{Trim, trimGain(r)}, {TrimThreshold, endsGain(r)}, {ArenaMax, arenaGain(r)},
		{Allocator, r.Part(FreePinned)}, {SmallPages, r.HugeZero},
	} {
		if a.Bytes > 0 && float64(a.Bytes) >= leastShare*float64(r.Bytes) {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b Advice) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}

// trimGain returns what malloc_trim returns. The kernel does not take back pages that are locked.
func trimGain(r *Result) int64 {
	if r.Locked {
		return 0
	}
	return r.Part(FreePages)
}

// endsGain returns the number of free bytes at the ends of arenas that are more than malloc keeps by default.
func endsGain(r *Result) int64 {
	const kept = 128 << 10
	if r.Malloc == nil {
		return 0
	}
	return max(r.Part(FreeEnd)-kept*int64(len(r.Malloc.Arenas)-1), 0)
}

// arenaGain returns the free memory of all arenas less twice that of the largest: two arenas are left, and each
// must do for the peak of a thread. Threads that need their most at the same time need more.
func arenaGain(r *Result) (n int64) {
	const left = 2
	if r.Malloc == nil || len(r.Malloc.Arenas) <= left {
		return 0
	}
	most := int64(0)
	for _, a := range r.Malloc.Arenas {
		n, most = n+a.Free, max(most, a.Free)
	}
	return max(n-left*most, 0)
}
