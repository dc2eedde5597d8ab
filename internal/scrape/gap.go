package scrape

import (
	"errors"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/units"
)

// gap is the time since the requests for a profile fail. The zero value is none.
type gap struct {
	since  time.Time
	reason string
}

// openGap tells that a request has failed, unless the one before has failed, too, or the error ends
// the recording or leaves out the profile.
func (s *scraper) openGap(p *profile, err error) {
	var refused *request.Refusal
	switch {
	case !p.gap.since.IsZero() || p.optional && p.taken == 0 && errors.As(err, &refused):
		return
	case p.optional || !s.first.IsZero():
		s.store.note("%s: %v; trying again", request.Display(p.url), err)
	case s.isFinal(err):
		return
	default:
		s.store.note("%s: %v; trying again for %s", request.Display(p.url), err, s.Wait)
	}
	p.gap = gap{time.Now(), err.Error()}
}

// endGap tells that a request has succeeded.
func (s *scraper) endGap(p *profile, at time.Time) {
	if p.gap.since.IsZero() {
		return
	}
	if p.taken > 0 {
		s.store.note("%s answers again after %s", request.Display(p.url), units.Duration(at.Sub(p.gap.since).Seconds()))
		s.store.gap(manifest.Gap{Prefix: s.prefix(p), From: p.gap.since.UTC(), To: at.UTC(), Reason: p.gap.reason})
	}
	p.gap = gap{}
}

// closeGap keeps a gap that lasts until the end of the recording.
func (s *scraper) closeGap(p *profile) {
	if p.taken > 0 && !p.gap.since.IsZero() {
		s.store.gap(manifest.Gap{Prefix: s.prefix(p), From: p.gap.since.UTC(), Reason: p.gap.reason})
	}
}

// restarts counts how often the bytes allocated have fallen: the service was restarted, or another
// process has answered.
type restarts struct {
	total    int
	profiles int
	last     []int // the profiles at which they have fallen
	before   *heapfile.Head
	warned   bool
}

// add adds a heap profile and reports whether the bytes allocated have fallen.
func (r *restarts) add(h *heapfile.Head) bool {
	r.profiles++
	before := r.before
	r.before = h
	if before == nil || !before.HasAlloc || !h.HasAlloc || h.Heap().AllocBytes >= before.Heap().AllocBytes {
		return false
	}
	r.total++
	r.last = append(r.last, r.profiles)
	return true
}

// Three restarts within ten snapshots are more than a service that crashes would have.
const (
	manyRestarts = 3
	fewProfiles  = 10
)

func (r *restarts) many() bool {
	n := len(r.last)
	return n >= manyRestarts && r.profiles-r.last[n-manyRestarts] < fewProfiles
}

func (s *scraper) noteRestart(p *profile) {
	switch r := &s.restarts; {
	case r.warned:
	case r.many():
		r.warned = true
		s.store.note("%s: the bytes allocated fell %d times: behind a load balancer, each request may reach another process; "+
			"scrape each process by itself", request.Display(p.url), r.total)
	default:
		s.store.note("%s: the bytes allocated fell, so the service was restarted", request.Display(p.url))
	}
}
