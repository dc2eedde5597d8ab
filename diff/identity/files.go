package identity

import "github.com/heaplapse/heaplapse/symbolize"

// leastShared is the share of the fewer offsets that two files must have in common to be taken for one. A rebuilt file keeps hardly
// any of its return addresses, two runs of one build share most.
const leastShared = 0.5

// SameFiles finds the modules of two sides that are one file: by build ID; where neither side has one, by path and by
// the offsets that their stacks have in common.
func SameFiles(base, current *symbolize.Symbols) (inBase, inCurrent map[symbolize.ModuleID]bool) {
	inBase, inCurrent = map[symbolize.ModuleID]bool{}, map[symbolize.ModuleID]bool{}
	known := map[string]symbolize.ModuleID{}
	for i := range base.Modules {
		known[fileKey(&base.Modules[i])] = symbolize.ModuleID(i)
	}
	offsets := [2]map[symbolize.ModuleID]map[uint64]bool{offsetsOf(base), offsetsOf(current)}
	for i := range current.Modules {
		id := symbolize.ModuleID(i)
		other, ok := known[fileKey(&current.Modules[i])]
		if ok && (current.Modules[i].BuildID != "" || alike(offsets[0][other], offsets[1][id])) {
			inBase[other], inCurrent[id] = true, true
		}
	}
	return inBase, inCurrent
}

// fileKey is what may make a file the same on both sides. Offsets mean one thing where the file was read, and another where it
// was not.
func fileKey(m *symbolize.Module) string {
	switch {
	case m.BuildID != "":
		return "id " + m.BuildID
	case m.File != "":
		return "read " + m.Path
	}
	return "missing " + m.Path
}

// offsetsOf are the offsets within each file without a build ID.
func offsetsOf(s *symbolize.Symbols) map[symbolize.ModuleID]map[uint64]bool {
	out := map[symbolize.ModuleID]map[uint64]bool{}
	for i := range s.Locations {
		l := &s.Locations[i]
		if m := s.Module(l); m == nil || m.BuildID != "" {
			continue
		}
		if out[l.Module] == nil {
			out[l.Module] = map[uint64]bool{}
		}
		out[l.Module][l.Offset] = true
	}
	return out
}

// alike says whether two sets of offsets may be of one file.
func alike(a, b map[uint64]bool) bool {
	both := 0
	for offset := range a {
		if b[offset] {
			both++
		}
	}
	return both > 0 && float64(both) >= leastShared*float64(min(len(a), len(b)))
}
