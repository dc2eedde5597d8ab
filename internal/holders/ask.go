//go:build linux && amd64

package holders

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/samples"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/symbolize"
)

const (
	// looked is the number of blocks of a site or a group that are looked at.
	looked   = 30
	maxSites = 500
)

// Sites tells what holds the live samples of the sites with most of them, the site with most old ones first: those
// with a number up to half. Of a site with few old ones, it tells how many there are.
func (l *Look) Sites(ctx context.Context, image int, half uint32) ([]answer.Site, error) {
	if l.samples == nil {
		return nil, nil
	}
	if half == 0 {
		half = l.samples.Newest / 2
	}
	bySite := map[uint32]*answer.Site{}
	old := map[uint32][]uint64{} // addresses
	for _, s := range l.samples.Live {
		site := bySite[s.Site]
		if site == nil {
			site = &answer.Site{}
			bySite[s.Site] = site
		}
		site.Live++
		if s.Number <= half {
			site.Old++
			old[s.Site] = append(old[s.Site], s.Address)
		}
	}
	chosen := choose(bySite)
	list := make([]answer.Site, 0, len(chosen))
	for _, n := range chosen {
		site := bySite[n]
		var err error
		if site.Stack, err = stackOf(l.samples, n, image); err != nil {
			return nil, err
		}
		if site.Old > 0 {
			if site.Held, err = l.held(ctx, spread(old[n])); err != nil {
				return nil, err
			}
		}
		list = append(list, *site)
	}
	return list, nil
}

// choose returns the sites to tell of: first those with old samples, most first, then those with many that are all new.
// There are at most maxSites of each: the lines of a large import, with one old sample each, leave room for a leak that
// began after it.
func choose(bySite map[uint32]*answer.Site) []uint32 {
	var old, fresh []uint32
	for n, site := range bySite {
		if site.Old > 0 {
			old = append(old, n)
		} else if site.Live >= answer.LeastOld {
			fresh = append(fresh, n)
		}
	}
	first := func(list []uint32) []uint32 {
		slices.SortFunc(list, func(a, b uint32) int {
			x, y := bySite[a], bySite[b]
			return cmp.Or(cmp.Compare(y.Old, x.Old), cmp.Compare(y.Live, x.Live), cmp.Compare(a, b))
		})
		return list[:min(len(list), maxSites)]
	}
	return append(first(old), first(fresh)...)
}

func stackOf(t *samples.Table, site uint32, image int) ([]answer.Address, error) {
	frames, err := t.Stack(site, image)
	list := make([]answer.Address, len(frames))
	for i, f := range frames {
		list[i] = answer.Address(f)
	}
	return list, err
}

// spread returns at most as many elements as are looked at, evenly spaced.
func spread[T any](list []T) []T {
	if len(list) <= looked {
		return list
	}
	chosen := make([]T, looked)
	for i := range chosen {
		chosen[i] = list[i*len(list)/looked]
	}
	return chosen
}

// used iterates over the blocks that are in use.
func (l *Look) used() func(yield func(blocks.Block) bool) {
	return func(yield func(blocks.Block) bool) {
		for _, r := range l.set.Regions() {
			for b := range r.All() {
				if !b.Free && !yield(b) {
					return
				}
			}
		}
	}
}

// held tells what holds the blocks at some addresses. Equal answers are one.
func (l *Look) held(ctx context.Context, addresses []uint64) (answer.Held, error) {
	holders, err := l.Holders(ctx, addresses)
	if err != nil {
		return answer.Held{}, err
	}
	list := make([]answer.Holder, len(holders))
	for i, h := range holders {
		list[i] = h.answer()
	}
	return answer.Held{Looked: len(list), By: answer.Merge(list)}, nil
}

// answer returns the holder as it is stored and shown.
func (h *Holder) answer() answer.Holder {
	a := answer.Holder{Blocks: 1, Kind: h.Kind, Name: h.Name, Function: h.Function}
	if h.Kind == answer.Cycle {
		a.Type = h.Pointers
	}
	if v := h.Variable; v != nil {
		a.Type, a.File, a.Line = v.Type, v.File, v.Line
		a.Module = symbolize.FileName(v.Module)
		if v.Function != "" {
			a.Variable, a.Parameter = v.String(), v.Parameter
		}
	}
	unknown := false // blocks of which nothing is known lie between
	for _, s := range h.Steps {
		if s.Type == "" && (s.Via == "" || strings.HasPrefix(s.Via, "[")) {
			unknown = true
			continue
		}
		if unknown {
			a.Path = append(a.Path, answer.Step{})
			unknown = false
		}
		a.Path = append(a.Path, answer.Step{
			Via: s.Via, Type: s.Type, Length: max(s.Length, 0), Limit: max(s.Limit, 0), Links: s.Links,
		})
	}
	return a
}

// Ask reads the copy, and removes it.
func (c *Copy) Ask(ctx context.Context, q Question) (a *answer.Look, err error) {
	l, err := c.Look(ctx, q.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	a = l.answer()
	if a.Groups, err = l.Groups(ctx, q.Groups); err != nil {
		return nil, err
	}
	a.Recorded = q.Groups > 0 && l.samples != nil && l.samples.Newest > 0
	if q.Sites {
		if a.Sites, err = l.Sites(ctx, q.Image, q.Half); err != nil {
			return nil, err
		}
	}
	if c.resident != nil {
		if err := l.addResident(ctx, c.resident, a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Ask looks at a process once. See Begin for its errors.
func Ask(ctx context.Context, pid int, q Question) (*answer.Look, error) {
	c, err := Begin(pid, q.Guard)
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, q)
}

// answer tells what is in the look, but for sites and groups.
func (l *Look) answer() *answer.Look {
	a := &answer.Look{
		Schema: answer.Schema, PID: l.snapshot.PID, Program: proc.ProgramName(l.snapshot.Memory.PID),
		Time: l.taken.UTC().Truncate(time.Millisecond), Stopped: l.Stopped(), Doubts: l.Doubts,
	}
	for b := range l.used() {
		a.Blocks, a.Bytes = a.Blocks+1, a.Bytes+int64(b.Size())
	}
	return a
}
