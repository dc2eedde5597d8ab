// Package kinds names files that are not snapshots by their first bytes, and what to do with them.
package kinds

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// Kind is what a file is.
type Kind struct {
	// Name is such as "a core file". Hint is what to do instead; it may be empty.
	Name, Hint string
}

// OfBytes returns the kind of a file whose first bytes cannot start a snapshot; false if they can.
func OfBytes(head []byte) (Kind, bool) {
	for _, k := range knownBytes {
		if k.match(head) {
			return k.Kind, true
		}
	}
	return Kind{}, false
}

// OfLine returns the kind of a text file by its first line, or else by its name; false if neither
// tells.
func OfLine(path string, line []byte) (Kind, bool) {
	for _, k := range knownLines {
		if bytes.HasPrefix(line, []byte(k.prefix)) {
			return k.Kind, true
		}
	}
	const code, hint = "source code", "record the program first: heaplapse record -- "
	if by, ok := runners[filepath.Ext(path)]; ok {
		return Kind{code, hint + by + filepath.Base(path)}, true
	}
	return Kind{code, hint + "./PROGRAM"}, slices.Contains(compiled, filepath.Ext(path))
}

// runners are what runs source code, by the extension of its file.
var runners = map[string]string{
	".py": "python3 ", ".js": "node ", ".mjs": "node ", ".cjs": "node ", ".sh": "sh ", ".rb": "ruby ", ".pl": "perl ",
}

// compiled are the extensions of source code that is compiled.
var compiled = []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".rs", ".go", ".ts", ".java"}

var knownBytes = []struct {
	match func([]byte) bool
	Kind
}{
	{func(b []byte) bool { return len(b) == 0 }, Kind{"an empty file",
		"the process or the disk ended before it was written; remove it or record again"}},
	{isCore, Kind{"a core file", "heap snapshots are written by a preloaded allocator, see HEAPPROFILE or MALLOC_CONF"}},
	{hasPrefix("\x7fELF"), Kind{"an ELF file", "name the snapshots that the program wrote, not the program"}},
	{isCPUProfile, Kind{"a gperftools CPU profile", "open it with `pprof`"}},
	{hasPrefix("PK\x03\x04"), Kind{"a zip archive", "unpack it first"}},
	{hasPrefix("\xfd7zXZ"), Kind{"compressed with xz", "decompress it first: unxz"}},
	{hasPrefix("BZh"), Kind{"compressed with bzip2", "decompress it first: bunzip2"}},
	{isTar, Kind{"a tar archive", "unpack it first"}},
	{isBinary, Kind{"a binary file of unknown kind", ""}},
}

var knownLines = []struct {
	prefix string
	Kind
}{
	{"heap profile: DUMP_DEEP", Kind{"a DUMP_DEEP profile of Chromium's deep heap profiler",
		"its format is not supported; record with plain HEAPPROFILE"}},
	{"--- heapz 1 ---", Kind{"a Java heap profile", "open it with `pprof`"}},
	{"--- contention", Kind{"a contention profile", "open it with `pprof`"}},
	{"--- mutex", Kind{"a mutex profile", "open it with `pprof`"}},
	{"--- threadz", Kind{"a thread profile", "open it with `pprof`"}},
	{"--- Thread", Kind{"a thread profile", "open it with `pprof`"}},
	{"goroutine profile:", Kind{"a Go goroutine profile", "open it with `go tool pprof`"}},
	{"threadcreate profile:", Kind{"a Go profile of the creation of threads", "open it with `go tool pprof`"}},
	{"desc: ", Kind{"a recording of massif", "give it a name without .heap, such as massif.out"}},
	{"v 1", Kind{"a recording of heaptrack", "give it a name without .heap, such as heaptrack.zst"}},
	{"<?xml", Kind{"an XML file", "name the snapshots that the program wrote"}},
	{`{"snapshot":{"meta"`, Kind{"a heap snapshot of V8, with the JavaScript objects of one moment",
		"open it with the DevTools of Chrome; for native memory, record the program with heaplapse"}},
	{`{"head":{"callFrame"`, Kind{"a sampled heap profile of V8", "open it with the DevTools of Chrome"}},
	{"{", Kind{"a JSON file", "name the snapshots that the program wrote"}},
	{"heap profile:", Kind{"a heap profile whose header is not understood",
		`expected "heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ KIND", with a kind like heapprofile or heap_v2/524288`}},
}

func hasPrefix(p string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(p)) }
}

func isCore(b []byte) bool {
	return len(b) > 18 && string(b[:4]) == "\x7fELF" && (b[16] == 4 || b[17] == 4)
}

// isCPUProfile recognizes the five header words 0, 3, version, period, 0. Words have 64 bits, or
// 32.
func isCPUProfile(b []byte) bool {
	if len(b) < 24 {
		return false
	}
	words := binary.LittleEndian
	return words.Uint64(b) == 0 && words.Uint64(b[8:]) == 3 || words.Uint32(b) == 0 && words.Uint32(b[4:]) == 3
}

func isTar(b []byte) bool { return len(b) >= 262 && string(b[257:262]) == "ustar" }

// isBinary recognizes bytes that no text has. It looks at the first line only, because later lines
// may hold paths in another encoding.
func isBinary(b []byte) bool {
	line, _, whole := bytes.Cut(b, []byte("\n"))
	for i := 1; !whole && i < utf8.UTFMax && len(line) > 0 && !utf8.Valid(line); i++ {
		line = line[:len(line)-1] // its last character may not be whole
	}
	return bytes.IndexByte(b[:len(line)], 0) >= 0 || !utf8.Valid(line)
}
