package heapfile_test

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
)

// write writes a snapshot in its own format. Reading the result gives the same rows, totals,
// threads, mappings, symbols and completeness; comments, skipped lines and the threads' share of
// single stacks are not kept.
func write(s *heapfile.Snapshot, w io.Writer) (int64, error) {
	out := &writer{w: bufio.NewWriter(w)}
	out.symbols(s.Symbols)
	if s.Format == heapfile.FormatJemalloc {
		out.jemalloc(s)
	} else {
		out.buckets(s)
	}
	if !s.Completeness.Unfinished {
		out.maps(s)
	}
	if err := out.w.Flush(); out.err == nil {
		out.err = err
	}
	return out.n, out.err
}

// writer counts what it writes and keeps the first error.
type writer struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (o *writer) printf(format string, args ...any) {
	if o.err != nil {
		return
	}
	n, err := fmt.Fprintf(o.w, format, args...)
	o.n += int64(n)
	o.err = err
}

func (o *writer) symbols(list []heapfile.Symbol) {
	if len(list) == 0 {
		return
	}
	o.printf("--- symbol\n")
	for _, sym := range list {
		var names []string
		for _, f := range slices.Backward(sym.Frames) {
			names = append(names, f.Function)
		}
		o.printf("0x%016x %s\n", uint64(sym.Addr), strings.Join(names, "--"))
	}
	o.printf("---\n--- heap\n")
}

func (o *writer) buckets(s *heapfile.Snapshot) {
	o.printf("%s ", "heap profile:")
	o.counts("%6d: %8d [%6d: %8d] @ ", s.Total)
	o.printf("%s\n", kindText(s))
	for _, row := range s.Samples {
		o.counts("%6d: %8d [%6d: %8d] @", row.Counts)
		o.stack(s.Stacks.Addrs(row.Stack))
		if row.Truncated {
			o.printf(" 0x00000000") // the reader drops this address
			if s.Completeness.Unfinished {
				return
			}
		}
		o.printf("\n")
	}
	o.truncation(s)
}

// truncation makes the reader recognize a truncated file: no blank line precedes the
// mappings, and the last row is incomplete.
func (o *writer) truncation(s *heapfile.Snapshot) {
	c := s.Completeness
	n := len(s.Samples)
	switch {
	case c.Unfinished:
	case !c.Truncated:
		o.printf("\n")
	case n == 0 || !s.Samples[n-1].Truncated:
		o.printf("     1:\n")
	}
}

// kindText returns the text after the @ of the header.
func kindText(s *heapfile.Snapshot) string {
	switch s.Format {
	case heapfile.FormatHeapV2, heapfile.FormatHeapzV2:
		return fmt.Sprintf("%s/%d", s.Format, s.Period)
	case heapfile.FormatHeap:
		return fmt.Sprintf("%s/%d", s.Format, 2*s.Period)
	case heapfile.FormatScaled:
		return fmt.Sprintf("%s/%d", heapfile.FormatHeapProfile, s.Period)
	}
	return s.Format.String()
}

func (o *writer) jemalloc(s *heapfile.Snapshot) {
	o.printf("heap_v2/%d\n", s.Period)
	if s.HasTotal {
		o.counts("  t*: %d: %d [%d: %d]\n", s.Total)
	}
	for _, t := range s.Threads {
		o.printf("  t%d: ", t.ID)
		o.counts("%d: %d [%d: %d]", t.Counts)
		if t.Name != "" {
			o.printf(" %s", t.Name)
		}
		o.printf("\n")
	}
	for _, row := range s.Samples {
		o.printf("@")
		o.stack(s.Stacks.Addrs(row.Stack))
		o.counts("\n  t*: %d: %d [%d: %d]\n", row.Counts)
	}
	if !s.Completeness.Unfinished {
		o.printf("\n")
	}
}

func (o *writer) counts(format string, c heapfile.Counts) {
	o.printf(format, c.InuseObjects, c.InuseBytes, c.AllocObjects, c.AllocBytes)
}

func (o *writer) stack(addrs []heapfile.Addr) {
	for _, a := range addrs {
		o.printf(" 0x%08x", uint64(a))
	}
}

func (o *writer) maps(s *heapfile.Snapshot) {
	o.printf("%s\n", "MAPPED_LIBRARIES:")
	for _, m := range s.Mappings {
		o.printf("%s\n", mappingLine(m))
	}
}

// mappingLine returns a mapping in the form of /proc/PID/maps, or in Google's brief form if it
// has a build ID or lacks permissions.
func mappingLine(m heapfile.Mapping) string {
	path := m.Path
	if m.Deleted {
		path += " (deleted)"
	}
	if m.Perm != "" && m.BuildID == "" {
		return fmt.Sprintf("%08x-%08x %s %08x 00:00 %-11d %s", m.Start, m.Limit, m.Perm, m.Offset, m.Inode, path)
	}
	line := fmt.Sprintf("%08x-%08x:", m.Start, m.Limit)
	if m.Perm != "" {
		line += " " + m.Perm
	}
	line += " " + path
	if m.Offset != 0 || m.BuildID != "" {
		line += fmt.Sprintf(" (@%x) %s", m.Offset, m.BuildID)
	}
	return line
}
