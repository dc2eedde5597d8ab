package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Pusher sends profiles to a server.
type Pusher struct {
	Server Server
	// URL is that of the server.
	URL *url.URL
	// Client makes the requests.
	Client *request.Client
	// Retry is how long a request is repeated if the server is busy or does not answer.
	Retry time.Duration
	// Backoff is the time to the second attempt; 0 means a second. It doubles with each one.
	Backoff time.Duration
	// Note is called with what the user may want to know meanwhile. It may be nil.
	Note func(text string)

	// Sent and Refused count profiles.
	Sent, Refused int
}

// Send sends an exemplar, in several parts if it is too large. A profile that the server refuses is
// noted and counted. An error means that the server takes none.
func (p *Pusher) Send(ctx context.Context, e *Exemplar) error {
	parts, err := serverLimits.split(e.Profile)
	if err != nil {
		return err
	}
	for i, encoded := range parts {
		body, err := p.Server.body(numbered(e.Labels, i, len(parts)), encoded)
		if err != nil {
			return err
		}
		err = p.post(ctx, body)
		var status *request.Status
		switch {
		case err == nil:
			p.Sent++
		case errors.As(err, &status) && ofProfile(status.Code):
			p.Refused++
			p.note(fmt.Sprintf("%s of %s was refused: %v", e.Site, e.Snapshot, err))
		default:
			return fmt.Errorf("%s: %w", request.Display(p.URL), err)
		}
	}
	return nil
}

// ofProfile reports whether a status is about one profile: others may be taken. Parca gives 500 for
// what its labels or types do not allow.
func ofProfile(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusInternalServerError:
		return true
	}
	return false
}

// Backoff of repeated requests.
const (
	firstRetry = time.Second
	mostRetry  = 30 * time.Second
)

// post sends a body, again and again while the server is busy or does not answer.
func (p *Pusher) post(ctx context.Context, body []byte) error {
	began, wait := time.Now(), p.Backoff
	if wait == 0 {
		wait = firstRetry
	}
	for attempt := 1; ; attempt++ {
		err := p.once(ctx, body)
		if err == nil || !isTemporary(err) || ctx.Err() != nil {
			return err
		}
		pause := spread(wait)
		var status *request.Status
		if errors.As(err, &status) {
			pause = max(pause, status.RetryAfter)
		}
		if left := p.Retry - time.Since(began); pause > left {
			return fmt.Errorf("%w; %s", err, p.gaveUp(attempt))
		}
		if attempt == 1 {
			p.note(fmt.Sprintf("%s: %v; trying again for %s", request.Display(p.URL), err, units.Duration(p.Retry.Seconds())))
		}
		if !request.Sleep(ctx, pause) {
			return context.Cause(ctx)
		}
		wait = min(2*wait, mostRetry)
	}
}

func (p *Pusher) gaveUp(attempts int) string {
	return fmt.Sprintf("given up after %s (%s sets for how long)",
		units.CountOf(attempts, "attempt", "attempts"), option.Retry)
}

// once sends a body. The answer has nothing of interest, but must be one of the server: a proxy may
// answer with a page.
func (p *Pusher) once(ctx context.Context, body []byte) error {
	a, err := p.Client.Post(ctx, p.URL.JoinPath(p.Server.path()), "application/json", body)
	if err != nil {
		return err
	}
	defer a.End()
	if a.HTML {
		return request.Refuse("the answer is an HTML page: is this the URL of %s, and is no login needed?", p.Server)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(a, maxAnswer))
	return err
}

// maxAnswer is the largest number of bytes of an answer that are read.
const maxAnswer = 1 << 20

// isTemporary reports whether the same request may succeed later.
func isTemporary(err error) bool {
	var status *request.Status
	if errors.As(err, &status) {
		switch status.Code {
		case http.StatusRequestTimeout, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var refused *request.Refusal
	return !errors.As(err, &refused)
}

// spread returns a time from half of d to d, so that many hosts do not try again all at once.
func spread(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

func (p *Pusher) note(text string) {
	if p.Note != nil {
		p.Note(text)
	}
}
