package rss

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// kernelMapping is a mapping in /proc/PID/smaps.
type kernelMapping struct {
	blocks.Range
	permissions, path string
	file              bool // it has an inode
	rss, swap, huge   uint64
	hugetlb           uint64
	locked            bool
}

// isAnonymous reports whether the mapping is private memory without a file.
func (m kernelMapping) isAnonymous() bool {
	return !m.file && isAnonymous(m.permissions, m.path)
}

func isAnonymous(permissions, path string) bool {
	return strings.HasSuffix(permissions, "p") &&
		(path == "" || path == "[heap]" || path == "[stack]" || strings.HasPrefix(path, "[anon:"))
}

// parseSmaps parses /proc/PID/smaps. Unknown fields are ignored:
//
//	7f1c2a000000-7f1c2a021000 rw-p 00000000 08:01 1234    /usr/lib/x86_64-linux-gnu/libc.so.6
//	Rss:                 132 kB
//	VmFlags: rd wr mr mw me ac
func parseSmaps(r io.Reader) ([]kernelMapping, error) {
	const longest = 1 << 20
	var list []kernelMapping
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, longest)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		var ok bool
		if name, value, found := strings.Cut(line, ":"); found && len(list) > 0 && isField(name) {
			ok = list[len(list)-1].set(name, value)
		} else {
			var m kernelMapping
			if m, ok = parseHeader(line); ok {
				ok = len(list) == 0 || m.Start >= list[len(list)-1].End
				list = append(list, m)
			}
		}
		if !ok {
			return nil, fmt.Errorf("smaps:%d: unexpected %q", n, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("smaps: %w", err)
	}
	return list, nil
}

// isField reports whether a word is the name of a field. The first line of a mapping begins with its addresses.
func isField(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' }

// set sets a field.
func (m *kernelMapping) set(name, value string) bool {
	if name == "VmFlags" {
		m.locked = slices.Contains(strings.Fields(value), "lo")
		return true
	}
	field := m.field(name)
	if field == nil {
		return true
	}
	text, found := strings.CutSuffix(strings.TrimSpace(value), " kB")
	n, err := strconv.ParseUint(text, 10, 64)
	if !found || err != nil || n > (m.Size()-*field)>>10 {
		return false
	}
	*field += n << 10
	return true
}

func (m *kernelMapping) field(name string) *uint64 {
	switch name {
	case "Rss":
		return &m.rss
	case "Swap":
		return &m.swap
	case "AnonHugePages":
		return &m.huge
	case "Private_Hugetlb", "Shared_Hugetlb":
		return &m.hugetlb
	}
	return nil
}

// parseHeader parses the first line of a mapping.
func parseHeader(line string) (m kernelMapping, ok bool) {
	const fields = 5
	rest := line
	var f [fields]string
	for i := range f {
		f[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	start, end, found := strings.Cut(f[0], "-")
	var errs [3]error
	var inode uint64
	m.Start, errs[0] = strconv.ParseUint(start, 16, 64)
	m.End, errs[1] = strconv.ParseUint(end, 16, 64)
	inode, errs[2] = strconv.ParseUint(f[4], 10, 64)
	m.permissions, m.path, m.file = f[1], strings.TrimLeft(rest, " "), inode != 0
	return m, found && errs == [3]error{} && m.Start < m.End && len(f[1]) == 4
}
