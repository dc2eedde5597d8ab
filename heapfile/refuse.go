package heapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// refuseBytes returns an error that names what a file is, if its first bytes cannot start a
// snapshot.
func refuseBytes(path string, head []byte) error {
	for _, k := range knownBytes {
		if k.match(head) {
			return &FormatError{File: path, Kind: k.kind, Hint: k.hint}
		}
	}
	return nil
}

// refuse returns an error that names what a text file is, given a first line that is not a header.
func refuse(path string, line []byte) error {
	for _, k := range knownLines {
		if bytes.HasPrefix(line, []byte(k.prefix)) {
			return &FormatError{File: path, Kind: k.kind, Hint: k.hint}
		}
	}
	if by, ok := runners[filepath.Ext(path)]; ok {
		return &FormatError{File: path, Kind: "source code",
			Hint: "record the program first: heaplapse record -- " + by + filepath.Base(path)}
	}
	if slices.Contains(compiled, filepath.Ext(path)) {
		return &FormatError{File: path, Kind: "source code",
			Hint: "record the program first: heaplapse record -- ./PROGRAM"}
	}
	return &FormatError{File: path, Kind: fmt.Sprintf("its first line is %q", clip(line)),
		Hint: `a snapshot starts with "heap profile:" or "heap_v2/"`}
}

// runners are what runs source code, by the extension of its file.
var runners = map[string]string{
	".py": "python3 ", ".js": "node ", ".mjs": "node ", ".cjs": "node ", ".sh": "sh ", ".rb": "ruby ", ".pl": "perl ",
}

// compiled are the extensions of source code that is compiled.
var compiled = []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".rs", ".go", ".ts", ".java"}

var knownBytes = []struct {
	match      func([]byte) bool
	kind, hint string
}{
	{func(b []byte) bool { return len(b) == 0 }, "an empty file",
		"the process or the disk ended before it was written; remove it or record again"},
	{isCore, "a core file", "heap snapshots are written by a preloaded allocator, see HEAPPROFILE or MALLOC_CONF"},
	{hasPrefix("\x7fELF"), "an ELF file", "name the snapshots that the program wrote, not the program"},
	{isCPUProfile, "a gperftools CPU profile", "open it with `pprof`"},
	{hasPrefix("PK\x03\x04"), "a zip archive", "unpack it first"},
	{hasPrefix("\xfd7zXZ"), "compressed with xz", "decompress it first: unxz"},
	{hasPrefix("BZh"), "compressed with bzip2", "decompress it first: bunzip2"},
	{isTar, "a tar archive", "unpack it first"},
	{isBinary, "a binary file of unknown kind", ""},
}

var knownLines = []struct{ prefix, kind, hint string }{
	{"heap profile: DUMP_DEEP", "a DUMP_DEEP profile of Chromium's deep heap profiler",
		"its format is not supported; record with plain HEAPPROFILE"},
	{"--- heapz 1 ---", "a Java heap profile", "open it with `pprof`"},
	{"--- contention", "a contention profile", "open it with `pprof`"},
	{"--- mutex", "a mutex profile", "open it with `pprof`"},
	{"--- threadz", "a thread profile", "open it with `pprof`"},
	{"--- Thread", "a thread profile", "open it with `pprof`"},
	{"goroutine profile:", "a Go goroutine profile", "open it with `go tool pprof`"},
	{"threadcreate profile:", "a Go profile of the creation of threads", "open it with `go tool pprof`"},
	{"desc: ", "a recording of massif", "give it a name without .heap, such as massif.out"},
	{"v 1", "a recording of heaptrack", "give it a name without .heap, such as heaptrack.zst"},
	{"<?xml", "an XML file", "name the snapshots that the program wrote"},
	{`{"snapshot":{"meta"`, "a heap snapshot of V8, with the JavaScript objects of one moment",
		"open it with the DevTools of Chrome; for native memory, record the program with heaplapse"},
	{`{"head":{"callFrame"`, "a sampled heap profile of V8", "open it with the DevTools of Chrome"},
	{"{", "a JSON file", "name the snapshots that the program wrote"},
	{"heap profile:", "a heap profile whose header is not understood",
		`expected "heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ KIND", with a kind like heapprofile or heap_v2/524288`},
}

func hasPrefix(p string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(p)) }
}

func isCore(b []byte) bool {
	return len(b) > 18 && string(b[:4]) == "\x7fELF" && (b[16] == 4 || b[17] == 4)
}

// isCPUProfile recognizes the five header words 0, 3, version, period, 0. Words have 64 bits, or 32.
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
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return bytes.IndexByte(line, 0) >= 0 || (!utf8.Valid(line) && len(line) < len(b))
}
