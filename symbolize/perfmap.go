package symbolize

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// perfMap is the functions that a just-in-time compiler wrote to perf-PID.map, as
// perf's tools/perf/Documentation/jit-interface.txt has it: `START SIZE name`, bare hex; or to a jitdump.
type perfMap struct {
	entries []perfEntry // sorted by start; of equal starts the last one written
	source  Source
	text    int // bytes of all names
}

type perfEntry struct {
	start, size uint64
	order       int
	name        string
	lines       []jitLine // of a jitdump: sorted by offset
}

// Caps of a perf map. A long Node process writes some hundred thousand lines of a hundred bytes; a compressed map of a few
// megabytes could hold a thousand times as much.
const (
	maxPerfEntries = 1 << 22
	maxPerfLine    = 64 << 10
	maxPerfText    = 256 << 20 // of all names
)

// tooLarge says whether a cap is reached.
func (m *perfMap) tooLarge() error {
	switch {
	case len(m.entries) > maxPerfEntries:
		return fmt.Errorf("more than %d entries", maxPerfEntries)
	case m.text > maxPerfText:
		return fmt.Errorf("names of more than %d bytes", maxPerfText)
	}
	return nil
}

// perfMap reads a perf map or a jitdump, .gz and .zst too. Lines that are cut off or malformed
// are passed over: the process may still be writing.
func (f finder) perfMap(path string) (*perfMap, error) {
	f.o.Used.generated(path)
	if f.o.Files == nil {
		return readPerfMap(path, path)
	}
	local, err := f.o.Files.Find(path)
	if err != nil {
		return nil, err
	}
	return readPerfMap(local, path)
}

// readPerfMap reads a file that goes by a path.
func readPerfMap(local, path string) (*perfMap, error) {
	f, err := os.Open(local)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, done, err := decompressor(f, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer done()
	in := bufio.NewReaderSize(r, maxPerfLine)
	parse := func() (*perfMap, error) { return parsePerfMap(in) }
	head, _ := in.Peek(4)
	if order, ok := jitMagic(head); ok {
		parse = func() (*perfMap, error) { return parseJITDump(in, order) }
	}
	m, err := parse()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func decompressor(r io.Reader, path string) (io.Reader, func(), error) {
	switch filepath.Ext(path) {
	case ".gz":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

func parsePerfMap(r io.Reader) (*perfMap, error) {
	m := &perfMap{source: SourcePerfMap}
	in := bufio.NewReaderSize(r, maxPerfLine)
	for rest := false; ; {
		line, err := in.ReadSlice('\n')
		tooLong := rest || errors.Is(err, bufio.ErrBufferFull)
		rest = errors.Is(err, bufio.ErrBufferFull)
		if e, ok := parsePerfLine(string(line)); ok && !tooLong && (err == nil || errors.Is(err, io.EOF)) {
			e.order = len(m.entries)
			m.entries = append(m.entries, e)
			m.text += len(e.name)
		}
		switch {
		case errors.Is(err, io.EOF):
			m.sort()
			return m, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case m.tooLarge() != nil:
			return nil, m.tooLarge()
		}
	}
}

// parsePerfLine decodes `3ef414c0 398 LazyCompile:*leakBuffers leak.js:2:21`.
func parsePerfLine(line string) (perfEntry, bool) {
	line = strings.TrimRight(line, "\r\n")
	start, rest, ok := strings.Cut(line, " ")
	size, name, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || name == "" {
		return perfEntry{}, false
	}
	a, err := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	if err != nil || err2 != nil || n == 0 || a+n < a {
		return perfEntry{}, false
	}
	return perfEntry{start: a, size: n, name: name}, true
}

func (m *perfMap) sort() {
	slices.SortFunc(m.entries, func(a, b perfEntry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
}

// find returns the entry that holds an address. Memory of code is used again: of several entries the one
// that was written last counts.
func (m *perfMap) find(a uint64) (perfEntry, bool) {
	const reach = 256 // entries looked back at: code ranges overlap rarely
	end, _ := slices.BinarySearchFunc(m.entries, a, func(e perfEntry, a uint64) int {
		if e.start <= a {
			return -1
		}
		return 1
	})
	best := -1
	for i := end - 1; i >= max(0, end-reach); i-- {
		if e := m.entries[i]; a-e.start < e.size && (best < 0 || e.order > m.entries[best].order) {
			best = i
		}
	}
	if best < 0 {
		return perfEntry{}, false
	}
	return m.entries[best], true
}

// resolveGenerated names what no file names by perf maps.
func (s *Symbols) resolveGenerated(series *series.Series, o Options) {
	if !slices.ContainsFunc(s.Locations, func(l Location) bool { return l.generated() }) {
		return
	}
	var maps []*perfMap
	for _, path := range perfMapPaths(series, o) {
		m, err := (finder{o}).perfMap(path)
		if err != nil {
			s.Warnings = append(s.Warnings, fmt.Errorf("perf map not used: %w", err))
			continue
		}
		maps = append(maps, m)
	}
	if len(maps) == 0 {
		return
	}
	for i := range s.Locations {
		if l := &s.Locations[i]; l.generated() {
			l.nameByPerfMaps(maps)
		}
	}
}

// generated says whether the address can be generated code.
func (l *Location) generated() bool {
	return l.Reason == ReasonAnonymous || l.Reason == ReasonNoMapping
}

func (l *Location) nameByPerfMaps(maps []*perfMap) {
	for _, m := range maps {
		if e, ok := m.find(uint64(l.Address) - 1); ok {
			l.Frames = []Frame{e.frame(uint64(l.Address) - 1)}
			l.Source, l.Reason = m.source, ReasonNone
			return
		}
	}
	if l.Reason == ReasonAnonymous {
		l.Reason = ReasonNoPerfEntry
	}
}

// perfMapPaths are the maps that were named, else those that are found: jitdumps first, for they know lines.
func perfMapPaths(series *series.Series, o Options) []string {
	if o.PerfMaps != nil {
		return o.PerfMaps
	}
	pid := series.PID()
	var paths []string
	for _, k := range []struct{ kind, name, elsewhere string }{
		{"jitdump", "jit-%s.dump", "/proc/%d/cwd"}, {"perf-map", "perf-%s.map", ""},
	} {
		if copies := copiedMaps(series, k.kind, pid); len(copies) > 0 {
			paths = append(paths, copies...)
			continue
		}
		paths = append(paths, findPerfMap(series.Dir(), k.name, k.elsewhere, pid, o.Sysroot == "")...)
	}
	return paths
}

// copiedMaps are the maps of a process that the recorder put beside the snapshots, as its manifest says.
func copiedMaps(series *series.Series, kind string, pid int) (paths []string) {
	if series.Manifest == nil {
		return nil
	}
	for _, f := range series.Manifest.Files {
		path := filepath.Join(series.Dir(), filepath.Base(f.File))
		if f.Kind != kind || (f.PID != 0 && f.PID != pid) || slices.Contains(paths, path) {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// findPerfMap looks beside the snapshots (for any, if it is the only one there and the PID is not known), else
// in /tmp and elsewhere on this machine.
func findPerfMap(dir, name, elsewhere string, pid int, here bool) []string {
	pattern := fmt.Sprintf(name, "*")
	if pid != 0 {
		pattern = fmt.Sprintf(name, strconv.Itoa(pid))
	}
	var beside []string
	for _, ext := range []string{"", ".gz", ".zst"} {
		found, _ := filepath.Glob(filepath.Join(globQuote(dir), pattern+ext))
		beside = append(beside, slices.DeleteFunc(found, isIrregular)...)
	}
	if len(beside) == 1 {
		return beside
	}
	if pid == 0 || len(beside) > 0 || !here {
		return nil
	}
	dirs := []string{"/tmp"}
	if elsewhere != "" {
		dirs = append(dirs, fmt.Sprintf(elsewhere, pid))
	}
	for _, d := range dirs {
		if path := filepath.Join(d, pattern); !isIrregular(path) {
			return []string{path}
		}
	}
	return nil
}

// isIrregular says that a path is not that of a regular file. Anybody may have put a pipe into /tmp, which nobody writes to; one
// that the user names is theirs.
func isIrregular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.Mode().IsRegular()
}

// globQuote keeps the special characters of a directory's name from being taken for a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// perfFrame takes a map's name apart where it follows V8's or CPython's form:
//
//	JS:*leakBuffers /srv/leak.js:2:21     V8; the sign is the compiler's tier
//	LazyCompile:~main /srv/leak.js:1:1    older V8
//	py::Tracker.record:/srv/leak.py       CPython
func perfFrame(name string) Frame {
	if rest, ok := strings.CutPrefix(name, "py::"); ok {
		if fn, file, ok := cutLastColon(rest); ok && fn != "" {
			return Frame{Function: fn, File: file}
		}
	}
	for _, prefix := range []string{"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return v8Frame(name, strings.TrimLeft(rest, "*~^+"))
		}
	}
	return Frame{Function: name}
}

// v8Frame decodes `leakBuffers /srv/leak.js:2:21`, whose function may be missing.
func v8Frame(whole, rest string) Frame {
	head, column, ok := cutLastColon(rest)
	head, line, ok2 := cutLastColon(head)
	l, err := strconv.Atoi(line)
	c, err2 := strconv.Atoi(column)
	if !ok || !ok2 || err != nil || err2 != nil {
		return Frame{Function: whole}
	}
	fn, file, ok := strings.Cut(head, " ")
	if !ok {
		fn, file = "", head
	}
	return Frame{Function: cmp.Or(fn, "(anonymous)"), File: file, Line: l, Column: c, StartLine: l}
}

// cutLastColon splits at the last colon.
func cutLastColon(s string) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
