package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// shot is one snapshot that is kept.
type shot struct {
	image *image
	step  int
	mark  int // index among the steps whose classes were kept
	seq   int // number in the file's name
	time  time.Time
}

// timerSteps are the steps of an image at which a timer fires: every so often, and late by a little,
// for allocators look at the clock only when they allocate.
func (p *process) timerSteps(im *image) []int {
	rng := newRand(p.id(), streamTimer)
	n := p.snapshots
	if p.mode.missing > 0 {
		n = int(float64(n)/(1-p.mode.missing) + 0.5)
	}
	late := uniform(rng, 0, 0.03)
	var out []int
	for k := 1; k <= n; k++ {
		t := (float64(k) + min(0.5, late*rng.ExpFloat64())) / float64(n)
		local := min(t, 1) - im.start
		if local > 2*dt && local <= im.grid.end {
			out = append(out, im.grid.index(local))
		}
	}
	return slices.Compact(out)
}

// shots are the snapshots of a process.
func (p *process) shots() []shot {
	rng := newRand(p.id(), streamShots)
	begin := time.Date(2026, 3, 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
	var out []shot
	for _, im := range p.images {
		for mark, step := range p.stepsOf(im) {
			elapsed := (im.start+im.grid.at(step)+p.images[0].grid.burn)*p.seconds + 0.05*rng.Float64()
			out = append(out, shot{im, step, mark, 0, begin.Add(time.Duration(elapsed * 1e9))})
		}
	}
	for i := range out {
		out[i].seq = i + 1
	}
	return p.lose(rng, out)
}

// modified is the time that a snapshot's file bears: that of the snapshot, or of a quick copy.
func (p *process) modified(s shot) time.Time {
	if p.mode.copied {
		return time.Date(2026, 6, 1, 12, 0, 0, s.seq*1e6, time.UTC)
	}
	return s.time
}

func (p *process) stepsOf(im *image) []int {
	switch p.mode.trigger {
	case byAllocation:
		return allocationSteps(im, p.snapshots)
	case byHighWater:
		return highWaterSteps(im, p.snapshots)
	}
	return p.timerSteps(im)
}

// lose drops snapshots at random, but not the first and the last.
func (p *process) lose(rng *rand.Rand, list []shot) []shot {
	if p.mode.missing == 0 {
		return list
	}
	for len(list) > p.snapshots {
		i := 1 + rng.IntN(len(list)-2)
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// allocationSteps are where the bytes allocated pass multiples of an interval that gives n snapshots.
func allocationSteps(im *image, n int) []int {
	total := im.total()
	first := im.grid.index(dt)
	from, to := float64(total[first].allocBytes), float64(total[len(total)-1].allocBytes)
	every := (to - from) / float64(n)
	var out []int
	next := from + every
	for i := first; i < len(total); i++ {
		if float64(total[i].allocBytes) >= next-0.5 {
			out = append(out, i)
			next = float64(total[i].allocBytes) + every
		}
	}
	return out
}

// highWaterSteps are where the heap passes its record by an interval (gperftools'
// HEAP_PROFILE_INUSE_INTERVAL), the largest one that gives n snapshots.
func highWaterSteps(im *image, n int) []int {
	total := im.total()[im.grid.index(dt):]
	low, high := 0.0, float64(slices.MaxFunc(total, func(a, b point) int { return int(a.bytes - b.bytes) }).bytes)
	for range 60 {
		middle := (low + high) / 2
		if len(records(total, middle)) >= n {
			low = middle
		} else {
			high = middle
		}
	}
	out := records(total, low)
	for i := range out {
		out[i] += im.grid.index(dt)
	}
	return out[:min(n, len(out))]
}

func records(total []point, interval float64) []int {
	var out []int
	record := total[0].bytes
	for i, p := range total {
		if float64(p.bytes) > float64(record)+interval {
			record = p.bytes
			out = append(out, i)
		}
	}
	return out
}
