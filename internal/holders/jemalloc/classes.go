package jemalloc

import "math/bits"

const (
	// smallClasses is the number of size classes of slabs (SC_NBINS), from 8 bytes to 14 KiB.
	smallClasses = 36
	tiny         = 8
	quantum      = 16
)

// classes has the sizes of all classes: 8, multiples of 16 up to 128, and four for each doubling above (sc.c).
var classes = func() (list []uint64) {
	list = append(list, tiny)
	for size := uint64(quantum); size < 8*quantum; size += quantum {
		list = append(list, size)
	}
	for base := uint64(8 * quantum); ; base *= 2 {
		for i := range uint64(4) {
			if i == 0 || bits.Len64(base+base/4*i) < 64 {
				list = append(list, base+base/4*i)
			}
		}
		if base == 1<<62 {
			return list
		}
	}
}()
