package symbolize

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwp"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// splitUnits has the files with split debug information (gcc -gsplit-dwarf): the packages
// BINARY.dwp and DEBUGFILE.dwp, and the .dwo files of the compiler for units that are in no
// package.
type splitUnits struct {
	files    []*elffile.File // all open files
	packages []splitPackage
	opened   bool                   // the packages were opened, if they exist
	known    map[uint64]*dwarf.Data // by ID; nil if there is no such unit
	err      error                  // the first error in a package
}

// splitPackage is an open .dwp file.
type splitPackage struct {
	path string
	*dwp.Package
}

const packageSuffix = ".dwp"

// splitUnit returns the split unit with an ID, or nil if there is none.
func (img *image) splitUnit(name, compDir string, id uint64) *dwarf.Data {
	s := &img.split
	if d, ok := s.known[id]; ok {
		return d
	}
	if s.known == nil {
		s.known = map[uint64]*dwarf.Data{}
	}
	if !s.opened {
		s.opened = true
		s.keep(s.openPackage(img.r.search, img.file.Path+packageSuffix))
		if img.debug != nil {
			s.keep(s.openPackage(img.r.search, img.debug.Path+packageSuffix))
		}
	}
	d := s.packaged(id)
	if d == nil {
		d = img.openSplit(name, compDir)
	}
	s.known[id] = d
	return d
}

// keep keeps the first error in a package. Units that are not in a package are searched in .dwo
// files.
func (s *splitUnits) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// packaged returns the unit with an ID in a package, or nil.
func (s *splitUnits) packaged(id uint64) *dwarf.Data {
	for _, p := range s.packages {
		sections, ok, err := p.Unit(id)
		s.keep(inFile(p.path, err))
		if ok {
			return dwarf.New(sections, dwarf.Options{})
		}
	}
	return nil
}

// openPackage opens a .dwp file. Most binaries have none.
func (s *splitUnits) openPackage(search files.Search, path string) error {
	file, err := search.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	index, err := file.Section(dwp.IndexSection)
	if err != nil || index == nil {
		return err
	}
	sections, err := debugSections(file, ".dwo")
	if err != nil {
		return err
	}
	p, err := dwp.Open(index, sections)
	if err != nil {
		return inFile(path, err)
	}
	s.packages = append(s.packages, splitPackage{path, p})
	return nil
}

// inFile adds the path to an error in a section.
func inFile(path string, err error) error {
	if format := (*dwarf.FormatError)(nil); errors.As(err, &format) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// openSplit opens a .dwo file.
func (img *image) openSplit(name, compDir string) *dwarf.Data {
	info := img.file
	if img.debug != nil {
		info = img.debug
	}
	for _, path := range img.r.search.SplitPaths(name, compDir, info) {
		f, err := img.r.search.Open(path)
		if err != nil {
			continue
		}
		img.split.files = append(img.split.files, f)
		if s, err := debugSections(f, ".dwo"); err == nil && len(s.Info) > 0 {
			return dwarf.New(s, dwarf.Options{})
		}
	}
	return nil
}
