package births

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

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

// Births tells when the live samples were allocated: how many objects and bytes they stand for, by stack and mark.
type Births struct {
	at    []time.Time
	sites map[string][]weight
	// late is set if the samples were not read for this snapshot: what its rows have more than the samples that were read
	// for an earlier one was allocated since. The last moment stands for that.
	late bool
}

// weight is what samples stand for.
type weight struct{ objects, bytes float64 }

const (
	// maxStacks limits the bytes of the stacks of a process, which may be hostile.
	maxStacks = 64 << 20
	// maxLive limits the samples that are read: 32 GiB at the usual period.
	maxLive = 1 << 18
	// rest is for how long the samples are not read again, as a multiple of the time that it took: the recorder uses at
	// most a fiftieth of a processor for it.
	rest = 49
)

// Take reads the live samples. period is the mean number of bytes between samples. If they cannot be read, because the
// process has ended, or were read a moment ago, and that took long, it returns what was read last. It returns nil if
// that is nothing.
func (p *Process) Take(period int64) *Births {
	now := time.Now()
	if !now.Before(p.next) {
		b, err := p.read(period, now)
		p.next = time.Now().Add(rest * time.Since(now))
		if err == nil {
			p.last = b
			return b
		}
	}
	now = now.Truncate(time.Millisecond)
	if p.last == nil || !now.After(p.last.at[len(p.last.at)-1]) {
		return p.last
	}
	return &Births{at: append(slices.Clip(p.last.at), now), sites: p.last.sites, late: true}
}

func (p *Process) read(period int64, now time.Time) (*Births, error) {
	t, err := samples.ReadLive(p.Memory, p.Engine, maxLive)
	if err != nil {
		return nil, err
	}
	p.marks.add(t.Newest, now)
	b := &Births{sites: map[string][]weight{}}
	for _, m := range p.marks {
		b.at = append(b.at, m.at)
	}
	for _, s := range t.Live {
		stack, err := p.stack(t, s.Site)
		if err != nil {
			return nil, err
		}
		of := b.sites[stack]
		if of == nil {
			of = make([]weight, len(b.at))
			b.sites[stack] = of
		}
		w := weightOf(s.Size, period)
		i := p.marks.of(s.Number)
		of[i].objects += w
		of[i].bytes += w * float64(s.Size)
	}
	return b, nil
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
	return 1 / -math.Expm1(-float64(size+1)/float64(period))
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

// line returns the comment behind a row, or "" if nothing is known of it. The samples were read a moment after the row:
// what they stand for is scaled to what the row has.
func (b *Births) line(stack string, objects, bytes int64) string {
	of, sum := b.weights(stack, objects, bytes)
	if sum.objects <= 0 || objects <= 0 || bytes <= 0 {
		return ""
	}
	var line strings.Builder
	line.WriteString("# births")
	var seen weight
	var doneObjects, doneBytes int64
	for i, w := range of {
		if w.objects == 0 {
			continue
		}
		seen = weight{seen.objects + w.objects, seen.bytes + w.bytes}
		toObjects, toBytes := part(objects, seen.objects/sum.objects), bytes
		if sum.bytes > 0 {
			toBytes = part(bytes, seen.bytes/sum.bytes)
		}
		fmt.Fprintf(&line, " %d:%d:%d", b.at[i].UnixMilli(), toObjects-doneObjects, toBytes-doneBytes)
		doneObjects, doneBytes = toObjects, toBytes
	}
	if doneObjects != objects || doneBytes != bytes {
		return ""
	}
	line.WriteByte('\n')
	return line.String()
}

// weights returns what samples of a stack stand for, by moment, and the sum.
func (b *Births) weights(stack string, objects, bytes int64) (of []weight, sum weight) {
	of = b.sites[stack]
	for _, w := range of {
		sum = weight{sum.objects + w.objects, sum.bytes + w.bytes}
	}
	more := weight{float64(objects) - sum.objects, float64(bytes) - sum.bytes}
	if !b.late || more.objects < 1 || more.bytes < 1 {
		return of, sum
	}
	list := make([]weight, len(b.at))
	copy(list, of)
	list[len(list)-1] = more
	return list, weight{float64(objects), float64(bytes)}
}

// part returns a share of a number, rounded. The share of all is the number.
func part(n int64, share float64) int64 {
	if share >= 1-1e-9 {
		return n
	}
	return min(n, int64(math.Round(float64(n)*share)))
}
