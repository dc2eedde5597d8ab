//go:build linux

package target

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Mapping is a line of /proc/PID/maps.
type Mapping struct {
	Start, End, Offset uint64
	Permissions, Path  string
}

// Mappings reads the mappings of a process.
func Mappings(pid int) ([]Mapping, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	return parseMappings(b)
}

// parseMappings parses lines like
//
//	7f1c2a000000-7f1c2a021000 rw-p 00000000 08:01 1234    /usr/lib/x86_64-linux-gnu/libc.so.6
func parseMappings(b []byte) (list []Mapping, err error) {
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		m, ok := parseMapping(sc.Text())
		if !ok {
			return nil, fmt.Errorf("maps:%d: %q is not a mapping", n, sc.Text())
		}
		list = append(list, m)
	}
	return list, sc.Err()
}

func parseMapping(line string) (m Mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return m, false
	}
	start, end, found := strings.Cut(fields[0], "-")
	var errs [3]error
	m.Start, errs[0] = strconv.ParseUint(start, 16, 64)
	m.End, errs[1] = strconv.ParseUint(end, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.Permissions = fields[1]
	if i := strings.IndexAny(line, "/["); i >= 0 {
		m.Path = line[i:]
	}
	return m, found && errs == [3]error{} && m.Start < m.End
}

// Containing returns the mapping that contains an address.
func Containing(list []Mapping, address uint64) (Mapping, bool) {
	for _, m := range list {
		if address >= m.Start && address < m.End {
			return m, true
		}
	}
	return Mapping{}, false
}
