package leaksim

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/program"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

const (
	processID = 4711
	// bufferSize is the size of gperftools' buffer for a file, up to version 2.15.
	bufferSize = 1 << 20
	// manifestName is the name of the manifest of heaplapse record.
	manifestName = "heaplapse.manifest.jsonl"
)

// row is a row of a snapshot.
type row struct {
	unit  int // -1 for dust
	stack string
	memory.Point
}

// stackText returns the addresses of a stack in the format of both allocators.
func stackText(stack []uint64, base uint64) string {
	var b strings.Builder
	for _, a := range stack {
		fmt.Fprintf(&b, " 0x%08x", base+a)
	}
	return b.String()
}

// Recorded reports whether there are snapshots. A small program may never exceed the size that it has
// at first, so that a recording at record highs has none.
func (p *Process) Recorded() bool { return len(p.shots()) > 0 }

// Write writes the snapshots into a directory, and the program below its subdirectory sysroot. It
// overwrites existing files.
func (p *Process) Write(dir string) error {
	path := filepath.Join(dir, "sysroot", program.ProgramPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, p.program.Image(), 0o755); err != nil {
		return err
	}
	texts := map[*image][]string{}
	for _, im := range p.images {
		texts[im] = im.texts()
	}
	shots := p.shots()
	p.lost = map[int]map[int]bool{}
	if p.Mode.format == massif {
		return p.writeMassif(dir, shots)
	}
	for _, s := range shots {
		if err := p.writeShot(filepath.Join(dir, p.fileName(s)), s, texts[s.image]); err != nil {
			return err
		}
	}
	if !p.life.manifest {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, manifestName), p.manifest(shots), 0o644)
}

// manifest returns the manifest that a recorder writes.
func (p *Process) manifest(shots []shot) []byte {
	engine := map[format]string{heapProfile: "tcmalloc", heapV2: "tcmalloc", jemalloc: "jemalloc", builtin: "builtin"}
	var b bytes.Buffer
	b.WriteString(`{"schema":"heaplapse.manifest/1"}` + "\n")
	fmt.Fprintf(&b, `{"recording":{"started":%q,"engine":%q,"sample_period":%d}}`+"\n",
		shots[0].time.Format(time.RFC3339Nano), engine[p.Mode.format], p.samplePeriod())
	for _, s := range shots {
		trigger := p.Mode.trigger.String()
		if s.exit {
			trigger = "exit"
		}
		fmt.Fprintf(&b, `{"snapshot":{"file":%q,"time":%q,"pid":%d,"trigger":%q,"cpu_ns":%d}}`+"\n",
			p.fileName(s), s.time.Format(time.RFC3339Nano), processID, trigger, s.cpu.Nanoseconds())
	}
	return b.Bytes()
}

// samplePeriod is the sampling period that the snapshots state.
func (p *Process) samplePeriod() int64 {
	if p.Mode.format == builtin {
		return max(1, int64(p.Mode.period))
	}
	return int64(p.Mode.period)
}

func (p *Process) fileName(s shot) string {
	if p.Mode.format == jemalloc && s.exit {
		return fmt.Sprintf("jeprof.%d.%d.f.heap", processID, s.seq)
	}
	if p.Mode.format == jemalloc {
		return fmt.Sprintf("jeprof.%d.%d.m%d.heap", processID, s.seq, s.seq)
	}
	if p.Mode.format == pprof {
		return fmt.Sprintf("heap.%04d.pb", s.seq)
	}
	if p.Mode.format == massif {
		return fmt.Sprintf("massif.out.%d", processID)
	}
	return fmt.Sprintf("profile_%d.%04d.heap", processID, s.seq)
}

func (p *Process) writeShot(path string, s shot, texts []string) error {
	if err := os.WriteFile(path, []byte(p.text(s, texts)), 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, p.modified(s), p.modified(s))
}

func (p *Process) text(s shot, texts []string) string {
	switch p.Mode.format {
	case jemalloc:
		return p.jemalloc(s, texts)
	case heapV2:
		return p.heapV2(s, texts)
	case builtin:
		return p.builtin(s, texts)
	case pprof:
		return p.pprof(s)
	}
	text, lost := p.heapProfile(s, texts)
	if p.Mode.Truncated {
		p.lost[s.seq] = lost
	}
	return text
}

// maps returns the section of mappings, in gperftools' format.
func (p *Process) maps(im *image) string {
	loader := 0x7f0000000000 + im.base&0xffffff000
	end := im.base + p.program.Size()
	return fmt.Sprintf("MAPPED_LIBRARIES:\n"+
		"%08x-%08x r-xp 00000000 00:00 1311 %s\n"+
		"%08x-%08x rw-p 00000000 00:00 0           [heap]\n"+
		"%08x-%08x r-xp 00001000 00:00 1312 /lib64/ld-linux-x86-64.so.2\n",
		im.base, end, program.ProgramPath, end+0x1000, end+0x4000000, loader, loader+0x25000)
}

// rows returns the rows of a snapshot, for all stacks that have allocated, and their sum.
func (p *Process) rows(s shot, texts []string) (list []row, total memory.Point) {
	add := func(r row) {
		if r.Allocs > 0 {
			list = append(list, r)
			total = total.Add(r.Point)
		}
	}
	for u, h := range s.image.history {
		add(row{u, texts[u], h[s.step]})
	}
	since := s.image.grid.At(min(s.step, s.image.grid.Steps()-1)) + s.image.grid.Burn
	for i := range p.dust {
		add(row{-1, p.dust[i].text, p.dust[i].at(since)})
	}
	if p.sorted || p.Mode.Truncated {
		slices.SortStableFunc(list, func(a, b row) int { return int(b.Bytes - a.Bytes) })
	} else {
		rng := random.New(p.id(), streamOrder+uint64(s.seq))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list, total
}

// heapProfile returns the file that gperftools' heap-profile-table.cc writes. Up to version 2.15,
// rows and mappings share a buffer. It writes as much of each row as fits, and continues with the
// next row. lost holds the units whose rows are incomplete.
func (p *Process) heapProfile(s shot, texts []string) (text string, lost map[int]bool) {
	list, total := p.rows(s, texts)
	tail := "\n" + p.maps(s.image)
	b := buffer{room: math.MaxInt}
	if p.Mode.Truncated {
		b.room = bufferSize - len(tail) - 1
	}
	b.put(fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n", total.Live, total.Bytes, total.Allocs, total.AllocBytes))
	lost = map[int]bool{}
	for _, r := range list {
		if !b.row(r) {
			lost[r.unit] = true
		}
	}
	return b.text.String() + tail, lost
}

// buffer is a buffer of limited size.
type buffer struct {
	text strings.Builder
	room int
}

func (b *buffer) put(text string) bool {
	if len(text) >= b.room {
		return false
	}
	b.room -= len(text)
	b.text.WriteString(text)
	return true
}

// row appends the counts, each address and the end of the line, up to the first of these that does
// not fit. It reports whether all fit.
func (b *buffer) row(r row) bool {
	if !b.put(fmt.Sprintf("%6d: %8d [%6d: %8d] @", r.Live, r.Bytes, r.Allocs, r.AllocBytes)) {
		return false
	}
	for rest := r.stack; rest != ""; {
		end := strings.IndexByte(rest[1:], ' ') + 1
		if end == 0 {
			end = len(rest)
		}
		if !b.put(rest[:end]) {
			return false
		}
		rest = rest[end:]
	}
	return b.put("\n")
}

// heapV2 returns gperftools' sampled heap: a row per sampled live object.
func (p *Process) heapV2(s shot, texts []string) string {
	var objects, size int64
	var lines strings.Builder
	for u, text := range texts {
		for _, c := range s.image.classes[u][s.mark] {
			for range c.Sampled {
				fmt.Fprintf(&lines, "     1: %8d [     1: %8d] @%s\n", c.Size, c.Size, text)
			}
			objects += c.Sampled
			size += c.Sampled * c.Size
		}
	}
	header := fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heap_v2/%d\n", objects, size, objects, size, samplePeriod)
	return header + lines.String() + "\n" + p.maps(s.image)
}

// builtin returns what heaplapse's own engine writes: estimates, as rows of gperftools' heap profiler.
func (p *Process) builtin(s shot, texts []string) string {
	var total memory.Point
	var lines strings.Builder
	for u, text := range texts {
		r, births := p.scaled(u, s), ""
		if p.Mode.births {
			r, births = p.born(u, s, r)
		}
		if r.Allocs > 0 {
			fmt.Fprintf(&lines, "%6d: %8d [%6d: %8d] @%s\n%s", r.Live, r.Bytes, r.Allocs, r.AllocBytes, text, births)
			total = total.Add(r)
		}
	}
	header := fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heapprofile/%d\n",
		total.Live, total.Bytes, total.Allocs, total.AllocBytes, p.samplePeriod())
	return header + lines.String() + "\n" + p.maps(s.image)
}

// scaled returns the counts of a unit in a snapshot of samples that are scaled.
func (p *Process) scaled(unit int, s shot) memory.Point {
	if p.Mode.period == 0 {
		return s.image.history[unit][s.step]
	}
	e := estimate(p.classes(unit, s))
	return memory.Point{
		Live: int64(math.Round(e.objects)), Bytes: int64(math.Round(e.bytes)),
		Allocs: int64(math.Round(e.allocs)), AllocBytes: int64(math.Round(e.allocBytes)),
	}
}

// estimates holds jemalloc's unbiased counters of a stack (prof_tctx_t): each sampled object counts
// 1/p, where p is the probability that it is sampled.
type estimates struct{ objects, bytes, allocs, allocBytes float64 }

func (e *estimates) add(o estimates) {
	e.objects += o.objects
	e.bytes += o.bytes
	e.allocs += o.allocs
	e.allocBytes += o.allocBytes
}

func estimate(classes []memory.Class) (e estimates) {
	for _, c := range classes {
		live, all := float64(c.Sampled)/c.Chance, float64(c.SampledAllocs)/c.Chance
		e.add(estimates{live, live * float64(c.Size), all, all * float64(c.Size)})
	}
	return e
}

// raw returns the pair that jemalloc writes for estimates (prof_data.c, prof_do_unbias). A reader
// that scales the pair by the mean size gets the estimates.
func raw(objects, bytes float64) (int64, int64) {
	if objects == 0 || bytes == 0 {
		return 0, 0
	}
	mean := bytes / objects
	sampled := bytes * -math.Expm1(-mean/samplePeriod)
	return int64(math.Round(sampled / mean)), int64(math.Round(sampled))
}

// shown returns the estimates that a reader gets from the pair that jemalloc writes, which is
// rounded to integers.
func shown(objects, bytes float64) (float64, float64) {
	n, size := raw(objects, bytes)
	if n == 0 {
		return 0, 0
	}
	scale := -1 / math.Expm1(-float64(size)/float64(n)/samplePeriod)
	return float64(n) * scale, float64(size) * scale
}

func (p *Process) jemalloc(s shot, texts []string) string {
	var total estimates
	var body strings.Builder
	for u, text := range texts {
		e := estimate(s.image.classes[u][s.mark])
		if e.objects == 0 && (!p.Mode.accum || e.allocs == 0) {
			continue
		}
		total.add(e)
		counts := p.counts(e)
		fmt.Fprintf(&body, "@%s\n  t*: %s\n  t0: %s\n", text, counts, counts)
	}
	counts := p.counts(total)
	header := fmt.Sprintf("heap_v2/%d\n  t*: %s\n  t0: %s\n", samplePeriod, counts, counts)
	return header + body.String() + "\n" + p.maps(s.image)
}

func (p *Process) counts(e estimates) string {
	objects, size := raw(e.objects, e.bytes)
	var allocs, allocBytes int64
	if p.Mode.accum {
		allocs, allocBytes = raw(e.allocs, e.allocBytes)
	}
	return fmt.Sprintf("%d: %d [%d: %d]", objects, size, allocs, allocBytes)
}
