package request

import (
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
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/option"
)

// Options tell how requests are made.
type Options struct {
	// Header is sent with each request.
	Header http.Header
	// CACert is the path of a file with certificates that are trusted instead of those of the
	// system. Insecure trusts every certificate.
	CACert   string
	Insecure bool
	// Timeout limits one request; 0 means no limit.
	Timeout time.Duration
	// NotFound returns a hint for a URL at which there is nothing. It may be nil.
	NotFound func(*url.URL) string
}

// Check returns an error for options that contradict each other.
func (o *Options) Check() error {
	switch {
	case o.Timeout < 0:
		return fmt.Errorf("%s must not be negative", option.Timeout)
	case o.Insecure && o.CACert != "":
		return fmt.Errorf("%s and %s exclude each other", option.CACert, option.Insecure)
	}
	return nil
}

// Client makes requests. It may be used by several goroutines.
type Client struct {
	*Options
	http *http.Client
}

// NewClient returns a client. It uses the proxies of the environment.
func NewClient(o *Options) (*Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CACert != "" {
		pem, err := infile.ReadSmall(o.CACert)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", option.CACert, err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM form", option.CACert, o.CACert)
		}
		transport.TLSClientConfig.RootCAs = roots
	}
	return &Client{o, &http.Client{Transport: transport, CheckRedirect: checkRedirect}}, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

const maxRedirects = 10

// checkRedirect allows redirects within a host, also from http to https. Elsewhere are pages to log
// in, and hosts that must not see the headers. Most redirects of a POST ask for a GET of a page.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) >= maxRedirects:
		return Refuse("more than %d redirects", maxRedirects)
	case to.Method != via[0].Method:
	case to.URL.Host == from.Host && to.URL.Scheme == from.Scheme:
		return nil
	case to.URL.Hostname() == from.Hostname() && from.Scheme == "http" && to.URL.Scheme == "https":
		return nil
	}
	return Refuse("the service redirects to %s: name that URL, if it is the right one", Display(to.URL))
}

// Answer is the body of a response with the status 200.
type Answer struct {
	// Began is when its headers were there.
	Began time.Time
	// HTML reports whether its type is that of a page.
	HTML bool

	ctx    context.Context
	client *Client
	body   io.Reader
	end    func()
}

// Read reads the body.
func (a *Answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.client.failed(a.ctx, err)
	}
	return n, err
}

// End ends the request.
func (a *Answer) End() { a.end() }

// Get requests a URL. The caller ends the answer.
func (c *Client) Get(ctx context.Context, u *url.URL) (*Answer, error) {
	return c.do(ctx, http.MethodGet, u, "", nil)
}

// Post sends a body of a type to a URL. The caller ends the answer.
func (c *Client) Post(ctx context.Context, u *url.URL, kind string, body []byte) (*Answer, error) {
	return c.do(ctx, http.MethodPost, u, kind, bytes.NewReader(body))
}

func (c *Client) do(ctx context.Context, method string, u *url.URL, kind string, body io.Reader) (*Answer, error) {
	cancel := context.CancelFunc(func() {})
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		cancel()
		return nil, ErrURL
	}
	c.setHeader(req, kind)
	began := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		defer cancel()
		if isDialTimeout(err) && ctx.Err() == nil {
			return nil, fmt.Errorf("no connection within %s", time.Since(began).Round(time.Second))
		}
		return nil, c.failed(ctx, err)
	}
	end := func() { cancel(); resp.Body.Close() }
	if resp.StatusCode != http.StatusOK {
		defer end()
		return nil, c.statusError(resp, u)
	}
	html := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	return &Answer{time.Now(), html, ctx, c, resp.Body, end}, nil
}

func (c *Client) setHeader(req *http.Request, kind string) {
	if req.Header = c.Header.Clone(); req.Header == nil {
		req.Header = http.Header{}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "heaplapse")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
}

var (
	// ErrURL does not say what is wrong: the reason may quote a part of a password.
	ErrURL = errors.New("a URL cannot be parsed: want http://HOST:PORT or a full URL; a password in it must be percent-encoded")
	// ErrEndsEarly is the error of a connection that ends before the answer does.
	ErrEndsEarly = errors.New("the answer ends early")

	errTimeout = errors.New("no whole answer")
)

// ParseURL returns the URL of a service. As with curl, http:// may be left out.
func ParseURL(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return nil, ErrURL
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("a URL begins with %s://: want http:// or https://", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("port %s of a URL: want a port from 1 to 65535", port)
		}
	}
	u.Fragment = ""
	return u, nil
}

// Display returns a URL without user name, password and query, which may be secret.
func Display(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return shown.String()
}

// isDialTimeout reports whether the host did not answer at all: the dialer or the kernel gave up.
func isDialTimeout(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout()
}

// failed describes why there is no whole response. The texts of net/http contain the URL.
func (c *Client) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errTimeout) {
			return fmt.Errorf("%w within %s (%s)", errTimeout, c.Timeout, option.Timeout)
		}
		return cause
	}
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	var refused *Refusal
	var certificate *tls.CertificateVerificationError
	var call *os.SyscallError
	var dial *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &certificate):
		return Refuse("the certificate of the service is not valid: %w; %s names one to trust, %s trusts every one",
			certificate.Err, option.CACert, option.Insecure)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return ErrEndsEarly
	case errors.As(err, &dial) && dial.Op == "proxyconnect":
		return fmt.Errorf("the proxy: %w", dial.Err)
	case errors.As(err, &dns):
		return fmt.Errorf("looking up %s: %s", dns.Name, dns.Err)
	case errors.As(err, &call):
		return call.Err
	}
	return err
}
