package compare

import (
	"strings"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile"
)

// sameProcess reports whether two snapshots are of one process image. Snapshots of two series are
// if their PIDs do not differ and one of their libraries is mapped at the same place, which address
// space randomisation changes at every start. (The program itself may be mapped at a fixed place.)
func sameProcess(a, b *Side) bool {
	if a.Series == b.Series {
		return a.Head.Image == b.Head.Image
	}
	if a.Series.PID() != b.Series.PID() {
		return false
	}
	if a.unmapped() && b.unmapped() {
		return shareAddresses(a, b)
	}
	starts := a.libraries()
	for path, start := range b.libraries() {
		if starts[path] == start {
			return true
		}
	}
	return false
}

// unmapped reports whether the snapshot has no mappings, because it was truncated before them.
func (s *Side) unmapped() bool {
	for _, space := range s.Series.Spaces {
		if space.Image == s.Head.Image && len(space.Mappings) > 0 {
			return false
		}
	}
	return true
}

// shareAddresses reports whether one side has half of the addresses of the other, or more. In
// another process, libraries would be at other addresses.
func shareAddresses(a, b *Side) bool {
	return identity.Alike(a.addresses(), b.addresses())
}

func (s *Side) addresses() map[heapfile.Addr]bool {
	out := map[heapfile.Addr]bool{}
	for i := range s.Symbols.Locations {
		if l := &s.Symbols.Locations[i]; !l.MadeUp() {
			out[l.Address] = true
		}
	}
	return out
}

// libraries are the start addresses of the libraries of the snapshot's process image, by path.
func (s *Side) libraries() map[string]heapfile.Addr {
	out := map[string]heapfile.Addr{}
	for _, space := range s.Series.Spaces {
		for _, m := range space.Mappings {
			if space.Image == s.Head.Image && !m.Virtual && (strings.Contains(m.Path, ".so") || m.Path == "[vdso]") {
				out[m.Path] = m.Start
			}
		}
	}
	return out
}
