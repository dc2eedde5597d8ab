package scrape

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Outcome is the result of a recording.
type Outcome struct {
	Dir string
	// Services is the number of services with snapshots, Heaps and Goroutines are the numbers of
	// snapshots that are kept.
	Services, Heaps, Goroutines int
	// Notes are problems that did not end the recording.
	Notes []string
}

// String returns how many snapshots there are of which kind: 48 heap and 48 goroutine profiles.
func (o Outcome) String() string {
	var parts []string
	if o.Heaps > 0 {
		parts = append(parts, fmt.Sprintf("%d heap", o.Heaps))
	}
	if o.Goroutines > 0 {
		parts = append(parts, fmt.Sprintf("%d goroutine", o.Goroutines))
	}
	text := strings.Join(parts, " and ") + " profiles"
	if o.Services > 1 {
		text += fmt.Sprintf(" of %d services", o.Services)
	}
	return text
}

// Run takes snapshots of all services until the duration is over or the context ends, which is no
// error. The error tells which services never gave a snapshot.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if err := o.check(); err != nil {
		return Outcome{}, err
	}
	services, err := parseServices(&o)
	if err != nil {
		return Outcome{}, err
	}
	c, err := newClient(&o)
	if err != nil {
		return Outcome{}, err
	}
	defer c.http.Close()
	s, err := newStore(&o, services)
	if err != nil {
		return Outcome{}, err
	}
	errs := make([]error, len(services))
	var wg sync.WaitGroup
	for i, service := range services {
		wg.Go(func() {
			r := scraper{Options: &o, service: service, client: c, store: s, created: time.Now()}
			if errs[i] = r.run(ctx); errs[i] != nil && len(services) > 1 {
				s.note("%v", errs[i]) // the recording of the others may take hours
			}
		})
	}
	wg.Wait()
	return s.close(), errors.Join(errs...)
}
