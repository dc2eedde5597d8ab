//go:build linux && amd64

package rss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Resident returns the parts of private memory without files that are in memory. list is sorted by address.
func Resident(pid int, list []blocks.Range) (resident []blocks.Range, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read := scan
	for _, r := range list {
		found, err := read(f, r)
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) { // before Linux 6.7
			read = readEntries
			found, err = read(f, r)
		}
		if err != nil {
			return nil, err
		}
		for _, part := range found {
			resident = ranges(resident).add(part)
		}
	}
	return resident, nil
}

// scanArgs is struct pm_scan_arg of linux/fs.h.
type scanArgs struct {
	size, flags, start, end, walkEnd uint64
	vector                           *pageRegion // which the runtime may move until the call
	length, maxPages                 uint64
	inverted, all, any, wanted       uint64
}

// pageRegion is struct page_region.
type pageRegion struct{ start, end, _ uint64 }

// scan asks the kernel for the pages that are in memory and not the page of zeros (PAGEMAP_SCAN).
func scan(f *os.File, r blocks.Range) (list ranges, err error) {
	const request, present, zero = 0xc0606610, 1 << 3, 1 << 5
	found := make([]pageRegion, 512)
	args := &scanArgs{
		start: r.Start, end: r.End, vector: &found[0], length: uint64(len(found)),
		inverted: zero, all: present | zero, wanted: present,
	}
	args.size = uint64(unsafe.Sizeof(*args))
	for args.start < args.end {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(args)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return nil, errno
		}
		for _, p := range found[:n] {
			list = list.add(blocks.Range{Start: p.start, End: p.end})
		}
		args.start = args.walkEnd
	}
	return list, nil
}

// readEntries reads an entry for each page. It cannot tell the page of zeros.
func readEntries(f *os.File, r blocks.Range) (list ranges, err error) {
	const entry, batch, present = 8, 8192, 1 << 63
	b := make([]byte, batch*entry)
	for at := r.Start; at < r.End; {
		n := min((r.End-at+pageSize-1)/pageSize, batch)
		if _, err := f.ReadAt(b[:n*entry], int64(at/pageSize*entry)); err != nil {
			return nil, err
		}
		for i := range n {
			if binary.LittleEndian.Uint64(b[i*entry:])&present != 0 {
				list = list.add(blocks.Range{Start: at, End: at + pageSize})
			}
			at += pageSize
		}
	}
	return list, nil
}
