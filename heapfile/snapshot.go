package heapfile

import "time"

// Head is what a snapshot says besides its rows.
type Head struct {
	// Path is what the file is called in messages.
	Path   string
	Format Format
	// Period is the mean number of bytes between samples; if it is 1 or less, every allocation is
	// recorded.
	Period int64
	// Total is what the header says, raw. HasTotal reports whether there is one.
	Total    Counts
	HasTotal bool
	// HasAlloc reports whether the cumulative counts are real: some formats repeat the in-use
	// counts or write zeros there.
	HasAlloc bool
	// Threads are the header's lines per thread (jemalloc only).
	Threads []Thread
	// Rows is the number of rows.
	Rows         int
	Completeness Completeness
	Warnings     []Warning
	// Recorded is the time stored within the file (a gzip header's MTIME, the time of the file that
	// was compressed); zero if there is none.
	Recorded time.Time
	// Modified is the file's own modification time; zero for standard input.
	Modified time.Time
	// Size is the number of bytes after decompression.
	Size int64
}

// Snapshot is the content of one file.
type Snapshot struct {
	Head
	Samples  []Sample
	Mappings []Mapping // in file order, those that cannot be executed included
	Symbols  []Symbol  // of a `--- symbol` section
	// Stacks holds the stacks that Samples refer to.
	Stacks Stacks
}

// IsEstimate reports whether the counts are estimates from samples.
func (s *Head) IsEstimate() bool {
	return (s.Format.Sampled() || s.Format == FormatScaled) && s.Period > 1
}

// Estimate returns the estimated counts of a row: [Sample.Estimate] where the format needs that.
func (s *Head) Estimate(row Sample) Counts {
	if !s.Format.Sampled() {
		return row.Estimate(1)
	}
	return row.Estimate(s.Period)
}

// Heap returns the size of the heap: the sum of the rows' estimates or, in a format that is not
// sampled, the header's total if that is larger because rows are missing.
func (s *Head) Heap() Counts {
	e := s.Completeness.Estimate
	if !s.HasTotal || s.Format.Sampled() {
		return e
	}
	return Counts{
		max(e.InuseObjects, s.Total.InuseObjects), max(e.InuseBytes, s.Total.InuseBytes),
		max(e.AllocObjects, s.Total.AllocObjects), max(e.AllocBytes, s.Total.AllocBytes),
	}
}

// Completeness describes what is missing from a snapshot.
type Completeness struct {
	// Truncated is set if rows are missing: the writer had no room for them (gperftools 2.15 and
	// older writes at most 1 MiB), or the file ends early.
	Truncated bool
	// Unfinished is set if the file ends before its mappings: it is still being written, or the
	// process ended or the disk was full first.
	Unfinished bool
	// Sorted is set if rows are in descending order of in-use bytes, as gperftools 2.15 and older
	// writes them.
	Sorted bool
	// Rows is the sum of all rows, raw; compare with Head.Total.
	Rows Counts
	// Estimate is the sum of the rows' estimates: the size of the heap.
	Estimate Counts
	// AbsentMax is the upper bound of each count of a stack that is not in the file. It is zero if
	// the file is complete.
	AbsentMax Counts
	// AtDepthLimit is the estimated number of in-use bytes on stacks that have as many frames as
	// the writer keeps, so that their outermost frames may be missing.
	AtDepthLimit int64
	// EmptyStacks is the estimated number of in-use bytes on rows without any address.
	EmptyStacks int64
}

// Thread is one `t<uid>:` line of a jemalloc header, raw.
type Thread struct {
	ID   uint64
	Name string
	Counts
}

// Symbol is one line of a `--- symbol` section: the functions at an address, innermost (inlined)
// first.
type Symbol struct {
	Addr  Addr
	Names []string
}

// Mapping is one line of MAPPED_LIBRARIES.
type Mapping struct {
	Start, Limit, Offset Addr
	// Perm is the permissions, such as "r-xp"; "" in Google's brief form, which lists only
	// executable mappings.
	Perm string
	// Path is the mapped file, without " (deleted)". Deleted is set if the line has that.
	Path    string
	Deleted bool
	Inode   uint64
	BuildID string // hex; "" unless the line has one
}

// Executable reports whether code may run from the mapping.
func (m Mapping) Executable() bool {
	return m.Perm == "" || (len(m.Perm) > 2 && m.Perm[2] == 'x')
}

// Contains reports whether the mapping contains an address.
func (m Mapping) Contains(a Addr) bool { return m.Start <= a && a < m.Limit }
