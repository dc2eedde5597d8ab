//go:build linux && amd64

package rss

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/pymalloc"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// nothing is memory that cannot be read.
type nothing struct{}

func (nothing) Read(uint64, []byte) error { return os.ErrInvalid }

// model is a made-up process, with the state of each 16 bytes.
type model struct {
	random *rand.Rand
	copy   Copy
	heap   glibc.Heap
	state  map[uint64]state // by address
	free   map[uint64]Kind  // of the free memory on a page
}

type state struct {
	kind  Kind
	block blocks.Block
	main  bool // in the main arena
	heap  *blocks.Region
}

// fill adds a region with blocks of random sizes.
func (m *model) fill(t *testing.T, r blocks.Range, main bool) *blocks.Region {
	t.Helper()
	region, err := blocks.NewRegion(r)
	require.NoError(t, err)
	for at := r.Start; at < r.End; {
		size := uint64(2+m.random.IntN(30)) * 16
		if m.random.IntN(8) == 0 {
			size = uint64(1+m.random.IntN(8)) * 4000
		}
		require.True(t, region.Add(at, m.random.IntN(4) > 0))
		at += size
	}
	require.NoError(t, m.heap.Blocks.Add(region))
	for b := range region.All() {
		kind := Blocks
		if b.Free {
			kind = FreeRest
			if m.random.IntN(4) == 0 && b.End < r.End {
				kind = Cached
				m.heap.InCaches = append(m.heap.InCaches, b.Start)
			}
		}
		for at := b.Start; at < b.End; at += 16 {
			m.state[at] = state{kind, b, main, region}
		}
	}
	return region
}

// mapping adds a mapping.
func (m *model) mapping(r blocks.Range, path string) {
	m.copy.Mappings = append(m.copy.Mappings, target.Mapping{Start: r.Start, End: r.End, Permissions: "rw-p", Path: path})
}

const (
	brk     = 0x500000000000
	thread  = 0x7f0000000000
	libpool = 0x7f1000000000
	stack   = 0x7ffff0000000
)

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	m := &model{random: rand.New(rand.NewPCG(seed, 7)), state: map[uint64]state{}, free: map[uint64]Kind{}}
	pages := func() uint64 { return uint64(3+m.random.IntN(60)) * pageSize }
	main := blocks.Range{Start: brk, End: brk + pages()}
	m.mapping(main, "[heap]")
	arenas := []glibc.Arena{{Main: true}, {}}
	arenas[0].Heaps = append(arenas[0].Heaps, m.fill(t, blocks.Range{Start: main.Start + 16, End: main.End}, true))
	for i := range uint64(2) { // the newest heap first
		heap := blocks.Range{Start: thread + (1-i)*64<<20, End: thread + (1-i)*64<<20 + pages()}
		within := blocks.Range{Start: heap.Start + 64, End: heap.End - i*16}
		arenas[1].Heaps = append(arenas[1].Heaps, m.fill(t, within, false))
	}
	for i := range arenas[1].Heaps {
		r := arenas[1].Heaps[1-i].Range
		m.mapping(blocks.Range{Start: pageStart(r.Start), End: pageEnd(r.End)}, "")
	}
	m.heap.Arenas = arenas
	m.addPools(t)
	m.mapping(blocks.Range{Start: stack, End: stack + pages()}, "[stack]")
	for _, r := range PrivateMemory(m.copy.Mappings) {
		for at := r.Start; at < r.End; at += pageSize {
			if m.random.IntN(5) > 0 {
				m.copy.Resident = ranges(m.copy.Resident).add(blocks.Range{Start: at, End: at + pageSize})
			}
		}
	}
	m.copy.Memory, m.copy.Heap = nothing{}, &m.heap
	return m
}

// addPools adds a mapping with pools of 4 KiB, and pages behind them.
func (m *model) addPools(t *testing.T) {
	t.Helper()
	const pools = 10
	r := blocks.Range{Start: libpool, End: libpool + pools*pageSize}
	region, err := blocks.NewRegion(r)
	require.NoError(t, err)
	m.copy.Pools = pymalloc.Result{Pools: pools, Regions: []*blocks.Region{region}}
	for at := r.Start; at < r.End; at += pageSize {
		empty := m.random.IntN(4) == 0
		pool := blocks.Range{Start: at, End: at + pageSize}
		if empty {
			m.copy.Pools.Empty = append(m.copy.Pools.Empty, pool)
		}
		for b := at; b < pool.End; b += 64 {
			free := empty || b == at || m.random.IntN(2) == 0
			region.Add(b, free)
			kind := PythonBlocks
			if free {
				kind = PythonFree
			}
			if empty {
				kind = PythonEmpty
			}
			for at := b; at < b+64; at += 16 {
				m.state[at] = state{kind: kind}
			}
		}
	}
	require.NoError(t, m.heap.Blocks.Add(region))
	m.mapping(blocks.Range{Start: r.Start, End: r.End + 5*pageSize}, "[anon:pool]")
}

// kindAt returns the kind of 16 bytes.
func (m *model) kindAt(at uint64) Kind {
	s, ok := m.state[at]
	switch {
	case !ok && at >= stack:
		return Stacks
	case !ok && at >= libpool:
		return Anonymous
	case !ok:
		return MallocOwn
	case s.kind != FreeRest:
		return s.kind
	}
	page := pageStart(at)
	kind, ok := m.free[page]
	if !ok {
		kind = m.freeKind(page, s)
		m.free[page] = kind
	}
	return kind
}

// freeKind returns the kind of the free memory on a page.
func (m *model) freeKind(page uint64, s state) Kind {
	switch {
	case m.isTrimmed(page, s):
		return FreePages
	case m.isSparse(page, s):
		return FreePinned
	case !s.main && s.heap == m.heap.Arenas[1].Heaps[0] && m.isEnd(page, s):
		return FreeEnd
	}
	return FreeRest
}

// isFree reports whether 16 bytes are free for malloc_trim.
func (m *model) isFree(at uint64, heap *blocks.Region) bool {
	s, ok := m.state[at]
	return ok && s.kind == FreeRest && s.heap == heap
}

// isTrimmed reports whether malloc_trim returns a page of a heap.
func (m *model) isTrimmed(page uint64, s state) bool {
	if page < s.heap.Start {
		return false
	}
	for at := page; at < page+pageSize; at += 16 {
		if !m.isFree(at, s.heap) {
			return false
		}
	}
	start, end := page, page+pageSize
	for m.isFree(start-16, s.heap) {
		start -= 16
	}
	for m.isFree(end, s.heap) {
		end += 16
	}
	isLast := end == s.heap.End
	chunk := start - 16
	switch {
	case isLast && s.main: // what remains is more than 32 bytes
		return page-chunk >= 33
	case isLast && s.heap == m.heap.Arenas[1].Heaps[0]:
		return false
	}
	return page-chunk >= 48 && page+pageSize <= end-16
}

// isSparse reports whether less than a tenth of a page is in use.
func (m *model) isSparse(page uint64, s state) bool {
	used := 0
	for at := page; at < page+pageSize; at += 16 {
		if at < s.heap.Start || at >= s.heap.End {
			return false
		}
		if m.state[at].kind == Blocks {
			used += 16
		}
	}
	return used > 0 && used < 410
}

// isEnd reports whether a page begins in the last run of free memory of a heap.
func (m *model) isEnd(page uint64, s state) bool {
	for at := page; at < s.heap.End; at += 16 {
		if !m.isFree(at, s.heap) {
			return false
		}
	}
	return true
}

// TestPartsAgreeWithBytes compares the parts with the kind of each 16 bytes.
func TestPartsAgreeWithBytes(t *testing.T) {
	seen := map[Kind]int{}
	for seed := range uint64(100) {
		m := newModel(t, seed)
		want := map[Kind]int64{}
		total := int64(0)
		for _, r := range m.copy.Resident {
			for at := r.Start; at < r.End; at += 16 {
				want[m.kindAt(at)] += 16
				total += 16
			}
		}
		got := Of(&Kernel{PID: 1}, &m.copy)
		require.Equal(t, total, got.Bytes)
		for _, kind := range Kinds {
			require.Equal(t, want[kind], got.Part(kind), "seed %d, %s", seed, kind)
			if want[kind] > 0 {
				seen[kind]++
			}
		}
		var free, live int64
		for _, a := range got.Malloc.Arenas {
			free, live = free+a.Free, live+a.Live
		}
		require.Equal(t, got.Part(FreePages, FreePinned, FreeEnd, FreeRest), free)
		require.Equal(t, got.Part(Blocks), live)
		require.Equal(t, int64(len(m.copy.Pools.Empty)), got.Python.EmptyPools)
	}
	for _, kind := range []Kind{Blocks, Cached, FreePages, FreePinned, FreeEnd, FreeRest, MallocOwn,
		PythonBlocks, PythonFree, PythonEmpty, Stacks, Anonymous} {
		assert.Positive(t, seen[kind], kind)
	}
}

func TestOfMappings(t *testing.T) {
	list, err := parseSmaps(strings.NewReader(someSmaps))
	require.NoError(t, err)
	r := Of(&Kernel{PID: 4711, mappings: list}, nil)
	const stack = "ffffffffff700000-ffffffffff701000 rw-p 00000000 00:00 0 [stack]\nRss: 4 kB\n"
	withStack, err := parseSmaps(strings.NewReader(someSmaps + stack))
	require.NoError(t, err)
	assert.Equal(t, int64(4<<10), Of(&Kernel{mappings: withStack}, nil).Part(Stacks))
	assert.Equal(t, r.Anonymous, Of(&Kernel{mappings: withStack}, nil).Anonymous)
	assert.Equal(t, &Result{
		Schema: Schema, PID: 4711, Bytes: 2060 << 10, Kernel: 2060 << 10,
		Parts:      []Part{{Files, 8 << 10}, {Anonymous, 2052 << 10}},
		Files:      []Mapping{{"/usr/bin/my program: x", 8 << 10, 8 << 10, 1}},
		Shared:     []Mapping{},
		Anonymous:  []Mapping{{"", 2052 << 10, 2052 << 10, 1}},
		Allocators: []string{}, HugePages: 2 << 20, Locked: true, Swap: 12 << 10, Hugetlb: 4 << 20,
		Advice: []Advice{}, Problems: []string{},
	}, r)
}

func TestKindOfMapping(t *testing.T) {
	for line, want := range map[string]Kind{
		"r-xp 0 8:1 5 /usr/bin/x":            Code,
		"rw-p 0 8:1 5 /usr/bin/x":            Data,
		"r--p 0 8:1 5 /usr/bin/x":            Files,
		"rw-s 0 8:1 5 /var/lib/db":           Files,
		"rw-s 0 0:1 5 /dev/zero (deleted)":   SharedMemory,
		"rw-s 0 0:1 5 /memfd:x (deleted)":    SharedMemory,
		"rw-s 0 0:1 5 /dev/shm/x":            SharedMemory,
		"rw-s 0 0:1 5 /SYSV00000000":         SharedMemory,
		"rw-s 0 0:1 5 [anon_shmem:x]":        SharedMemory,
		"rw-s 0 0:6 5 /dev/nvidia0":          Other,
		"rw-s 0 0:6 5 anon_inode:[io_uring]": Other,
		"r-xp 0 0:0 0 [vdso]":                Other,
		"r--p 0 0:0 0 [vvar]":                Other,
		"rwxp 0 0:1 5 /memfd:jit (deleted)":  Code,
	} {
		m, ok := parseHeader("1000-2000 " + line)
		require.True(t, ok, line)
		assert.False(t, m.isAnonymous(), line)
		assert.Equal(t, want, m.kind(), line)
	}
	for _, line := range []string{"rw-p 0 0:0 0", "rw-p 0 0:0 0 [heap]", "rw-p 0 0:0 0 [stack]", "rwxp 0 0:0 0 [anon:x]"} {
		m, ok := parseHeader("1000-2000 " + line)
		assert.True(t, ok && m.isAnonymous(), line)
	}
}
