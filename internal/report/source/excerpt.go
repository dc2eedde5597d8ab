package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// Limits of an excerpt.
const (
	maxSize = 4 << 20 // of a file, in bytes
	around  = 3       // lines before and after the one that is named
	maxLine = 160     // characters of a line
)

// extensions are those of source files. Files of settings and data may contain secrets.
var extensions = strings.Fields(`.c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .inl .ipp .tcc .cu .cuh
	.rs .go .zig .d .m .mm .swift .f .f90 .f95 .jl .hs .ml .java .kt .scala .cs
	.py .pyx .pxd .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .pl .pm .php .lua .r .R .tcl`)

// Excerpt is some lines of a source file.
type Excerpt struct {
	// First is the number of the first line, from 1.
	First int
	// Lines have no control characters.
	Lines []string
	// Modified is when the file was modified.
	Modified time.Time
}

// Around returns the lines around one that debug information or a frames file names. ok is false
// unless the file is a source file below the directory that may be shown: of a known extension,
// regular, not larger than 4 MiB, valid UTF-8, of root or of this user, and neither hidden nor
// behind a symbolic link.
func (d *Dir) Around(name string, line int) (e Excerpt, ok bool) {
	if line < 1 || !slices.Contains(extensions, filepath.Ext(name)) {
		return e, false
	}
	relative, found := d.Find(name)
	if !found || d.hidden(relative) {
		return e, false
	}
	content, modified, err := d.read(relative)
	if err != nil || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return e, false
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if line > len(lines) {
		return e, false
	}
	first := max(line-around, 1)
	e = Excerpt{First: first, Modified: modified}
	for _, l := range lines[first-1 : min(line+around, len(lines))] {
		l = strings.ReplaceAll(strings.TrimRight(l, "\r"), "\t", "    ")
		e.Lines = append(e.Lines, text.Clip(l, maxLine))
	}
	return e, true
}

// hidden reports whether a part of a path is hidden or a symbolic link.
func (d *Dir) hidden(relative string) bool {
	path := ""
	for _, part := range strings.Split(relative, "/") {
		path = filepath.Join(path, part)
		info, err := d.root.Lstat(path)
		if err != nil || strings.HasPrefix(part, ".") || info.Mode().Type() == fs.ModeSymlink {
			return true
		}
	}
	return false
}

var errNotShown = errors.New("not a source file that may be shown")

// read returns the content of a file, and when it was modified.
func (d *Dir) read(relative string) ([]byte, time.Time, error) {
	f, err := d.root.OpenFile(relative, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || !isOwn(info) || info.Size() > maxSize {
		return nil, time.Time{}, errNotShown
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize))
	return content, info.ModTime(), err
}

// isOwn reports whether a file belongs to this user or root.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}
