package rss

import "github.com/heaplapse/heaplapse/internal/holders/answer"

// Schema is the version of the JSON form of Result.
const Schema = "heaplapse.rss/1"

// Result is where the resident memory of a process is.
type Result struct {
	Schema string `json:"schema"`
	PID    int    `json:"pid"`
	// Program is the base name of the file that the process runs.
	Program string `json:"program"`
	// Bytes is the resident memory: the sum of Parts. Kernel is the same by the kernel, shortly before.
	Bytes  int64 `json:"rss_bytes"`
	Kernel int64 `json:"kernel_rss_bytes"`
	// Parts lists the parts that are not empty, in the order of Kinds.
	Parts []Part `json:"parts"`
	// Malloc is nil if the blocks of malloc are not known, and Python if there are no pools of CPython.
	Malloc *Malloc `json:"malloc,omitempty"`
	Python *Python `json:"python,omitempty"`
	// Stacks is the number of stacks of threads that run, and EndedStacks of those that the C library keeps.
	Stacks      int `json:"stacks"`
	EndedStacks int `json:"ended_stacks"`
	// Files and Anonymous list the largest mappings by name.
	Files     []Mapping `json:"files"`
	Shared    []Mapping `json:"shared"`
	Anonymous []Mapping `json:"anonymous"`
	// Allocators lists files with an allocator whose blocks are not known. Anonymous memory is most likely theirs.
	Allocators []string `json:"allocators"`
	// HugePages are the bytes in transparent huge pages, and HugeZero those of their small pages that have only
	// zeros.
	HugePages int64 `json:"huge_page_bytes"`
	HugeZero  int64 `json:"huge_page_zero_bytes"`
	// Locked reports whether private memory is locked (mlock): malloc_trim cannot return it.
	Locked bool `json:"locked"`
	// Swap and Hugetlb are not resident memory.
	Swap    int64 `json:"swap_bytes"`
	Hugetlb int64 `json:"hugetlb_bytes"`
	// Advice lists what would make the resident memory smaller, the most first.
	Advice []Advice `json:"advice"`
	// Problems lists what could not be found out.
	Problems []string `json:"problems"`
}

// Kind is what a part is. It is stable.
type Kind string

// Kinds of parts.
const (
	Blocks       Kind = "malloc-blocks"      // in use, in arenas
	Mapped       Kind = "malloc-mapped"      // in use, with a mapping of their own
	Cached       Kind = "malloc-cached"      // free, in caches of threads
	FreePages    Kind = "malloc-free-pages"  // free: malloc_trim returns it
	FreePinned   Kind = "malloc-free-pinned" // free, on pages of which less than a tenth is in use
	FreeEnd      Kind = "malloc-free-end"    // free, at the end of an arena that is not the main one
	FreeRest     Kind = "malloc-free-rest"   // free, between blocks in use
	MallocOwn    Kind = "malloc-own"         // malloc's own data
	PythonBlocks Kind = "python-blocks"      // in use, in pools of CPython
	PythonFree   Kind = "python-free"        // free, in pools with blocks in use
	PythonEmpty  Kind = "python-empty"       // pools without blocks in use
	Stacks       Kind = "stacks"             // of threads that run
	EndedStacks  Kind = "stacks-ended"       // of threads that have ended, kept by the C library
	Code         Kind = "file-code"          // of programs and libraries
	Data         Kind = "file-data"          // variables of programs and libraries
	Files        Kind = "file-other"         // other mappings of files
	SharedMemory Kind = "shared"             // memory that is shared with other processes
	Engine       Kind = "heaplapse"          // of heaplapse's engine in the process
	Anonymous    Kind = "anonymous"          // other private memory without a file
	Other        Kind = "kernel-and-devices" // mappings of the kernel and of devices
)

// Kinds lists all kinds in the order of reports.
var Kinds = []Kind{
	Blocks, Mapped, Cached, FreePages, FreePinned, FreeEnd, FreeRest, MallocOwn, PythonBlocks, PythonFree, PythonEmpty,
	Stacks, EndedStacks, Code, Data, Files, SharedMemory, Engine, Anonymous, Other,
}

// Part is a part of the resident memory.
type Part struct {
	Kind  Kind  `json:"part"`
	Bytes int64 `json:"bytes"`
}

// Part returns the bytes of a part.
func (r *Result) Part(kinds ...Kind) (n int64) {
	for _, p := range r.Parts {
		for _, k := range kinds {
			if p.Kind == k {
				n += p.Bytes
			}
		}
	}
	return n
}

// Malloc has details about the memory of malloc. Sizes of blocks are those of malloc's chunks: what the program
// asked for and 8 bytes, or more, as a multiple of 16.
type Malloc struct {
	// Blocks and MappedBlocks are the numbers of blocks in use.
	Blocks       int64 `json:"blocks"`
	MappedBlocks int64 `json:"mapped_blocks"`
	// Sizes lists the sizes of blocks in arenas with the most resident bytes.
	Sizes []Size `json:"sizes"`
	// Arenas has the main arena, and then the others, those with the most free bytes first.
	Arenas []Arena `json:"arenas"`
	Pinned Pinned  `json:"pinned"`
}

// Size is about blocks of one size.
type Size struct {
	Size   int64 `json:"size"`
	Blocks int64 `json:"blocks"`
	Bytes  int64 `json:"bytes"`
}

// Arena is about an arena of malloc. Free includes Trimmable, but not what is in caches of threads.
type Arena struct {
	Main      bool  `json:"main"`
	Live      int64 `json:"live_bytes"`
	Free      int64 `json:"free_bytes"`
	Trimmable int64 `json:"trimmable_bytes"`
}

// Pinned is about pages of which less than a tenth is in use.
type Pinned struct {
	Pages int64 `json:"pages"`
	// Live is what is in use on them, and Sizes lists the sizes of these blocks with the most bytes on them.
	Live   int64  `json:"live_bytes"`
	Blocks int64  `json:"blocks"`
	Sizes  []Size `json:"sizes"`
	// Some has the addresses of some of the blocks, evenly spaced, and Held what holds these. It is nil if that was
	// not asked, because little would be gained.
	Some []uint64     `json:"-"`
	Held *answer.Held `json:"held,omitempty"`
}

// Python has details about CPython's pools.
type Python struct {
	Pools      int64 `json:"pools"`
	EmptyPools int64 `json:"empty_pools"`
}

// Mapping is about the mappings of one name. Anonymous memory may have none.
type Mapping struct {
	Name string `json:"name"`
	// Bytes is the resident part of all, Largest that of the largest, and Count the number of those that have one.
	Bytes   int64 `json:"bytes"`
	Largest int64 `json:"largest_bytes"`
	Count   int64 `json:"count"`
}

// Means is what makes resident memory smaller. It is stable.
type Means string

// What helps. See docs/rss.md for measurements.
const (
	Trim Means = "malloc_trim" // call malloc_trim(0)
	// TrimThreshold sets MALLOC_TRIM_THRESHOLD_=131072: arenas keep no more at their ends.
	TrimThreshold Means = "trim_threshold"
	ArenaMax      Means = "arena_max"       // set MALLOC_ARENA_MAX=2
	Allocator     Means = "other_allocator" // preload an allocator that does not mix sizes on a page
	SmallPages    Means = "small_pages"     // no transparent huge pages
)

// Advice is a means, and the bytes that it gives back at most.
type Advice struct {
	Means Means `json:"means"`
	Bytes int64 `json:"bytes"`
}
