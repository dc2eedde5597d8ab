package heapfile

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// isMapsSentinel reports whether a line is the one before the mappings.
func isMapsSentinel(line []byte) bool {
	return bytes.Equal(line, mapsGperftools) || bytes.Equal(line, mapsGoogle)
}

var (
	mapsGperftools = []byte("MAPPED_LIBRARIES:")
	mapsGoogle     = []byte("--- Memory map: ---")
)

// mapsReader decodes the lines of a mappings section. Snapshots repeat the lines of earlier ones,
// so it keeps decoded lines by their text.
type mapsReader struct {
	cache map[string]Mapping
	attrs []string // "$name", "value", … for strings.NewReplacer
}

// maxCachedMaps bounds the cache: some processes map and unmap files without end.
const maxCachedMaps = 1 << 16

func (m *mapsReader) begin() { m.attrs = m.attrs[:0] }

// line decodes one line. ok reports whether it is a mapping or an attribute, keep whether it is a
// mapping.
func (m *mapsReader) line(line []byte) (mapping Mapping, keep, ok bool) {
	if len(m.attrs) > 0 && bytes.IndexByte(line, '$') >= 0 {
		line = []byte(strings.NewReplacer(m.attrs...).Replace(string(line)))
		if len(line) > maxLine {
			return Mapping{}, false, false
		}
	}
	if bytes.IndexByte(line, 0) >= 0 { // no path has one
		return Mapping{}, false, false
	}
	if c, hit := m.cache[string(line)]; hit {
		return c, true, true
	}
	text := string(line)
	mapping, ok = parseMapping(text)
	if !ok {
		mapping, ok = parseMapping(withoutLogPrefix(text))
	}
	if ok {
		if m.cache == nil || len(m.cache) >= maxCachedMaps {
			m.cache = make(map[string]Mapping)
		}
		m.cache[text] = mapping
		return mapping, true, true
	}
	return Mapping{}, false, m.attribute(withoutLogPrefix(text))
}

// attribute decodes `build=/home/build/out`, which later lines use as $build.
func (m *mapsReader) attribute(line string) bool {
	const maxAttrs = 1000
	name, value, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t/") || len(m.attrs) > maxAttrs {
		return false
	}
	m.attrs = append(m.attrs, "$"+name, strings.TrimSpace(value))
	return true
}

// withoutLogPrefix drops glog's `I0102 03:04:05 file.cc:12] `.
func withoutLogPrefix(line string) string {
	if i := strings.Index(line, "] "); i > 0 && !strings.Contains(line[:i], "[") {
		return line[i+2:]
	}
	return line
}

// parseMapping decodes a line of /proc/PID/maps,
//
//	55d0c0a4e000-55d0c0a52000 r-xp 00001000 00:00 1835    /usr/bin/program (deleted)
//
// or Google's brief form,
//
//	40000-80000: /path/to/binary (@ff00) abc123456
//
// or /proc/curproc/map of FreeBSD and DragonFly (see parseBSD). gperftools 2.15.90 to 2.16.90
// writes no blank between a long inode and the path.
func parseMapping(s string) (Mapping, bool) {
	s = strings.TrimRight(s, " \t\r")
	m, rest, ok := parseRange(s)
	if !ok {
		return Mapping{}, false
	}
	if bsd, ok := parseBSD(m, rest); ok {
		return bsd, true
	}
	perm, rest := word(rest)
	if !isPerm(perm) {
		return parseBrief(m, s[len(s)-len(rest)-len(perm):])
	}
	m.Perm = perm
	if full, ok := parseProcMaps(m, rest); ok {
		return full, true
	}
	return parseBrief(m, rest)
}

// parseRange decodes `40000-80000` with an optional 0x and trailing colon.
func parseRange(s string) (m Mapping, rest string, ok bool) {
	start, rest, ok := hexField(strings.TrimLeft(s, " \t"))
	if !ok || rest == "" || (rest[0] != '-' && rest[0] != ' ') {
		return Mapping{}, "", false
	}
	limit, rest, ok := hexField(strings.TrimLeft(rest[1:], " "))
	if !ok || limit < start {
		return Mapping{}, "", false
	}
	rest = strings.TrimPrefix(rest, ":")
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return Mapping{}, "", false
	}
	return Mapping{Start: start, Limit: limit}, rest, true
}

// parseProcMaps decodes what follows the permissions: `00001000 00:00 1835   /path`.
func parseProcMaps(m Mapping, rest string) (Mapping, bool) {
	offset, rest := word(rest)
	device, rest := word(rest)
	off, err := strconv.ParseUint(offset, 16, 64)
	major, minor, colon := strings.Cut(device, ":")
	if err != nil || !colon || !isHex(major) || !isHex(minor) {
		return Mapping{}, false
	}
	rest = strings.TrimLeft(rest, " \t")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	inode, err := strconv.ParseUint(rest[:digits], 10, 64)
	if err != nil {
		return Mapping{}, false
	}
	m.Offset, m.Inode = Addr(off), inode
	m.setPath(strings.TrimLeft(rest[digits:], " \t"))
	return m, true
}

// parseBSD decodes what follows the range in a line of FreeBSD's and DragonFly's kernel
// (sys/fs/procfs/procfs_map.c): resident and private pages, object, permissions, references,
// shadows, flags, copy on write, needs copy, type, path, and on FreeBSD whether a credential
// charges the memory, and its user:
//
//	0x800600000 0x80061a000 26 0 0xfffff800035a0000 r-x 75 33 0x1004 COW NC vnode /libexec/ld-elf.so.1 NCH -1
//
// There is no offset in it; 0 is assumed, as jeprof does.
func parseBSD(m Mapping, rest string) (Mapping, bool) {
	var f [10]string
	for i := range f {
		f[i], rest = word(rest)
	}
	if !isPerm(f[3]) || (f[7] != "COW" && f[7] != "NCOW") || (f[8] != "NC" && f[8] != "NNC") {
		return Mapping{}, false
	}
	m.Perm = f[3]
	if f[9] == "vnode" {
		m.setPath(strings.TrimLeft(bsdCredential.ReplaceAllString(rest, ""), " "))
	}
	return m, true
}

// bsdCredential is what FreeBSD writes after the path.
var bsdCredential = regexp.MustCompile(` N?CH -?[0-9]+$`)

// parseBrief decodes `/path/to/binary (@ff00) abc123456`; all parts are optional.
func parseBrief(m Mapping, rest string) (Mapping, bool) {
	rest = strings.TrimLeft(rest, " \t")
	if path, tail, found := strings.Cut(rest, " (@"); found {
		off, id, closed := strings.Cut(tail, ")")
		v, err := strconv.ParseUint(off, 16, 64)
		if closed && err == nil {
			m.Offset, m.BuildID, rest = Addr(v), strings.TrimSpace(id), path
		}
	} else if path, id, found := strings.Cut(rest, " "); found && isHex(id) {
		m.BuildID, rest = id, path
	}
	if strings.ContainsAny(rest, "=") && !strings.HasPrefix(rest, "/") {
		return Mapping{}, false
	}
	m.setPath(rest)
	return m, m.Perm != "" || !isPerm(m.Path) // "xx" is permissions, not a path
}

func (m *Mapping) setPath(path string) {
	path = strings.TrimRight(path, " \t\r")
	m.Path, m.Deleted = strings.CutSuffix(path, " (deleted)")
}

func word(s string) (first, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func hexField(s string) (Addr, string, bool) {
	s = strings.TrimPrefix(s, "0x")
	n := 0
	for n < len(s) && hexDigit[s[n]] != 0xff {
		n++
	}
	v, err := strconv.ParseUint(s[:n], 16, 64)
	return Addr(v), s[n:], err == nil
}

func isHex(s string) bool {
	for i := range len(s) {
		if hexDigit[s[i]] == 0xff {
			return false
		}
	}
	return s != ""
}

// isPerm reports whether s is permissions such as "r-xp".
func isPerm(s string) bool {
	return s != "" && strings.Trim(s, "-rwxps") == ""
}
