package answer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Merge returns the different ones of some holders, the most frequent first, with the numbers of their blocks added
// up. A length or a limit is kept if all have the same.
func Merge(list []Holder) []Holder {
	type keyed struct {
		key string
		*Holder
	}
	of := map[string]int{}
	var different []keyed
	for _, h := range list {
		key := h.key()
		i, ok := of[key]
		if !ok {
			of[key] = len(different)
			h.Path = slices.Clone(h.Path)
			different = append(different, keyed{key, &h})
			continue
		}
		m := different[i]
		m.Blocks += h.Blocks
		for j := range m.Path {
			m.Path[j].merge(h.Path[j])
		}
	}
	slices.SortFunc(different, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(b.Blocks, a.Blocks), strings.Compare(a.key, b.key))
	})
	var merged []Holder
	for _, k := range different {
		merged = append(merged, *k.Holder)
	}
	return merged
}

// merge keeps what another step has, too. Of chains of different lengths, the longest is told.
func (s *Step) merge(other Step) {
	if s.Length != other.Length {
		s.Length = 0
	}
	if s.Limit != other.Limit {
		s.Limit = 0
	}
	s.Links = max(s.Links, other.Links)
}

// key is equal for holders that are told as one.
func (h *Holder) key() string {
	var b []byte
	line := strconv.Itoa(h.Line)
	for _, part := range []string{string(h.Kind), h.Name, h.Type, h.Module, h.Function, h.Variable, h.File, line} {
		b = append(append(b, part...), 0)
	}
	for _, s := range h.Path {
		b = append(append(append(append(b, s.Via...), 0), s.Type...), 0)
		b = strconv.AppendBool(b, s.Links > 0)
	}
	return string(b)
}

// Common returns the longest beginning of a way that at least a share of the blocks have in common, with the number of
// these blocks; none if they agree on nothing. more reports whether the ways of some of them go on.
func (h Held) Common(share float64) (common Holder, more bool) {
	left := h.By
	for steps := 0; ; steps++ {
		more = slices.ContainsFunc(left, func(h Holder) bool { return len(h.Path) >= steps && steps > 0 })
		next := mostFrequent(left, steps)
		if len(next) == 0 {
			return common, more
		}
		beginning := Merge(firstSteps(next, steps))[0]
		if float64(beginning.Blocks) < share*float64(h.Looked) {
			return common, more
		}
		common, left = beginning, next
	}
}

// mostFrequent returns the holders whose ways begin with the same steps as those of most blocks do.
func mostFrequent(list []Holder, steps int) (found []Holder) {
	list = slices.DeleteFunc(slices.Clone(list), func(h Holder) bool { return len(h.Path) < steps })
	first := Merge(firstSteps(list, steps))
	for _, h := range list {
		if key := firstSteps([]Holder{h}, steps)[0]; key.key() == first[0].key() {
			found = append(found, h)
		}
	}
	return found
}

// firstSteps returns holders with the first steps of their ways only.
func firstSteps(list []Holder, steps int) []Holder {
	list = slices.Clone(list)
	for i := range list {
		list[i].Path = list[i].Path[:steps]
	}
	return list
}

// Total returns the sum of the blocks.
func (h Held) Total() (n int) {
	for _, b := range h.By {
		n += b.Blocks
	}
	return n
}
