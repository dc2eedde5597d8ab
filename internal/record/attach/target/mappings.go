//go:build linux

package target

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mapping is a line of /proc/PID/maps.
type Mapping struct {
	Start, End, Offset uint64
	Permissions, Path  string
}

// Mappings reads the mappings of a process.
func Mappings(pid int) ([]Mapping, error) {
	b, err := readWhole(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	return parseMappings(b)
}

// readWhole reads a file of /proc in few pieces: a thread may be stopped meanwhile, and [os.ReadFile]
// begins with 512 bytes, as these files have no size.
func readWhole(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	const piece = 64 << 10
	b := make([]byte, 0, piece)
	for {
		b = slices.Grow(b, piece/2)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return b, nil
		}
		b = b[:len(b)+n]
	}
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
