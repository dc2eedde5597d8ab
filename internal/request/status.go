package request

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/printable"
)

// Refusal is an error that a second request does not mend.
type Refusal struct {
	error
	// Missing reports that there is nothing at the URL.
	Missing bool
}

// Unwrap returns the error.
func (r *Refusal) Unwrap() error { return r.error }

// Refuse returns the refusal with a text, and wraps an error as fmt.Errorf does.
func Refuse(format string, args ...any) *Refusal { return &Refusal{error: fmt.Errorf(format, args...)} }

// AsRefusal returns an error as a refusal.
func AsRefusal(err error) *Refusal { return &Refusal{error: err} }

// Status is a response that is no success.
type Status struct {
	Code int
	// RetryAfter is how long the service wants the client to wait; 0 if it does not say.
	RetryAfter time.Duration

	text string
}

// Error returns the status, and what the service said.
func (s *Status) Error() string { return s.text }

// statusError describes a response that is no success.
func (c *Client) statusError(resp *http.Response, u *url.URL) error {
	code := resp.StatusCode
	s := &Status{Code: code, RetryAfter: retryAfter(resp.Header)}
	s.text = strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
	if said := c.said(resp, u); said != "" && !strings.HasSuffix(s.text, said) && said != "404 page not found" {
		s.text += fmt.Sprintf(", %q", said)
	}
	switch {
	case code == http.StatusNotFound:
		if c.NotFound != nil {
			s.text += ": " + c.NotFound(u)
		}
		return &Refusal{s, true}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		s.text += ": if the service wants credentials, send them with " + option.Header + " 'Authorization: …'"
	case code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests:
		return s
	}
	return AsRefusal(s)
}

// retryAfter returns the seconds in a header. Dates, which hardly any service sends, are ignored.
func retryAfter(h http.Header) time.Duration {
	const longest = 24 * 60 * 60
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, longest)) * time.Second
}

const (
	// maxSaid is the largest number of bytes of a message of a service that is shown.
	maxSaid = 600
	// maxError is the largest number of bytes of a response that are read for its message.
	maxError = 16 << 10
)

// said returns what a service says about its status: the first line of plain text, or the message
// of a JSON object, as services with Connect or gRPC send it. It returns "" if that contains what
// the user keeps secret.
func (c *Client) said(resp *http.Response, u *url.URL) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/plain" && kind != "application/json" {
		return ""
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	text := string(body)
	if kind == "application/json" {
		var message struct{ Message string }
		if json.Unmarshal(body, &message) != nil {
			return ""
		}
		text = message.Message
	}
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !printable.Rune(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, line))
	for _, secret := range slices.Concat(c.secrets(u), c.secrets(resp.Request.URL)) {
		if strings.Contains(line, secret) {
			return ""
		}
	}
	return strings.ToValidUTF8(line[:min(len(line), maxSaid)], "")
}

// secrets returns what must not appear in messages.
func (c *Client) secrets(u *url.URL) (out []string) {
	for _, values := range c.Header {
		for _, v := range values {
			out = append(out, strings.Fields(v)...)
		}
	}
	for _, values := range u.Query() {
		out = append(out, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		out = append(out, u.User.Username(), password)
	}
	const short = 3 // gc=1 is no secret
	return slices.DeleteFunc(out, func(s string) bool { return len(s) <= short })
}
