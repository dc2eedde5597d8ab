//go:build linux

package births

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/samples"
)

// Process is a process that the engine records.
type Process struct {
	Memory blocks.Memory
	Engine samples.Engine
	// Image is the number of the process image, which the addresses of functions of scripts contain.
	Image int

	marks  marks
	stacks map[uint32]string // the addresses of a site, as rows have them
	room   int               // bytes of stacks that may still be added
	next   time.Time         // when the samples may be read again
	last   *Births           // what was read last; nil: nothing yet
}

// Births tells when the live samples were allocated.
type Births struct {
	marks marks
	sites map[string][]sample // by stack, in the order of their numbers, as samples.Table has them
	// before are those of the snapshot before.
	before map[string][]sample
	// late is called with the number of a sample that is newer than the rows; may be nil.
	late func(number uint32)
}

// sample is a live sample, and what it stands for.
type sample struct {
	number         uint32
	objects, bytes float64
}

const (
	// maxStacks limits the bytes of the stacks of a process, which may be hostile.
	maxStacks = 64 << 20
	// maxLive limits the samples that are read, which [samples.ReadLive] does by the size of their table: a table of this
	// size has up to twice as many, which is 64 GiB at the usual period.
	maxLive = 1 << 18
	// rest is for how long the samples are not read again, as a multiple of the processor time that it took: the recorder
	// uses at most a fiftieth of a processor for it.
	rest = 49
)

// Take reads the live samples. period is the mean number of bytes between samples. If they were read a moment ago, and
// that took long, or the process has ended, it returns what was read last. It returns nil if that is nothing, or too
// long ago.
func (p *Process) Take(period int64) *Births {
	now := time.Now()
	patience := max(leastPatience, p.last.span(now)/patiencePart)
	if !now.Before(p.next) {
		runtime.LockOSThread() // whose time counts
		began := threadTime()
		b, err := p.read(period, now)
		p.next = time.Now().Add(rest * (threadTime() - began))
		runtime.UnlockOSThread()
		if err == nil {
			if p.last != nil {
				b.before = p.last.sites
			}
			p.last = b
			return b
		}
		if errors.Is(err, samples.ErrLimit) || errors.Is(err, samples.ErrMalformed) {
			p.last = nil
		}
		patience = math.MaxInt64 // else it has ended, and this is its last snapshot
	}
	if p.last == nil {
		return nil
	}
	return p.last.later(now, patience)
}

// What was read last counts for another time of at least this, and this part of the recording.
const (
	leastPatience = time.Second
	patiencePart  = 8
)

// span returns the time since the first moment.
func (b *Births) span(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	return now.Sub(b.marks[0].at)
}

// later returns what is known of a snapshot at which the samples were not read; nil if it is too late. What a row has
// beyond those that were read was allocated since. What was freed since, and allocated again, seems to be older than it
// is, by the time since then at most.
func (b *Births) later(now time.Time, patience time.Duration) *Births {
	since := mark{math.MaxUint32, now.Truncate(time.Millisecond)}
	list := slices.Clip(b.marks)
	read := list[len(list)-1].at
	if now.Sub(read) > patience {
		return nil
	}
	if since.at.After(read) {
		list = append(list, since)
	}
	return &Births{marks: list, sites: b.sites}
}

// threadTime is the processor time that the thread has used. A recorder that waits for a processor uses none.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0 // the clock is in each Linux
	}
	return time.Duration(t.Nano())
}

func (p *Process) read(period int64, now time.Time) (*Births, error) {
	t, err := samples.ReadLive(p.Memory, p.Engine, maxLive)
	if err != nil {
		return nil, err
	}
	p.marks.add(t.Newest, now)
	b := &Births{marks: slices.Clone(p.marks), sites: map[string][]sample{}, late: p.marks.late}
	sites := map[uint32][]sample{}
	for _, s := range t.Live {
		w := weightOf(s.Size, period)
		sites[s.Site] = append(sites[s.Site], sample{s.Number, w, w * float64(s.Size)})
	}
	for site, list := range sites {
		stack, err := p.stack(t, site)
		if err != nil {
			return nil, err
		}
		if other := b.sites[stack]; other != nil {
			list = sorted(append(list, other...))
		}
		b.sites[stack] = list
	}
	return b, nil
}

func sorted(list []sample) []sample {
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.number, b.number) })
	return list
}

// Half returns the number of the newest sample when half of the time since the first snapshot had passed, or 0 if that
// is not known.
func (p *Process) Half(now time.Time) uint32 {
	if len(p.marks) == 0 {
		return 0
	}
	middle := p.marks[0].at.Add(now.Sub(p.marks[0].at) / 2)
	newest := p.marks[0].newest
	for _, m := range p.marks {
		if !m.at.After(middle) {
			newest = m.newest
		}
	}
	return newest
}

// weightOf is the number of allocations that a sample stands for: see engine/src/heap/sample.h.
func weightOf(size uint64, period int64) float64 {
	if period <= 1 {
		return 1
	}
	const one = 1 << 16 // the engine counts in units of 1/one
	return math.Round(one/-math.Expm1(-float64(size+1)/float64(period))) / one
}

// stack returns the addresses of a site as rows have them: "0x5d2d04 0x7fc83014bd65".
func (p *Process) stack(t *samples.Table, site uint32) (string, error) {
	if s, ok := p.stacks[site]; ok {
		return s, nil
	}
	frames, err := t.Stack(site, p.Image)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, f := range frames {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%#x", f)
	}
	if p.stacks == nil {
		p.stacks, p.room = map[uint32]string{}, maxStacks
	}
	if p.room -= b.Len(); p.room < 0 {
		return "", samples.ErrLimit
	}
	p.stacks[site] = b.String()
	return b.String(), nil
}

// row returns what is known of a row; nil if that is nothing. What the row has beyond the samples of which something is
// known counts as new. So no memory seems to be older than it is, and what was allocated before a snapshot never
// becomes more.
func (b *Births) row(stack string, objects, bytes int64) (t births) {
	if objects <= 0 || bytes <= 0 {
		return nil
	}
	list := b.counted(stack, float64(objects))
	if len(list) == 0 && len(b.sites[stack]) == 0 {
		return nil
	}
	var seen sample // the sum
	for _, s := range list {
		seen = sample{s.number, seen.objects + s.objects, seen.bytes + s.bytes}
		t.upTo(b.marks[b.marks.of(s.number)].at, rounded(seen.objects, objects), rounded(seen.bytes, bytes))
	}
	if left := float64(objects) - seen.objects; len(t) == 0 || left >= 1 {
		t.upTo(b.marks[len(b.marks)-1].at, objects, bytes)
	}
	last := &t[len(t)-1]
	last.objects, last.bytes = objects, bytes
	return t
}

// withAll returns the same with all moments, also those before which nothing was allocated that is still in use.
func (b *Births) withAll(t births) births {
	all := make(births, len(b.marks))
	var done birth
	for i, m := range b.marks {
		if len(t) > 0 && t[0].at.Equal(m.at) {
			done, t = t[0], t[1:]
		}
		all[i] = birth{m.at, done.objects, done.bytes}
	}
	return all
}

// counted returns the samples of a row with a number of objects, in the order of their numbers. The engine counts the
// row a moment before the samples are read. Samples that the row does not have were allocated meanwhile: they are the
// newest ones. What it has beyond all samples was freed meanwhile. That may be what was live at the snapshot before: of
// that, the newest samples are taken.
func (b *Births) counted(stack string, objects float64) []sample {
	list, left := b.sites[stack], objects
	for i, s := range list {
		if s.objects/2 > left {
			if b.late != nil {
				b.late(s.number)
			}
			return list[:i]
		}
		left -= s.objects
	}
	var freed []sample
	live := list
	for _, s := range slices.Backward(b.before[stack]) {
		for len(live) > 0 && live[len(live)-1].number > s.number {
			live = live[:len(live)-1]
		}
		if len(live) > 0 && live[len(live)-1].number == s.number {
			continue
		}
		if s.objects/2 > left {
			break
		}
		left -= s.objects
		freed = append(freed, s)
	}
	if len(freed) == 0 {
		return list
	}
	return sorted(append(freed, list...))
}

// births are the fields of a comment: objects and bytes that were allocated before a time.
type births []birth

type birth struct {
	at             time.Time
	objects, bytes int64
}

// upTo adds what was allocated before a time, or sets it if it is the last one.
func (t *births) upTo(at time.Time, objects, bytes int64) {
	if n := len(*t); n == 0 || !(*t)[n-1].at.Equal(at) {
		*t = append(*t, birth{at: at})
	}
	(*t)[len(*t)-1] = birth{at, objects, bytes}
}

// String returns the comment.
func (t births) String() string {
	var line strings.Builder
	line.WriteString("# births")
	var done birth
	for _, b := range t {
		fmt.Fprintf(&line, " %d:%d:%d", b.at.UnixMilli(), b.objects-done.objects, b.bytes-done.bytes)
		done = b
	}
	line.WriteByte('\n')
	return line.String()
}

// rounded is a number of at most a limit.
func rounded(f float64, limit int64) int64 { return min(limit, int64(math.Round(min(f, 1<<62)))) }
