package symbolize

import (
	"debug/elf"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// ELF names ELF virtual addresses of one file, as llvm-symbolizer does: an address stands for
// itself, not for the call before it; aliases follow its rule alone; a place between functions
// keeps its line, the address of a variable gives its name. The locations are in the order of the addresses.
func ELF(path string, addrs []uint64, o Options) ([]Location, error) {
	o.exact = true
	file, err := elffile.Open(path)
	if err != nil {
		return nil, err
	}
	if file.Type == elf.ET_REL {
		file.Close()
		return nil, fmt.Errorf("%s: an object file, whose functions have no addresses yet: name the program or library that it was linked into", path)
	}
	s := &Symbols{Modules: []Module{{Path: path, File: path, BuildID: file.BuildID}}, Locations: make([]Location, len(addrs))}
	located := make([]*Location, len(addrs))
	for i, a := range addrs {
		s.Locations[i] = Location{Offset: a + 1} // as if a call ended there
		located[i] = &s.Locations[i]
	}
	slices.SortFunc(located, compareOffset)
	names := newNameTable(o)
	var cache *moduleCache
	err = file.Guard(func() error {
		cache = openCache(file, finder{o})
		left := cache.answer(located)
		if cache.complete(located, left) {
			return nil
		}
		return nameModule(file, &s.Modules[0], left, finder{o}, names, cache)
	})
	file.Close()
	names.finish(s.Locations)
	_ = cache.save() // it is resolved again next time
	for i, a := range addrs {
		s.Locations[i].Offset = a
	}
	return s.Locations, err
}

// releaseEvery is the number of answers after which pages of the files are given back: debug strings lie all over
// their section, and a few thousand names touch most of it.
const releaseEvery = 1 << 11

// overlap has names demangled while further addresses are looked up.
func (img *image) overlap(names nameTable) func([]Frame) {
	var answers atomic.Int64
	return func(frames []Frame) {
		names.add(frames)
		if answers.Add(1)%releaseEvery == 0 {
			img.release()
		}
	}
}

// release gives the memory of the files' pages back.
func (img *image) release() {
	for _, f := range append([]*elffile.File{img.file, img.debug, img.alt}, img.split.files...) {
		if f != nil {
			f.Release()
		}
	}
}
