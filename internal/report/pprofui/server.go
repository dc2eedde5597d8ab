package pprofui

import (
	"bytes"
	_ "embed" // the menu is a file
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
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

	mu    sync.Mutex // guards what follows, and the converter
	ready []view     // the most recently used one last
}

// view is pprof's UI for one snapshot, or for the difference of two.
type view struct {
	name     string
	handlers map[string]http.Handler
}

// New returns a Server of a series and its converter.
func New(s *series.Series, c *convert.Converter) *Server { return &Server{series: s, converter: c} }

// policy allows pprof's pages to run their own scripts and to connect to this server only.
const policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'; base-uri 'none'"

// ServeHTTP serves the menu at /, snapshot N (from 1) below /s/N/, and N minus M below /s/N-M/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "this server answers to 127.0.0.1 and localhost only", http.StatusForbidden)
	case r.URL.Path == "/":
		s.menu(w)
	case strings.HasPrefix(r.URL.Path, "/s/"):
		// Any site may link to the menu. Only the menu and pprof's own pages may request those
		// below /s/.
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			http.Error(w, "requests from other sites are refused; open / instead", http.StatusForbidden)
			return
		}
		s.snapshot(w, r)
	default:
		http.NotFound(w, r)
	}
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

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/s/"), "/")
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
		http.Redirect(w, r, "/s/"+name+"/flamegraph", http.StatusFound)
		return
	}
	h := pages["/"+rest]
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
	h, err := handlers(p, b)
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
	}{text.SeriesName(s.series), entries, s.series.LastAlive() + 1})
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
