//go:build linux

package target

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// Anonymous reads the memory of a process that belongs to no file, by /proc/PID/mem. The caller must close it.
//
// It exists for copies made by fork. process_vm_readv(2) pins each page, and Linux from 5.19 on makes a
// copy of a page that a fork shares before it pins that (gup_must_unshare in mm/gup.c): to read a copy
// would take as much memory as the process has. /proc/PID/mem pins nothing. It would also read memory
// that the process cannot read, and registers of devices, where reading may change something: hence
// only this memory.
type Anonymous struct {
	file   *os.File
	ranges []Range // by address
}

// OpenAnonymous returns a reader of the anonymous memory among the mappings of a process.
func OpenAnonymous(pid int, mappings []Mapping) (*Anonymous, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, err
	}
	a := &Anonymous{file: f}
	for _, m := range mappings {
		if m.isAnonymous() {
			a.add(Range{m.Start, m.End})
		}
	}
	return a, nil
}

// isAnonymous reports whether a mapping is readable and private, and belongs to no file and not to the kernel.
func (m *Mapping) isAnonymous() bool {
	return strings.HasPrefix(m.Permissions, "r") && strings.HasSuffix(m.Permissions, "p") &&
		(m.Path == "" || m.Path == "[heap]" || m.Path == "[stack]" || strings.HasPrefix(m.Path, "[anon:"))
}

// add adds a range behind others.
func (a *Anonymous) add(r Range) {
	if n := len(a.ranges); n > 0 && a.ranges[n-1].End == r.Start {
		a.ranges[n-1].End = r.End
		return
	}
	a.ranges = append(a.ranges, r)
}

// has reports whether all of some bytes at an address are such memory.
func (a *Anonymous) has(address uint64, n int) bool {
	if a == nil {
		return false
	}
	i := sort.Search(len(a.ranges), func(i int) bool { return a.ranges[i].End > address })
	return i < len(a.ranges) && a.ranges[i].Start <= address && uint64(n) <= a.ranges[i].End-address
}

func (a *Anonymous) read(address uint64, b []byte) error {
	_, err := a.file.ReadAt(b, int64(address))
	if err == io.EOF { // the process has ended
		return fmt.Errorf("%s: %d bytes at %#x: %w", a.file.Name(), len(b), address, io.ErrUnexpectedEOF)
	}
	return err
}

// Close closes the file.
func (a *Anonymous) Close() error { return a.file.Close() }
