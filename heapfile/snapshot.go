package heapfile

import "time"

// Snapshot is one file, as it stands.
type Snapshot struct {
	Path string
	File FileName // what the file's name says: prefix, process, number
	// Index is the position in its series, from 0.
	Index int
	// Epoch numbers the process images of a series, from 0.
	Epoch int

	Format Format
	// Period is the mean number of bytes between samples; ≤ 1 means that
	// every allocation is recorded.
	Period int64
	// Total is the header's claim, raw. HasTotal is false where there is none.
	Total    Counts
	HasTotal bool
	// HasAlloc says that the cumulative counts are real, not a repetition of
	// the in-use ones nor zeros.
	HasAlloc bool

	// Rows is len(Samples), known also where Samples are not held.
	Rows     int
	Samples  []Sample
	Threads  []Thread  // jemalloc only: the header's line per thread
	Mappings []Mapping // in file order, those that cannot be executed included
	Symbols  []Symbol  // of a `--- symbol` section

	// Stacks resolves the StackIDs of Samples.
	Stacks *StackTable

	Completeness Completeness
	Warnings     []Warning

	// Recorded is the time stored within the file (a gzip header's MTIME, that of
	// the file that was compressed); zero where there is none.
	Recorded time.Time
	// Modified is the file's own modification time; zero for standard input.
	Modified time.Time
	// Size is the number of bytes after decompression.
	Size int64
}

// IsEstimate says that the counts are estimates from samples.
func (s *Snapshot) IsEstimate() bool { return s.Format.Sampled() && s.Period > 1 }

// Heap is the size of the heap: the sum of the rows' estimates, or the header's
// total where that is exact and knows of rows that were cut.
func (s *Snapshot) Heap() Counts {
	e := s.Completeness.Estimate
	if !s.HasTotal || s.Format.Sampled() {
		return e
	}
	return Counts{
		max(e.InuseObjects, s.Total.InuseObjects), max(e.InuseBytes, s.Total.InuseBytes),
		max(e.AllocObjects, s.Total.AllocObjects), max(e.AllocBytes, s.Total.AllocBytes),
	}
}

// Completeness says what a snapshot hides.
type Completeness struct {
	// Cut: the writer dropped rows for lack of room (gperftools ≤2.15 writes
	// at most 1 MiB), or the file ends early.
	Cut bool
	// Partial: the file ends before its mappings: it is still being written,
	// or the process or the disk ended first.
	Partial bool
	// Sorted: rows stand in descending order of in-use bytes, as gperftools
	// ≤2.15 writes them.
	Sorted bool
	// Rows is the sum over all rows, raw; compare with Snapshot.Total.
	Rows Counts
	// Estimate is the sum of the rows' estimates: the size of the heap.
	Estimate Counts
	// AbsentMax bounds each count of a stack that is not in the file; all
	// zero where the file is complete.
	AbsentMax Counts
	// AtDepthLimit is the estimated number of in-use bytes on stacks that have as many
	// frames as the writer keeps, and so may have lost their root side.
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

// Symbol is one line of a `--- symbol` section: the names of an address,
// innermost (inlined) function first.
type Symbol struct {
	Addr  Addr
	Names []string
}

// Mapping is one line of MAPPED_LIBRARIES.
type Mapping struct {
	Start, Limit, Offset Addr
	// Perm is "r-xp" and the like; "" in Google's brief form, which lists
	// executable mappings only.
	Perm string
	// Path has lost its " (deleted)", which Deleted tells.
	Path    string
	Deleted bool
	Inode   uint64
	BuildID string // hex; "" unless the line has one
}

// Executable says whether code may run from the mapping.
func (m Mapping) Executable() bool {
	return m.Perm == "" || (len(m.Perm) > 2 && m.Perm[2] == 'x')
}

// Contains says whether a lies in the mapping.
func (m Mapping) Contains(a Addr) bool { return m.Start <= a && a < m.Limit }
