//go:build linux && amd64

// Package pagemap tells which pages of a process have content, by /proc/PID/pagemap
// (Documentation/admin-guide/mm/pagemap.rst of Linux).
package pagemap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const pageSize = 4096

// File is the map of a process. The caller must close it.
type File struct{ *os.File }

// Open opens the map of a process.
func Open(pid int) (File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	return File{f}, err
}

// Present returns the parts of a range that are in memory. From Linux 6.7 on, the page of zeros does not count.
func (f File) Present(r blocks.Range) ([]blocks.Range, error) {
	list, err := f.scan(query{inverted: isZero, all: isPresent | isZero, wanted: isPresent}, r, nil)
	if isUnknown(err) {
		return f.entries(r, func(entry uint64) bool { return entry&entryPresent != 0 })
	}
	return list, err
}

// Written returns the parts of a range that are in memory or in swap, which includes the page of zeros. A guard page
// (MADV_GUARD_INSTALL), as glibc has them below stacks from 2.42 on, cannot be read, and has no content.
func (f File) Written(r blocks.Range) ([]blocks.Range, error) {
	list, err := f.scan(query{any: isPresent | isSwapped, wanted: isSwapped}, r, f.written)
	if isUnknown(err) {
		return f.written(r)
	}
	return list, err
}

// written is Written by the entries of the pages. To the kernel, a guard page is in swap.
func (f File) written(r blocks.Range) ([]blocks.Range, error) {
	return f.entries(r, func(entry uint64) bool {
		return entry&(entryPresent|entrySwapped) != 0 && entry&entryGuard == 0
	})
}

// Categories of pages of PAGEMAP_SCAN, and bits of the entries of pages.
const (
	isPresent, isSwapped, isZero           = 1 << 3, 1 << 4, 1 << 5
	entryPresent, entrySwapped, entryGuard = 1 << 63, 1 << 62, 1 << 58
)

// isUnknown reports whether the kernel does not know PAGEMAP_SCAN.
func isUnknown(err error) bool { return errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) }

// query has the masks of a scan.
type query struct{ inverted, all, any, wanted uint64 }

// scanArgs is struct pm_scan_arg of linux/fs.h.
type scanArgs struct {
	size, flags, start, end, walkEnd uint64
	vector                           *pageRegion // which the runtime may move until the call
	length, maxPages                 uint64
	query
}

// pageRegion is struct page_region.
type pageRegion struct{ start, end, categories uint64 }

// reader returns parts of a range.
type reader func(blocks.Range) ([]blocks.Range, error)

// scan asks the kernel for pages (PAGEMAP_SCAN). If look is not nil, it returns the parts of regions in swap.
func (f File) scan(q query, r blocks.Range, look reader) (list []blocks.Range, err error) {
	const request = 0xc0606610
	found := make([]pageRegion, 512)
	args := &scanArgs{
		start: r.Start &^ (pageSize - 1), end: (r.End + pageSize - 1) &^ (pageSize - 1),
		vector: &found[0], length: uint64(len(found)), query: q,
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
			parts := []blocks.Range{{Start: max(p.start, r.Start), End: min(p.end, r.End)}}
			if look != nil && p.categories&isSwapped != 0 {
				if parts, err = look(parts[0]); err != nil {
					return nil, err
				}
			}
			for _, part := range parts {
				list = blocks.Join(list, part)
			}
		}
		args.start = args.walkEnd
	}
	return list, nil
}

// entries returns the parts of a range whose entries are accepted.
func (f File) entries(r blocks.Range, accept func(entry uint64) bool) (list []blocks.Range, err error) {
	const size, batch = 8, 8192
	b := make([]byte, batch*size)
	for at := r.Start &^ (pageSize - 1); at < r.End; {
		n := min((r.End-at+pageSize-1)/pageSize, batch)
		if _, err := f.ReadAt(b[:n*size], int64(at/pageSize*size)); err != nil {
			return nil, err
		}
		for i := range n {
			if accept(binary.LittleEndian.Uint64(b[i*size:])) {
				list = blocks.Join(list, blocks.Range{Start: max(at, r.Start), End: min(at+pageSize, r.End)})
			}
			at += pageSize
		}
	}
	return list, nil
}
