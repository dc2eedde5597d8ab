package leaksim

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	processID = 4711
	// cutSize is gperftools' buffer for a whole file, up to version 2.15.
	cutSize = 1 << 20
)

// row is one line of a snapshot.
type row struct {
	unit  int // -1 for dust
	stack string
	point
}

// stackText is the addresses of a stack as both allocators write them.
func stackText(stack []uint64, base uint64) string {
	var b strings.Builder
	for _, a := range stack {
		fmt.Fprintf(&b, " 0x%08x", base+a)
	}
	return b.String()
}

// Write puts a series into a directory: the snapshots, and below sysroot the program.
func (p *Process) Write(dir string) error {
	path := filepath.Join(dir, "sysroot", programPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, p.program.image(), 0o755); err != nil {
		return err
	}
	texts := map[*image][]string{}
	for _, im := range p.images {
		texts[im] = im.texts()
	}
	for _, s := range p.shots() {
		if err := p.writeShot(filepath.Join(dir, p.fileName(s)), s, texts[s.image]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Process) fileName(s shot) string {
	if p.Mode.format == jemalloc {
		return fmt.Sprintf("jeprof.%d.%d.m%d.heap", processID, s.seq, s.seq)
	}
	return fmt.Sprintf("profile_%d.%04d.heap", processID, s.seq)
}

func (p *Process) writeShot(path string, s shot, texts []string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	switch p.Mode.format {
	case jemalloc:
		p.jemalloc(w, s, texts)
	case heapV2:
		p.heapV2(w, s, texts)
	default:
		text, _ := p.heapProfile(s, texts)
		fmt.Fprint(w, text)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Chtimes(path, p.modified(s), p.modified(s))
}

// maps is the mappings section, in gperftools' form.
func (p *Process) maps(im *image) string {
	loader := 0x7f0000000000 + im.base&0xffffff000
	end := im.base + p.program.size()
	return fmt.Sprintf("MAPPED_LIBRARIES:\n"+
		"%08x-%08x r-xp 00000000 00:00 1311 %s\n"+
		"%08x-%08x rw-p 00000000 00:00 0           [heap]\n"+
		"%08x-%08x r-xp 00001000 00:00 1312 /lib64/ld-linux-x86-64.so.2\n",
		im.base, end, programPath, end+0x1000, end+0x4000000, loader, loader+0x25000)
}

// rows are the stacks that ever allocated.
func (p *Process) rows(s shot, texts []string) (list []row, total point) {
	add := func(r row) {
		if r.allocs > 0 {
			list = append(list, r)
			total = total.add(r.point)
		}
	}
	for u, h := range s.image.history {
		add(row{u, texts[u], h[s.step]})
	}
	since := s.image.grid.at(s.step) + s.image.grid.burn
	for i := range p.dust {
		add(row{-1, stackText(p.dust[i].stack, s.image.base), p.dust[i].at(since)})
	}
	if p.sorted || p.Mode.Cut {
		slices.SortStableFunc(list, func(a, b row) int { return int(b.bytes - a.bytes) })
	} else {
		rng := NewRand(p.id(), streamOrder+uint64(s.seq))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list, total
}

// heapProfile is what gperftools' heap-profile-table.cc writes. Up to version 2.15 rows and
// mappings share a buffer: what of a row no longer fits is left out, and every later row is tried
// as well. lost are the units whose rows are not whole.
func (p *Process) heapProfile(s shot, texts []string) (text string, lost map[int]bool) {
	list, total := p.rows(s, texts)
	tail := "\n" + p.maps(s.image)
	b := buffer{room: math.MaxInt}
	if p.Mode.Cut {
		b.room = cutSize - len(tail) - 1
	}
	b.put(fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n", total.live, total.bytes, total.allocs, total.allocBytes))
	lost = map[int]bool{}
	for _, r := range list {
		if !b.row(r) {
			lost[r.unit] = true
		}
	}
	return b.text.String() + tail, lost
}

// buffer takes text as long as it fits.
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

// row puts the counts, each address and the end of the line, and gives up at the first that does
// not fit.
func (b *buffer) row(r row) bool {
	if !b.put(fmt.Sprintf("%6d: %8d [%6d: %8d] @", r.live, r.bytes, r.allocs, r.allocBytes)) {
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

// heapV2 writes gperftools' sampled heap: a line per sampled object that lives.
func (p *Process) heapV2(w *bufio.Writer, s shot, texts []string) {
	var objects, size int64
	var lines strings.Builder
	for u, text := range texts {
		for _, c := range s.image.classes[u][s.mark] {
			for range c.sampled {
				fmt.Fprintf(&lines, "     1: %8d [     1: %8d] @%s\n", c.size, c.size, text)
			}
			objects += c.sampled
			size += c.sampled * c.size
		}
	}
	fmt.Fprintf(w, "heap profile: %6d: %8d [%6d: %8d] @ heap_v2/%d\n", objects, size, objects, size, samplePeriod)
	fmt.Fprint(w, lines.String(), "\n", p.maps(s.image))
}

// estimates is what jemalloc keeps of a stack (prof_tctx_t's unbiased counters): each sampled
// object counts for as many as it stands for.
type estimates struct{ objects, bytes, allocs, allocBytes float64 }

func (e *estimates) add(o estimates) {
	e.objects += o.objects
	e.bytes += o.bytes
	e.allocs += o.allocs
	e.allocBytes += o.allocBytes
}

func estimate(classes []class) (e estimates) {
	for _, c := range classes {
		live, all := float64(c.sampled)/c.chance, float64(c.sampledAllocs)/c.chance
		e.add(estimates{live, live * float64(c.size), all, all * float64(c.size)})
	}
	return e
}

// raw is the pair that jemalloc writes for estimates (prof_data.c, prof_do_unbias): such that a
// reader who scales by the mean size gets the estimates back.
func raw(objects, bytes float64) (int64, int64) {
	if objects == 0 || bytes == 0 {
		return 0, 0
	}
	mean := bytes / objects
	sampled := bytes * -math.Expm1(-mean/samplePeriod)
	return int64(math.Round(sampled / mean)), int64(math.Round(sampled))
}

// shown is what a reader makes of the pair that jemalloc writes: the estimates, but for the
// rounding to whole objects.
func shown(objects, bytes float64) (float64, float64) {
	n, size := raw(objects, bytes)
	if n == 0 {
		return 0, 0
	}
	scale := -1 / math.Expm1(-float64(size)/float64(n)/samplePeriod)
	return float64(n) * scale, float64(size) * scale
}

func (p *Process) jemalloc(w *bufio.Writer, s shot, texts []string) {
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
	fmt.Fprintf(w, "heap_v2/%d\n  t*: %s\n  t0: %s\n", samplePeriod, counts, counts)
	fmt.Fprint(w, body.String(), "\n", p.maps(s.image))
}

func (p *Process) counts(e estimates) string {
	objects, size := raw(e.objects, e.bytes)
	var allocs, allocBytes int64
	if p.Mode.accum {
		allocs, allocBytes = raw(e.allocs, e.allocBytes)
	}
	return fmt.Sprintf("%d: %d [%d: %d]", objects, size, allocs, allocBytes)
}
