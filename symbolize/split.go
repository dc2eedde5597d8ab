package symbolize

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// splitUnits are the files that hold split debug information (gcc -gsplit-dwarf): packages beside the
// binary or its debug file, <binary>.dwp, else the compiler's .dwo files.
type splitUnits struct {
	files    []*elffile.File // all that were opened
	packages []splitPackage
	opened   bool                   // packages were looked for
	known    map[uint64]*dwarf.Data // by ID; nil where it was not found
	err      error                  // the first fault in a package
}

// splitPackage is an open .dwp file.
type splitPackage struct {
	path string
	*dwarf.Package
}

const packageSuffix = ".dwp"

// splitUnit finds the split unit with an ID, nil if there is none.
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
		s.keep(s.openPackage(img.finder, img.file.Path+packageSuffix))
		if img.debug != nil {
			s.keep(s.openPackage(img.finder, img.debug.Path+packageSuffix))
		}
	}
	d := s.packaged(id)
	if d == nil {
		d = img.openSplit(name, compDir)
	}
	s.known[id] = d
	return d
}

// keep notes the first fault of a package. What the package lacks then is looked for elsewhere.
func (s *splitUnits) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *splitUnits) packaged(id uint64) *dwarf.Data {
	for _, p := range s.packages {
		d, err := p.Unit(id)
		s.keep(inFile(p.path, err))
		if d != nil {
			return d
		}
	}
	return nil
}

// openPackage opens a .dwp file, if there is one.
func (s *splitUnits) openPackage(f finder, path string) error {
	file, err := f.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // most binaries have none
	}
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	index, err := file.Section(dwarf.IndexSection)
	if err != nil || index == nil {
		return err
	}
	sections, err := debugSections(file, ".dwo")
	if err != nil {
		return err
	}
	p, err := dwarf.OpenPackage(index, sections)
	if err != nil {
		return inFile(path, err)
	}
	s.packages = append(s.packages, splitPackage{path, p})
	return nil
}

// inFile puts the file before a fault in one of its sections.
func inFile(path string, err error) error {
	if format := (*dwarf.FormatError)(nil); errors.As(err, &format) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// openSplit opens a .dwo file: where the compiler wrote it, or beside the file that refers to it.
func (img *image) openSplit(name, compDir string) *dwarf.Data {
	info := img.file
	if img.debug != nil {
		info = img.debug
	}
	candidates := []string{name, filepath.Join(filepath.Dir(info.Path), filepath.Base(name))}
	if !filepath.IsAbs(name) {
		candidates[0] = filepath.Join(compDir, name)
	}
	candidates[0] = filepath.Join(img.finder.o.Sysroot, candidates[0])
	for _, c := range candidates {
		f, err := img.finder.open(c)
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
