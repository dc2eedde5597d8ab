package symbolize

import (
	"slices"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// ELF names ELF virtual addresses of one file, as llvm-symbolizer does: an address stands for
// itself, not for the call before it; aliases follow its rule alone; a place between functions
// keeps its line. The locations are in the order of the addresses.
func ELF(path string, addrs []uint64, o Options) ([]Location, error) {
	o.exact = true
	file, err := elffile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s := &Symbols{Modules: []Module{{Path: path, File: path, BuildID: file.BuildID}}, Locations: make([]Location, len(addrs))}
	located := make([]*Location, len(addrs))
	for i, a := range addrs {
		s.Locations[i] = Location{Offset: a + 1} // as if a call ended there
		located[i] = &s.Locations[i]
	}
	slices.SortStableFunc(located, compareOffset)
	err = file.Guard(func() error { return nameFile(file, located, o) })
	s.demangle(o)
	for i, a := range addrs {
		s.Locations[i].Offset = a
	}
	return s.Locations, err
}

func nameFile(file *elffile.File, located []*Location, o Options) error {
	img, err := openImage(file, finder{o})
	defer img.close()
	if fault := img.name(located); err == nil {
		err = fault
	}
	noteUnnamed(located, img, err)
	return err
}
