package rss

import (
	"cmp"
	"slices"
)

// most limits lists of sizes and of mappings.
const most = 10

// sizes adds up blocks by their size.
type sizes map[uint64]*Size

func (s sizes) add(size, bytes uint64, n int64) {
	of := s[size]
	if of == nil {
		of = &Size{Size: int64(size)}
		s[size] = of
	}
	of.Blocks += n
	of.Bytes += int64(bytes)
}

// largest returns the sizes with the most bytes.
func (s sizes) largest() []Size {
	list := []Size{}
	for _, of := range s {
		list = append(list, *of)
	}
	slices.SortFunc(list, func(a, b Size) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Size, b.Size))
	})
	return list[:min(len(list), most)]
}

// sample keeps some addresses, evenly spaced.
type sample struct {
	list []uint64
	seen int
	step int // one of so many is kept; 0 is 1
}

func (s *sample) add(address uint64) {
	const limit = 128
	s.step = max(s.step, 1)
	if s.seen%s.step == 0 {
		if len(s.list) == limit {
			for i := range limit / 2 {
				s.list[i] = s.list[2*i]
			}
			s.list, s.step = s.list[:limit/2], 2*s.step
		}
		if s.seen%s.step == 0 {
			s.list = append(s.list, address)
		}
	}
	s.seen++
}

// names adds up mappings by their name.
type names map[string]*Mapping

func (n names) add(name string, bytes uint64) {
	if bytes == 0 {
		return
	}
	m := n[name]
	if m == nil {
		m = &Mapping{Name: name}
		n[name] = m
	}
	m.Bytes += int64(bytes)
	m.Largest = max(m.Largest, int64(bytes))
	m.Count++
}

// largest returns the names with the most bytes.
func (n names) largest() []Mapping {
	list := []Mapping{}
	for _, m := range n {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Mapping) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), most)]
}

// byFree sorts the main arena before the others, and those with more free memory before those with less.
func byFree(a, b Arena) int {
	switch {
	case a.Main != b.Main && a.Main:
		return -1
	case a.Main != b.Main:
		return 1
	}
	return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(b.Live, a.Live))
}
