package heapfile

import (
	"time"

	"github.com/heaplapse/heaplapse/heapfile/internal/intern"
)

// Head is what a snapshot says besides its rows.
type Head struct {
	// Path is what the file is called in messages.
	Path   string
	Format Format
	// Period is the mean number of bytes between samples; if it is 1 or less, every allocation is
	// recorded. 0 in a pprof profile means that the period is unknown.
	Period int64
	// Total is what the header says, raw. HasTotal reports whether there is one.
	Total    Counts
	HasTotal bool
	// NoObjects is set if the file does not count objects: those of Total and of the rows are 0.
	NoObjects bool
	// Producer is what wrote a pprof profile: "go", "jemalloc_pprof", "datadog", "tcmalloc",
	// "heaplapse", the name in a comment "by: NAME", or "unknown". It is "" in other formats.
	Producer string
	// PeriodAssumed is set if the file does not have the period, so that it is the producer's
	// default.
	PeriodAssumed bool
	// DepthLimit is the largest number of frames that the writer keeps of a stack, leaf first; 0 if
	// it is unknown, or if there is none.
	DepthLimit int
	// HasAlloc reports whether the cumulative counts are real: some formats repeat the in-use
	// counts or write zeros there.
	HasAlloc bool
	// Threads are the header's lines per thread (jemalloc only).
	Threads []Thread
	// Rows is the number of rows.
	Rows         int
	Completeness Completeness
	Warnings     []Warning
	// Recorded is the time stored within the file (that of a pprof profile, else a gzip header's
	// MTIME, the time of the file that was compressed); zero if there is none.
	Recorded time.Time
	// Modified is the file's own modification time; zero for standard input.
	Modified time.Time
	// Size is the number of bytes after decompression.
	Size int64
}

// Snapshot is the content of one file.
type Snapshot struct {
	Head
	Samples []Sample
	// Births tells when the memory of rows was allocated, by their position in Samples. It is read if [Decoder.Births]
	// is set, and does not have rows of which that is not known.
	Births   map[int][]Birth
	Mappings []Mapping // in file order, those that cannot be executed included
	Symbols  []Symbol  // of a `--- symbol` section, or of a pprof profile
	// Stacks holds the stacks that Samples refer to.
	Stacks Stacks
}

// IsEstimate reports whether the counts are estimates from samples.
func (s *Head) IsEstimate() bool {
	return (s.Format.Sampled() || s.Format == FormatScaled || s.Format.Profile()) && s.Period > 1
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

// Symbol is the functions at an address, innermost (inlined) first: one line of a `--- symbol`
// section, or a location of a pprof profile.
type Symbol struct {
	Addr   Addr
	Frames []FrameName
	// MadeUp is set if the address is not one of the process: it is a hash of the frames, has the
	// top bit, and means the same in all files. Profiles may have names without addresses.
	MadeUp bool
	// Path and BuildID are those of the mapped file that contains the code, if MadeUp is set and
	// they are known.
	Path, BuildID string
}

// FrameName is one function at an address. Only pprof profiles have more than its name.
type FrameName struct {
	// Function is the name of the function; Linkage is the mangled name, or "" if it does not
	// differ.
	Function, Linkage       string
	File                    string
	Line, Column, StartLine int
}

// Mapping is one line of MAPPED_LIBRARIES, or a mapping of a pprof profile.
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
	// Virtual is set if the distance of an address from Start is an ELF virtual address of the
	// file, not a file offset. Start and Limit are made up then, and the same in all files.
	Virtual bool
}

// Executable reports whether code may run from the mapping.
func (m Mapping) Executable() bool {
	return m.Perm == "" || (len(m.Perm) > 2 && m.Perm[2] == 'x')
}

// Contains reports whether the mapping contains an address.
func (m Mapping) Contains(a Addr) bool { return m.Start <= a && a < m.Limit }

// StackID is the number of a stack in a [Stacks] table.
type StackID uint32

// Stacks holds the stacks of one or more files, each once. The zero value is empty. It is
// immutable.
type Stacks struct{ view intern.View[Addr] }

// Len returns the number of stacks; valid IDs are 0 to Len()-1.
func (t Stacks) Len() int { return t.view.Len() }

// Addrs returns a stack, leaf first. The caller must not change it.
func (t Stacks) Addrs(id StackID) []Addr { return t.view.Addrs(uint32(id)) }
