package symbolize

import (
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// finder looks for files on this machine.
type finder struct{ o Options }

// open opens a file by the path that it has, or had where the snapshots were bundled.
func (f finder) open(path string) (*elffile.File, error) {
	local := path
	switch {
	case f.o.Files != nil:
		var err error
		if local, err = f.o.Files.Find(path); err != nil {
			return nil, err
		}
	case path == vdsoFile:
		local = f.o.vdso
	}
	if f.o.Used == nil {
		return elffile.Opening{Called: path}.Open(local)
	}
	touched := &elffile.Touched{}
	file, err := elffile.Opening{Called: path, Touched: touched}.Open(local)
	f.o.Used.opened(path, file, touched, err)
	return file, err
}

// fetch asks debuginfod servers for a file; kind is "debuginfo" or "executable". nil if it cannot be had.
func (f finder) fetch(buildID, kind string) *elffile.File {
	path := ""
	if f.o.Files != nil {
		path = f.o.Files.Fetched(buildID, kind)
	} else if file := f.o.Debuginfod.find(buildID, kind); file != nil {
		path = file.Path
		file.Close()
		f.o.Used.fetched(buildID, kind, path)
	}
	if path == "" {
		return nil
	}
	file, err := f.open(path)
	if err != nil {
		return nil
	}
	return file
}

// crc is the CRC-32 of a whole file.
func (f finder) crc(path string) (uint32, error) {
	if f.o.Files != nil {
		return f.o.Files.CRC(path)
	}
	sum, err := fileCRC(path)
	if err == nil {
		f.o.Used.summed(path, sum)
	}
	return sum, err
}

// debugDirs are where separate debug files lie.
func (f finder) debugDirs() []string {
	if f.o.DebugDirs != nil {
		return f.o.DebugDirs
	}
	return []string{filepath.Join(f.o.Sysroot, "/usr/lib/debug")}
}

// module opens the file of a module: --binary for the program, else the mapped path under the sysroot, else
// the debug file with the recorded build ID, else what a debuginfod server has. A file of another build, which an upgrade may have left at the
// path, is opened only if there is nothing else, to be found stale.
func (f finder) module(m *Module, main bool) (*elffile.File, error) {
	if m.Path == vdsoPath {
		return f.open(vdsoFile)
	}
	path := filepath.Join(f.o.Sysroot, m.Path)
	if f.o.Sysroot == "" {
		path = m.Path
	}
	if main && f.o.Binary != "" {
		path = f.o.Binary
	}
	file, err := f.open(path)
	if err == nil && (m.BuildID == "" || file.BuildID == "" || file.BuildID == m.BuildID) {
		return file, nil
	}
	other := f.byBuildID(m.BuildID)
	if other == nil {
		other = f.fetch(m.BuildID, "executable")
	}
	if other == nil {
		return file, err
	}
	if err == nil {
		file.Close()
	}
	return other, nil
}

// byBuildID opens DIR/.build-id/ab/cdef….debug.
func (f finder) byBuildID(id string) *elffile.File {
	if len(id) < 3 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil
	}
	for _, dir := range f.debugDirs() {
		file, err := f.open(filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		if err != nil {
			continue
		}
		if file.BuildID == id {
			return file
		}
		file.Close()
	}
	return nil
}

// debugFile opens the separate debug file of a file that has no debug information: by build ID,
// else by .gnu_debuglink, whose CRC must agree, else from a debuginfod server. nil if there is none.
func (f finder) debugFile(file *elffile.File) *elffile.File {
	if d := f.localDebugFile(file); d != nil {
		return d
	}
	return f.fetch(file.BuildID, "debuginfo")
}

func (f finder) localDebugFile(file *elffile.File) *elffile.File {
	if d := f.byBuildID(file.BuildID); d != nil {
		return d
	}
	name, crc, ok := file.DebugLink()
	if !ok || strings.ContainsRune(name, '/') {
		return nil
	}
	dir := filepath.Dir(file.Path)
	inRoot, err := f.inRoot(dir)
	if err != nil {
		return nil
	}
	candidates := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
	for _, d := range f.debugDirs() {
		candidates = append(candidates, filepath.Join(d, inRoot, name))
	}
	for _, c := range candidates {
		if sum, err := f.crc(c); err != nil || sum != crc {
			continue
		}
		if d, err := f.open(c); err == nil {
			return d
		}
	}
	return nil
}

// inRoot is a directory as it is seen from the sysroot: debug directories repeat it.
func (f finder) inRoot(dir string) (string, error) {
	if f.o.Sysroot == "" {
		return filepath.Abs(dir)
	}
	return strings.TrimPrefix(dir, filepath.Clean(f.o.Sysroot)), nil
}

func fileCRC(path string) (uint32, error) {
	file, _, err := elffile.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, file)
	return sum.Sum32(), err
}

// altFile opens dwz's supplementary file, whose build ID must agree. nil if there is none.
func (f finder) altFile(file *elffile.File) *elffile.File {
	name, id, ok := file.AltLink()
	if !ok {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file.Path), name)
	} else if f.o.Sysroot != "" {
		name = filepath.Join(f.o.Sysroot, name)
	}
	if alt, err := f.open(name); err == nil {
		if alt.BuildID == id {
			return alt
		}
		alt.Close()
	}
	if alt := f.byBuildID(id); alt != nil {
		return alt
	}
	return f.fetch(id, "debuginfo")
}
