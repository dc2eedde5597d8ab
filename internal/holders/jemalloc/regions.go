package jemalloc

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

// addRegions adds the blocks of all extents to the set. Adjacent extents are one region. Those that are not in use are
// free blocks.
func (w *walk) addRegions(set *blocks.Set) {
	list := w.mapped()
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Start == list[n-1].End && list[n].End-list[0].Start <= blocks.MaxRegion {
			n++
		}
		w.addRegion(set, list[:n])
		list = list[n:]
	}
}

// mapped returns the extents whose memory is there. That of extents that are not in use may have been returned.
func (w *walk) mapped() (list []*extent) {
	for i := range w.extents {
		if x := &w.extents[i]; x.used || w.isAnonymous(x.Range) {
			list = append(list, x)
		}
	}
	return list
}

func (w *walk) addRegion(set *blocks.Set, list []*extent) {
	region, err := blocks.NewRegion(blocks.Range{Start: list[0].Start, End: list[len(list)-1].End})
	if err == nil {
		for _, x := range list {
			x.addBlocks(region)
		}
		err = set.Add(region)
	}
	if err != nil {
		w.problem("extents: %w", err)
	}
}

// addBlocks adds the blocks of an extent to a region.
func (x *extent) addBlocks(region *blocks.Region) {
	switch {
	case !x.used:
		region.Add(x.Start, true)
	case x.slab:
		x.addRegions(region)
	default:
		x.addLarge(region)
	}
}

// addRegions adds the regions of a slab. What is left at its end is free. Regions of 8 bytes are added in pairs.
func (x *extent) addRegions(region *blocks.Region) {
	size, n := classes[x.class], x.regions()
	if size == tiny {
		for i := 0; i < n; i += 2 {
			region.Add(x.Start+uint64(i)*tiny, x.isFree(i) && (i+1 == n || x.isFree(i+1)))
		}
		return
	}
	for i := range n {
		region.Add(x.Start+uint64(i)*size, x.isFree(i))
	}
	if end := x.Start + uint64(n)*size; end < x.End {
		region.Add(end, true)
	}
}

// addLarge adds a large block. What is before and behind it is free.
func (x *extent) addLarge(region *blocks.Region) {
	if x.block > x.Start {
		region.Add(x.Start, true)
	}
	region.Add(x.block, x.isFree(0))
	if size := classes[x.class]; size < x.End-x.block {
		region.Add(x.block+size, true)
	}
}

func (x *extent) isFree(region int) bool { return x.free[region/64]>>(region%64)&1 != 0 }

// find returns the number of the region that contains an address, or ok is false if it does not begin there.
func (x *extent) find(address uint64) (region int, ok bool) {
	if !x.slab {
		return 0, address == x.block
	}
	region = int((address - x.Start) / classes[x.class])
	return region, region < x.regions() && (address-x.Start)%classes[x.class] == 0
}

func (x *extent) setFree(region int) { x.free[region/64] |= 1 << (region % 64) }
