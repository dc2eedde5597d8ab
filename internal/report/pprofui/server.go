package pprofui

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	_ "embed" // the menu is a file
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// keptProfiles is the number of cached views.
const keptProfiles = 12

//go:embed menu.html
var menuHTML string

var menu = template.Must(template.New("menu").Parse(menuHTML))

// Server serves a series. Use [New].
type Server struct {
	series    *series.Series
	converter *convert.Converter
	options   Options
	token     string      // of the address
	launch    string      // of the address that a browser is started with
	launched  atomic.Bool // launch has been used

	mu    sync.Mutex // guards what follows, and the converter
	ready []view     // the most recently used one last
}

// view is pprof's UI for one snapshot, or for the difference of two.
type view struct {
	name     string
	handlers map[string]http.Handler
}

// Options control what a Server shows. The zero value works.
type Options struct {
	// SourceRoot is the directory whose files the source view may show. If it is "", none are
	// shown.
	SourceRoot string
}

// New returns a Server of a series and its converter.
func New(s *series.Series, c *convert.Converter, o Options) *Server {
	return &Server{series: s, converter: c, options: o, token: rand.Text(), launch: rand.Text()}
}

// Path returns the path of the menu. It is secret.
func (s *Server) Path() string { return "/" + s.token + "/" }

// LaunchPath returns a path that leads to the menu once. It is for the command line of a browser,
// which other users can read.
func (s *Server) LaunchPath() string { return "/" + s.launch }

// policy allows pprof's pages to run their own scripts and to connect to this server only.
const policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'; base-uri 'none'"

// ServeHTTP serves the menu at the Path, snapshot N (from 1) in it at s/N/, and N minus M at
// s/N-M/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "this server answers to 127.0.0.1 and localhost only", http.StatusForbidden)
	case fromElsewhere(r):
		http.Error(w, "requests from other sites are refused", http.StatusForbidden)
	case same(token, s.launch) && s.launched.CompareAndSwap(false, true):
		http.Redirect(w, r, s.Path(), http.StatusFound)
	case !same(token, s.token):
		http.Error(w, "open the whole address that "+option.ViewCommand+" has printed", http.StatusNotFound)
	case !strings.HasPrefix(r.URL.Path, s.Path()):
		http.Redirect(w, r, s.Path(), http.StatusFound)
	case !allowed(r.Method, rest):
		http.Error(w, "not a method of this page", http.StatusMethodNotAllowed)
	case rest == "":
		s.menu(w)
	case strings.HasPrefix(rest, "s/"):
		s.snapshot(w, r, strings.TrimPrefix(rest, "s/"))
	default:
		http.NotFound(w, r)
	}
}

// same compares secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// fromElsewhere reports whether a page of another site makes a request. Browsers send Origin with
// all methods but GET and HEAD, and Sec-Fetch-Site with all.
func fromElsewhere(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	return origin != "" && origin != "http://"+r.Host || site == "cross-site" || site == "same-site"
}

// allowed reports whether a page has a method. The pages that change pprof's settings are not for
// GET, which a link could request.
func allowed(method, page string) bool {
	switch page[strings.LastIndexByte(page, '/')+1:] {
	case "saveconfig":
		return method == http.MethodPost
	case "deleteconfig":
		return method == http.MethodDelete
	}
	return method == http.MethodGet || method == http.MethodHead
}

// isLoopback reports whether a Host header names the loopback interface.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// snapshot serves a page, such as 24/flamegraph.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, page string) {
	name, rest, _ := strings.Cut(page, "/")
	current, base, ok := s.parse(name)
	if !ok {
		http.Error(w, fmt.Sprintf("there is no snapshot %.20q: the series has 1 to %d", name, len(s.series.Heads)),
			http.StatusNotFound)
		return
	}
	pages, err := s.pages(name, current, base)
	if err != nil {
		http.Error(w, text.Clean(err.Error()), http.StatusInternalServerError)
		return
	}
	if rest == "" { // pprof's own redirect to its first page would lose our prefix
		http.Redirect(w, r, s.Path()+"s/"+name+"/flamegraph", http.StatusFound)
		return
	}
	h := pages["/"+rest]
	if rest == "source" && h == nil {
		http.Error(w, fmt.Sprintf("to see source files, start %s with %s and the directory that has them",
			option.ViewCommand, option.SourceRoot), http.StatusNotFound)
		return
	}
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

// parse returns the indices of N or N-M, which are numbers from 1. base is -1 for none.
func (s *Server) parse(name string) (current, base int, ok bool) {
	first, second, both := strings.Cut(name, "-")
	current, ok = s.index(first)
	if !ok || !both {
		return current, -1, ok
	}
	base, ok = s.index(second)
	return current, base, ok
}

func (s *Server) index(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n - 1, err == nil && n >= 1 && n <= len(s.series.Heads) && strconv.Itoa(n) == text
}

// pages returns pprof's handlers for a view, which are made on first use.
func (s *Server) pages(name string, current, base int) (map[string]http.Handler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.ready, func(v view) bool { return v.name == name })
	if i < 0 {
		v, err := s.make(name, current, base)
		if err != nil {
			return nil, err
		}
		s.ready = append(s.ready, v)
		s.ready = s.ready[max(0, len(s.ready)-keptProfiles):]
		return v.handlers, nil
	}
	v := s.ready[i]
	s.ready = append(slices.Delete(s.ready, i, i+1), v)
	return v.handlers, nil
}

func (s *Server) make(name string, current, base int) (v view, err error) {
	p, err := s.profile(current)
	if err != nil {
		return v, err
	}
	var b *profile.Profile
	if base >= 0 {
		if b, err = s.profile(base); err != nil {
			return v, err
		}
	}
	h, err := handlers(p, b, s.options.SourceRoot)
	return view{name, h}, err
}

// profile reads and converts a snapshot.
func (s *Server) profile(index int) (*profile.Profile, error) {
	snap, err := s.series.Read(index)
	if err != nil {
		return nil, err
	}
	samples, err := s.converter.Samples(snap)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := s.converter.Encode(samples).WriteTo(&b); err != nil {
		return nil, err
	}
	return profile.Parse(&b)
}

// entry is a line of the menu.
type entry struct {
	Number int
	Text   string
}

func (s *Server) menu(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	entries := make([]entry, 0, len(s.series.Heads))
	first := s.series.Heads[0].Heap().InuseBytes
	for i, h := range s.series.Heads {
		entries = append(entries, entry{i + 1, s.line(i, h.Heap().InuseBytes, first)})
	}
	var b bytes.Buffer
	err := menu.Execute(&b, struct {
		Title   string
		Entries []entry
		First   int
	}{text.SeriesName(s.series), entries, sites.Last(s.series) + 1})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(b.Bytes()) // the client may have gone away
}

// line describes a snapshot: its number, time and size, and its growth since the first.
func (s *Server) line(i int, inuse, first int64) string {
	line := fmt.Sprintf("#%d", i+1)
	if s.series.Clock.Source.IsTime() {
		line += " · " + units.Duration(s.series.Clock.At[i])
	}
	line += " · " + units.Bytes(inuse) + " in use"
	if i > 0 && inuse != first {
		line += " (" + units.SignedBytes(inuse-first) + " since #1)"
	}
	return line
}
