package scrape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/request"
)

// scraper takes the snapshots of one service.
type scraper struct {
	*Options
	*service
	client *client
	store  *store

	created  time.Time
	first    time.Time     // when the first snapshot was due; zero before there is one
	took     time.Duration // of the last round
	failures int           // rounds without a heap profile since then
	restarts restarts
}

// run takes snapshots until the time is over or the context ends. It returns an error if there is
// no snapshot.
func (s *scraper) run(ctx context.Context) error {
	for due := s.created; !s.over(due) && request.Sleep(ctx, time.Until(due)); {
		start := time.Now()
		err := s.round(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			s.took, s.failures = time.Since(start), 0
			if s.first.IsZero() {
				s.first = due
			}
			due = after(due, s.interval())
		case s.first.IsZero() && s.isFinal(err):
			return s.gaveUp(err)
		default:
			s.failures++
			due = time.Now().Add(s.backoff())
		}
	}
	for _, p := range s.profiles {
		s.closeGap(p)
	}
	p := s.profiles[0]
	if p.taken == 0 {
		return fmt.Errorf("%s: ended before the first snapshot", request.Display(p.url))
	}
	if s.restarts.before.Rows == 0 {
		s.store.note("%s: the last profile is empty: is the profiler of the service on?", request.Display(p.url))
	}
	return nil
}

// over reports whether a snapshot at a time would be too late.
func (s *scraper) over(due time.Time) bool {
	return !s.first.IsZero() && s.Duration > 0 && due.Sub(s.first) > s.Duration
}

// isFinal reports whether an error of the first request ends the recording.
func (s *scraper) isFinal(err error) bool {
	var refused *request.Refusal
	return errors.As(err, &refused) || time.Since(s.created) >= s.Wait
}

// gaveUp adds to the error of the last attempt how long the service was waited for, and what to do. A service that
// answers is there.
func (s *scraper) gaveUp(err error) error {
	var refused *request.Refusal
	if errors.As(err, &refused) || errors.Is(err, request.ErrEndsEarly) {
		return err
	}
	waited := ""
	if s.Wait > 0 {
		waited = fmt.Sprintf("; gave up (%s %s)", option.Wait, s.Wait)
	}
	return fmt.Errorf("%w%s: check that the service runs, and with curl that it can be reached from here", err, waited)
}

// Parameters of the times that are chosen automatically.
const (
	perDuration = 48               // intervals of a recording whose duration is known
	leastEvery  = time.Second / 2  // of such a recording
	firstEvery  = 5 * time.Second  // of one whose duration is not known
	part        = 60               // later: this part of the time so far
	mostEvery   = time.Minute      // of both
	load        = 4                // at most this part of the time is spent on requests
	firstRetry  = time.Second      // after a failed request
	mostRetry   = 30 * time.Second // after several
)

// interval returns the time to the next snapshot.
func (s *scraper) interval() time.Duration {
	if s.Every > 0 {
		return s.Every
	}
	d := max(firstEvery, time.Since(s.first)/part)
	if s.Duration > 0 {
		d = max(leastEvery, s.Duration/perDuration)
	}
	return max(min(d, mostEvery), load*s.took)
}

// backoff returns the time to the next attempt.
func (s *scraper) backoff() time.Duration {
	d := mostRetry
	if n := s.failures - 1; n < 10 {
		d = min(d, firstRetry<<n)
	}
	return min(d, s.interval())
}

// after returns the first time in the future that is a number of intervals after due.
func after(due time.Time, interval time.Duration) time.Time {
	missed := max(0, time.Since(due)/interval)
	return due.Add((missed + 1) * interval)
}

// round takes a snapshot of each profile. The error is that of the heap profile.
func (s *scraper) round(ctx context.Context) error {
	for _, p := range slices.Clone(s.profiles) {
		err := s.take(ctx, p)
		var refused *request.Refusal
		switch {
		case err == nil || ctx.Err() != nil:
		case !p.optional:
			return err
		case p.taken == 0 && errors.As(err, &refused):
			s.leaveOut(p, refused)
		}
	}
	return nil
}

// leaveOut gives up a profile that the service does not have.
func (s *scraper) leaveOut(p *profile, why *request.Refusal) {
	s.profiles = slices.DeleteFunc(s.profiles, func(q *profile) bool { return q == p })
	if !why.Missing {
		s.store.note("%s is left out: %v", request.Display(p.url), why)
	}
}

// take takes a snapshot of a profile. An error of the directory counts only if it is that of the
// first snapshot: there may be space again later.
func (s *scraper) take(ctx context.Context, p *profile) error {
	f, err := s.client.fetch(ctx, p)
	if err != nil {
		if ctx.Err() == nil {
			s.openGap(p, err)
		}
		return fmt.Errorf("%s: %w", request.Display(p.url), err)
	}
	defer f.Close()
	s.endGap(p, f.at)
	if p.taken == 0 {
		p.kind = kindOf(&f.head)
		s.adviseGC(p, f)
	}
	if p == s.profiles[0] && s.restarts.add(&f.head) {
		s.noteRestart(p)
	}
	switch err := s.store.add(s.prefix(p), f, s.restarts.total); {
	case err == nil:
		p.taken++
	case s.first.IsZero():
		return request.AsRefusal(err)
	case s.store.failed(err):
		s.store.note("%v", err)
	}
	return nil
}

// adviseGC advises the query that makes Go collect garbage, unless the URL has it or the user does
// not want it.
func (s *scraper) adviseGC(p *profile, f *fetched) {
	if !s.NoGC && f.head.Producer == "go" && p.kind == heap && !p.url.Query().Has("gc") {
		s.store.note("%s shows the heap as of the last garbage collections: add gc=1 to its query, and the service collects first",
			request.Display(p.url))
	}
}

// prefix returns the beginning of the names of the files of a profile.
func (s *scraper) prefix(p *profile) string {
	if s.name == "" {
		return p.kind
	}
	return s.name + "." + p.kind
}
