package scrape

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/printable"
	"github.com/heaplapse/heaplapse/internal/units"
)

// client requests profiles.
type client struct {
	*Options
	http *http.Client
}

// refusal is an error that a second request does not mend.
type refusal struct {
	error
	missing bool // there is nothing at the URL
}

func (r *refusal) Unwrap() error { return r.error }

func refuse(format string, args ...any) *refusal { return &refusal{error: fmt.Errorf(format, args...)} }

func newClient(o *Options) (*client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() // with the proxies of the environment
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CACert != "" {
		pem, err := infile.ReadSmall(o.CACert)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Flags.Of(option.CACert), err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM form", o.Flags.Of(option.CACert), o.CACert)
		}
		transport.TLSClientConfig.RootCAs = roots
	}
	return &client{o, &http.Client{Transport: transport, CheckRedirect: checkRedirect}}, nil
}

const maxRedirects = 10

// checkRedirect allows redirects within a host, also from http to https. Elsewhere are pages to log
// in, and hosts that must not see the headers.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) >= maxRedirects:
		return refuse("more than %d redirects", maxRedirects)
	case to.URL.Host == from.Host && to.URL.Scheme == from.Scheme:
		return nil
	case to.URL.Hostname() == from.Hostname() && from.Scheme == "http" && to.URL.Scheme == "https":
		return nil
	}
	return refuse("the service redirects to %s: name that URL, if the profile is there", display(to.URL))
}

var (
	errTimeout   = errors.New("no whole answer")
	errEndsEarly = errors.New("the answer ends early")
)

// answer is the body of a response.
type answer struct {
	io.Reader
	began time.Time // when its headers were there
	html  bool      // its type is that of a page
	end   func()
}

// get requests a URL. The caller calls end.
func (c *client) get(ctx context.Context, u *url.URL) (*answer, error) {
	cancel := context.CancelFunc(func() {})
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel()
		return nil, errURL
	}
	req.Header = c.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "heaplapse")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		defer cancel()
		return nil, c.failed(ctx, err)
	}
	end := func() { cancel(); resp.Body.Close() }
	if resp.StatusCode != http.StatusOK {
		defer end()
		return nil, c.statusError(resp, u)
	}
	kind := resp.Header.Get("Content-Type")
	body := &body{ctx: ctx, client: c, r: resp.Body}
	return &answer{body, time.Now(), strings.HasPrefix(kind, "text/html"), end}, nil
}

// body is the body of a response within the limit of its size.
type body struct {
	ctx    context.Context
	client *client
	r      io.Reader
	n      int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > b.client.MaxSize {
		return 0, refuse("more than %s: is this a heap profile? %s sets the limit",
			units.RoundBytes(b.client.MaxSize), b.client.Flags.Of(option.MaxSize))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.client.failed(b.ctx, err)
	}
	return n, err
}

// failed describes why there is no whole response. The texts of net/http contain the URL.
func (c *client) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errTimeout) {
			return fmt.Errorf("%w within %s%s", errTimeout, c.Timeout, c.Flags.If(option.Timeout, " (%s)"))
		}
		return cause
	}
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	var refused *refusal
	var certificate *tls.CertificateVerificationError
	var call *os.SyscallError
	var dial *net.OpError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &certificate):
		return refuse("the certificate of the service is not valid: %w; %s names one to trust, %s trusts every one",
			certificate.Err, c.Flags.Of(option.CACert), c.Flags.Of(option.Insecure))
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return errEndsEarly
	case errors.As(err, &dial) && dial.Op == "proxyconnect":
		return fmt.Errorf("the proxy: %w", dial.Err)
	case errors.As(err, &call):
		return call.Err
	}
	return err
}

// statusError describes a response that is no success.
func (c *client) statusError(resp *http.Response, u *url.URL) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	if said := c.firstLine(resp, u); said != "" && !strings.HasSuffix(status, said) && said != "404 page not found" {
		status += fmt.Sprintf(", %q", said)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound:
		text := "is this the URL of a heap profile?"
		if strings.HasSuffix(u.Path, "/"+goPath+"/"+heap) {
			text = "a Go service has heap profiles there if it imports net/http/pprof " +
				`(import _ "net/http/pprof"); of other services, give the full URL of the heap profile`
		}
		return &refusal{fmt.Errorf("%s: %s", status, text), true}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refuse("%s: if the service wants credentials, send them with %s 'Authorization: …'",
			status, c.Flags.Of(option.Header))
	case code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests:
		return errors.New(status)
	}
	return refuse("%s", status)
}

// maxSaid is the largest number of bytes of a message of a service that is shown.
const maxSaid = 200

// firstLine returns the first line of a response that is plain text, which may be the reason for its
// status. It returns "" if the line contains what the user keeps secret.
func (c *client) firstLine(resp *http.Response, u *url.URL) string {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	b, _ := bufio.NewReaderSize(io.LimitReader(resp.Body, maxSaid), maxSaid).Peek(maxSaid)
	line, _, _ := bytes.Cut(b, []byte("\n"))
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		if !printable.Rune(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, string(line)))
	for _, secret := range slices.Concat(c.secrets(u), c.secrets(resp.Request.URL)) {
		if strings.Contains(text, secret) {
			return ""
		}
	}
	return text
}

// secrets returns what must not appear in messages.
func (c *client) secrets(u *url.URL) (out []string) {
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
