//go:build linux

package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// fileName holds the fields of the name of a snapshot: <prefix>_<pid>.<seq>.heap,
// <prefix>.<seq>.heap, or jemalloc's <prefix>.<pid>.<seq>.<kind>.heap.
type fileName struct {
	pid, seq int
	kind     byte // i, m, u or f for jemalloc; 0 for gperftools
}

// parseName decodes the base name of a snapshot. prefix is the base name of the recording's prefix.
func parseName(base, prefix string) (fileName, bool) {
	rest, ok := strings.CutPrefix(base, prefix)
	rest, isHeap := strings.CutSuffix(rest, ".heap")
	if !ok || !isHeap {
		return fileName{}, false
	}
	before, parts, _ := strings.Cut(rest, ".")
	fields := strings.Split(parts, ".")
	var n fileName
	var numbers []string
	switch {
	case len(fields) == 3 && before == "" && fields[2] != "": // pid, seq, kind
		n.kind = fields[2][0]
		numbers = fields[:2]
	case len(fields) == 1 && before == "":
		numbers = []string{"0", fields[0]}
	case len(fields) == 1 && before[0] == '_':
		numbers = []string{before[1:], fields[0]}
	default:
		return fileName{}, false
	}
	var err1, err2 error
	n.pid, err1 = strconv.Atoi(numbers[0])
	n.seq, err2 = strconv.Atoi(numbers[1])
	return n, err1 == nil && err2 == nil
}

// snapshotFile is a snapshot that was written.
type snapshotFile struct {
	path string
	name fileName
	time time.Time
	// inuseBytes and allocBytes are the totals of the header, for gperftools only.
	inuseBytes, allocBytes int64
	maps                   []string // paths of the mapped files, by address
	base                   string   // address and path of the first mapping, which is the program's

	event   *snapshotEvent // nil if the engine reports none
	trigger string
	image   int
}

// errIncomplete reports that a snapshot has no list of mapped files, which is its last section.
var errIncomplete = errors.New("the snapshot is not complete")

// readSnapshot reads the header and the mappings. It skips the rows.
func readSnapshot(path string, name fileName) (*snapshotFile, error) {
	f, info, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &snapshotFile{path: path, name: name, time: info.ModTime()}
	head, err := bufio.NewReader(io.LimitReader(f, 512)).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errIncomplete)
	}
	s.header(head)
	maps, err := mapsOf(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.mappings(maps)
	return s, nil
}

// header parses the first line, such as `heap profile:    123:   456789 [   234:   567890] @ heapprofile`.
func (s *snapshotFile) header(line string) {
	var objects, allocs int64
	line = strings.NewReplacer("[", " ", ":", " ", "]", " ").Replace(line)
	_, err := fmt.Sscanf(line, "heap profile %d %d %d %d", &objects, &s.inuseBytes, &allocs, &s.allocBytes)
	if err != nil {
		s.inuseBytes, s.allocBytes = 0, 0
	}
}

var mapsMark = []byte("\nMAPPED_LIBRARIES:\n")

// maxMaps is the maximum size of the list of mapped files, in bytes.
const maxMaps = 64 << 20

// mapsOf returns the section at the end of a file that lists the mapped files. It reads a growing
// part of the file.
func mapsOf(f io.ReaderAt, size int64) ([]byte, error) {
	for window := int64(128 << 10); ; window *= 8 {
		from := max(0, size-window)
		b := make([]byte, size-from)
		if _, err := f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if i := bytes.LastIndex(b, mapsMark); i >= 0 {
			return b[i+len(mapsMark):], nil
		}
		if from == 0 || window > maxMaps {
			return nil, errIncomplete
		}
	}
}

// mappings parses lines of /proc/PID/maps, such as
// `55d0c0400000-55d0c0401000 r-xp 00001000 00:00 123  /usr/bin/python3`.
func (s *snapshotFile) mappings(text []byte) {
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		slash := bytes.IndexByte(line, '/')
		if slash < 0 {
			continue
		}
		path := strings.TrimRight(string(line[slash:]), "\n")
		if s.base == "" {
			start, _, _ := strings.Cut(string(line), "-")
			s.base = start + " " + path
		}
		if !seen[path] {
			seen[path] = true
			s.maps = append(s.maps, path)
		}
	}
}

// exe returns the path of the program that wrote the snapshot, or "" if it is unknown.
func (s *snapshotFile) exe() string {
	if len(s.maps) == 0 {
		return ""
	}
	return strings.TrimSuffix(s.maps[0], proc.DeletedSuffix)
}

// fileName returns the base name of the file.
func (s *snapshotFile) fileName() string { return filepath.Base(s.path) }
