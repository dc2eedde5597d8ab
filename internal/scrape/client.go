package scrape

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/units"
)

// client requests profiles.
type client struct {
	*Options
	http *request.Client
}

func newClient(o *Options) (*client, error) {
	requests := o.Options
	requests.NotFound = notFound
	http, err := request.NewClient(&requests)
	return &client{o, http}, err
}

// notFound is the hint for a URL without a profile.
func notFound(u *url.URL) string {
	if strings.HasSuffix(u.Path, "/"+goPath+"/"+heap) {
		return "a Go service has heap profiles there if it imports net/http/pprof " +
			`(import _ "net/http/pprof"); of other services, give the full URL of the heap profile`
	}
	return "is this the URL of a heap profile?"
}

// answer is the body of a response, within the limit of its size.
type answer struct {
	*request.Answer
	client *client
	n      int64
}

// get requests a URL. The caller ends the answer.
func (c *client) get(ctx context.Context, u *url.URL) (*answer, error) {
	a, err := c.http.Get(ctx, u)
	if err != nil {
		return nil, err
	}
	return &answer{Answer: a, client: c}, nil
}

var _ io.Reader = (*answer)(nil)

// Read reads the body.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.Answer.Read(p)
	if a.n += int64(n); a.n > a.client.MaxSize {
		return 0, request.Refuse("more than %s: is this a heap profile? %s sets the limit",
			units.RoundBytes(a.client.MaxSize), option.MaxSize)
	}
	return n, err
}
