package identity

import "github.com/heaplapse/heaplapse/symbolize"

// SameFiles returns the modules of two sides that are the same file: by build ID or, where neither
// side has one, by path and by the offsets that their stacks have in common.
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
		if ok && (current.Modules[i].BuildID != "" || Alike(offsets[0][other], offsets[1][id])) {
			inBase[other], inCurrent[id] = true, true
		}
	}
	return inBase, inCurrent
}

// fileKey is what the same file has in common on both sides. A file that was read on one side only
// is not the same: offsets have another meaning where a file was not read.
func fileKey(m *symbolize.Module) string {
	switch {
	case m.BuildID != "":
		return "id " + m.BuildID
	case m.File != "":
		return "read " + m.Path
	}
	return "missing " + m.Path
}

// offsetsOf are the offsets of the locations within each file without a build ID.
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

// Alike reports whether two sets of return addresses, or of their offsets within a file, may be of
// the same build at the same address: they share at least half of the smaller set. Two runs of one
// build share most addresses, and runs of different builds hardly any.
func Alike[K comparable](a, b map[K]bool) bool {
	both := 0
	for k := range a {
		if b[k] {
			both++
		}
	}
	return both > 0 && 2*both >= min(len(a), len(b))
}
