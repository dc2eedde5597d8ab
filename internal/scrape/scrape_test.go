package scrape_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/scrape"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// snapshotText returns a snapshot of a recorded series, whose cumulative counts rise with n.
func snapshotText(t testing.TB, n int) []byte {
	t.Helper()
	return testutil.Plain(t, testutil.Data(t, "leaky", fmt.Sprintf("leaky.%04d.heap.gz", n)))
}

// run is one recording of a service.
type run struct {
	*testing.T
	scrape.Options

	cancel  context.CancelFunc
	outcome scrape.Outcome
	err     error
	notes   []string
}

func newRun(t *testing.T, urls ...string) *run {
	r := &run{T: t, Options: scrape.Options{
		URLs: urls, Dir: filepath.Join(t.TempDir(), "out"), Every: scrape.MinEvery, MaxSize: 1 << 20,
		Options: request.Options{Timeout: time.Minute},
	}}
	r.Note = func(text string) { r.notes = append(r.notes, text) }
	return r
}

// serve starts a service. Its handler gets the number of the request, from 1 on; it ends the recording
// after the last one.
func (r *run) serve(last int, handler func(w http.ResponseWriter, n int)) *httptest.Server {
	s := httptest.NewServer(r.handler(last, handler))
	r.Cleanup(s.Close)
	r.URLs = []string{s.URL + "/heap"}
	return s
}

// handler returns the handler of such a service.
func (r *run) handler(last int, handler func(w http.ResponseWriter, n int)) http.Handler {
	var requests atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(requests.Add(1))
		if n > last {
			r.cancel()
			return
		}
		handler(w, n)
	})
}

// do runs the recording until it ends by itself or the service ends it.
func (r *run) do() {
	r.Helper()
	var ctx context.Context
	ctx, r.cancel = context.WithTimeout(r.Context(), time.Minute)
	defer r.cancel()
	r.outcome, r.err = scrape.Run(ctx, r.Options)
	require.NotErrorIs(r, ctx.Err(), context.DeadlineExceeded)
}

// mustDo runs the recording and returns its manifest.
func (r *run) mustDo() *manifest.Manifest {
	r.Helper()
	r.do()
	require.NoError(r, r.err)
	m, err := manifest.Load(r.outcome.Dir)
	require.NoError(r, err)
	return m
}

// files returns the names in the directory.
func (r *run) files() (names []string) {
	entries, err := os.ReadDir(r.Dir)
	if !os.IsNotExist(err) {
		require.NoError(r, err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSnapshotsAndManifest(t *testing.T) {
	r := newRun(t)
	r.Recorder = "heaplapse 1"
	service := r.serve(3, func(w http.ResponseWriter, n int) {
		if n == 2 { // compressed by the service
			z := gzip.NewWriter(w)
			_, _ = z.Write(snapshotText(t, n))
			_ = z.Close()
			return
		}
		_, _ = w.Write(snapshotText(t, n))
	})
	before := time.Now().Truncate(0)
	m := r.mustDo()
	require.Equal(t, 3, r.outcome.Heaps)
	require.Equal(t, "3 heap profiles", r.outcome.String())
	require.Empty(t, r.notes)
	require.Equal(t, []string{"heap.0001.heap.gz", "heap.0002.heap.gz", "heap.0003.heap.gz", manifest.Name}, r.files())
	require.Equal(t, []string{service.URL + "/heap"}, m.Recording.URLs)
	require.Equal(t, "heaplapse 1", m.Recording.Recorder)
	for i, s := range m.Snapshots {
		require.Equal(t, fmt.Sprintf("heap.%04d.heap", i+1), s.File)
		require.False(t, s.Time.Before(before))
		require.Equal(t, "time", s.Trigger)
		got, err := heapfile.ReadFile(filepath.Join(r.Dir, s.File+".gz"))
		require.NoError(t, err)
		want, err := heapfile.Read(bytes.NewReader(snapshotText(t, i+1)), "")
		require.NoError(t, err)
		require.Equal(t, want.Samples, got.Samples)
	}
	require.Len(t, m.Ends, 1)
	require.Empty(t, m.Ends[0].Error)
}

// TestRefusals: what no second request would mend ends the recording at the first one, tells the
// remedy, and leaves no directory.
func TestRefusals(t *testing.T) {
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	fails := func(code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, code) }
	}
	for name, c := range map[string]struct {
		path    string
		handler http.HandlerFunc
		want    string
	}{
		"not a Go service": {"", http.NotFound, `/debug/pprof/heap: 404 Not Found: a Go service has heap profiles there if it imports net/http/pprof \(import _ "net/http/pprof"\); of other services, give the full URL of the heap profile$`},
		"not there":        {"/x", http.NotFound, `/x: 404 Not Found: is this the URL of a heap profile\?$`},
		"no credentials":   {"/x", fails(401, "Unauthorized"), `/x: 401 Unauthorized: if the service wants credentials, send them with --header 'Authorization: …'$`},
		"forbidden":        {"/x", fails(403, "heap profiling not activated\nx"), `/x: 403 Forbidden, "heap profiling not activated": if the service`},
		"teapot":           {"/x", fails(418, "\x1b[31m"), `/x: 418 I'm a teapot, "\[31m"$`},
		"half a profile":   {"/x", text("text/plain", string(snapshotText(t, 9)[:3000])), `/x: the answer ends early$`},
		"a page":           {"/x", text("text/html; charset=utf-8", "hello"), `/x: the answer is an HTML page instead of a profile: is this the URL of the profile itself, and is no login needed\?$`},
		"a page, untyped":  {"/x", text("application/octet-stream", "\n<!DOCTYPE html><p>"), `an HTML page`},
		"JSON":             {"/x", text("application/json", "{}"), `/x: the answer: not a heap snapshot: a JSON file`},
		"compressed junk":  {"/x", text("", "\x1f\x8bjunk"), `/x: the answer`},
		"too large":        {"/x", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(endless{}, 2<<20)) }, `/x: more than 1 MiB: is this a heap profile\? --max-size sets the limit$`},
		"redirected for ever": {"/x", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x", http.StatusFound)
		}, `/x: more than 10 redirects$`},
		"redirected elsewhere": {"/x", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://user:secret@login.example.com/a?token=secret", http.StatusFound)
		}, `/x: the service redirects to https://login.example.com/a: name that URL, if it is the right one$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.handler)
			defer s.Close()
			r := newRun(t, s.URL+c.path)
			if name != "half a profile" { // the next answer may be whole
				r.Wait = time.Hour
			}
			r.do()
			require.Error(t, r.err)
			require.Regexp(t, c.want, r.err.Error())
			require.True(t, strings.HasPrefix(r.err.Error(), s.URL))
			require.Zero(t, r.outcome.Services)
			require.NoDirExists(t, r.Dir)
		})
	}
}

// endless is what a service sends that is no heap profile.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestFailuresPass: what a second request may mend is tried again, also before the first snapshot.
func TestFailuresPass(t *testing.T) {
	r := newRun(t)
	r.Wait = time.Minute
	whole := snapshotText(t, 1)
	failures := []struct {
		answer func(w http.ResponseWriter)
		note   string
	}{
		{func(w http.ResponseWriter) { http.Error(w, "starting", http.StatusServiceUnavailable) }, `503 Service Unavailable, "starting"; trying again for 1m0s$`},
		{func(http.ResponseWriter) {}, ""},
		{func(w http.ResponseWriter) { _, _ = w.Write(whole) }, ""},
		{func(w http.ResponseWriter) { // ends early
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			_, _ = w.Write(whole[:len(whole)/2])
		}, `/heap: the answer ends early; trying again$`},
		{func(w http.ResponseWriter) { http.Error(w, "", http.StatusNotFound) }, ""},
		{func(w http.ResponseWriter) { _, _ = w.Write(whole) }, `/heap answers again after `},
		{func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, `/heap: 429 Too Many Requests; trying again$`},
		{func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, ""},
		{func(w http.ResponseWriter) { _, _ = w.Write(whole) }, `/heap answers again after `},
		{func(w http.ResponseWriter) { http.Error(w, "", http.StatusBadGateway) }, `/heap: 502 Bad Gateway; trying again$`},
	}
	r.serve(len(failures), func(w http.ResponseWriter, n int) { failures[n-1].answer(w) })
	m := r.mustDo()
	var want []string
	for _, f := range failures {
		if f.note != "" {
			want = append(want, f.note)
		}
	}
	require.Len(t, r.notes, len(want), "%q", r.notes)
	for i := range want {
		require.Regexp(t, want[i], r.notes[i])
	}
	require.Len(t, m.Snapshots, 3)
	require.Len(t, m.Gaps, 3, "the first failures are no gap: there was no snapshot before")
	for i, reason := range []string{"the answer ends early", "429 Too Many Requests", "502 Bad Gateway"} {
		g := m.Gaps[i]
		require.Equal(t, []string{"heap", reason}, []string{g.Prefix, g.Reason})
		require.True(t, g.From.After(m.Snapshots[i].Time))
		if i < 2 {
			require.Equal(t, m.Snapshots[i+1].Time, g.To)
		} else {
			require.Zero(t, g.To, "it has not answered again")
		}
	}
	require.Equal(t, []string{"heap.0001.heap.gz", "heap.0002.heap.gz", "heap.0003.heap.gz", manifest.Name}, r.files())
}

// TestNothingListens: a service that does not exist is an error after the time to wait.
func TestNothingListens(t *testing.T) {
	r := newRun(t, "127.0.0.1:1/heap") // without http://
	r.do()
	require.EqualError(t, r.err, "http://127.0.0.1:1/heap: connection refused"+unreachable)
	require.Empty(t, r.notes)
	require.NoDirExists(t, r.Dir)

	r = newRun(t, "http://127.0.0.1:1/heap")
	r.Wait = time.Millisecond
	r.do()
	require.ErrorContains(t, r.err, "http://127.0.0.1:1/heap: connection refused; gave up (--wait ")
	require.ErrorContains(t, r.err, " (--wait 1ms)"+unreachable)
}

// unreachable is the end of an error about a service that does not answer.
const unreachable = ": check that the service runs, and with curl that it can be reached from here"

// TestTimeout: a service that does not answer, or stops in the middle, is an error after a time.
func TestTimeout(t *testing.T) {
	text := snapshotText(t, 1)
	for _, begin := range [][]byte{nil, text[:len(text)/2]} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if begin != nil {
				_, _ = w.Write(begin)
				w.(http.Flusher).Flush()
			}
			<-req.Context().Done() // until the client goes away
		}))
		defer s.Close()
		r := newRun(t, s.URL+"/heap")
		r.Timeout = 100 * time.Millisecond
		r.do()
		require.EqualError(t, r.err, s.URL+"/heap: no whole answer within 100ms (--timeout)"+unreachable)
		require.NoDirExists(t, r.Dir)
	}
}

// TestLargeProfileInASmallAnswer: reading ends at the limit of memory, and after the time that a request may
// take.
func TestLargeProfileInASmallAnswer(t *testing.T) {
	t.Parallel()
	var answer bytes.Buffer
	gz := gzip.NewWriter(&answer)
	_, err := gz.Write([]byte("heap profile: 1: 1 [1: 1] @ heapprofile\n" + strings.Repeat("1: 1 [1: 1] @ 0x1\n", 400_000)))
	require.NoError(t, err)
	require.NoError(t, gz.Close())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer.Bytes()) }))
	defer s.Close()
	full := errors.New("no memory")
	r := newRun(t, s.URL+"/heap")
	r.Check = func(int64) error { return full }
	r.do()
	require.ErrorIs(t, r.err, full)

	r = newRun(t, s.URL+"/heap")
	r.Timeout = 5 * time.Second
	r.Check = func(int64) error {
		time.Sleep(r.Timeout)
		return nil
	}
	r.do()
	require.ErrorContains(t, r.err, "not read within 5s")
	require.NoDirExists(t, r.Dir)
}

// TestAddresses: the URLs that are requested for a URL of the user.
func TestAddresses(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.String())
		if strings.HasSuffix(r.URL.Path, "goroutine") {
			http.Error(w, "Unknown profile", http.StatusNotFound)
			return
		}
		_, _ = w.Write(snapshotText(t, 1))
	}))
	defer s.Close()
	for suffix, want := range map[string][]string{
		"":                       {"/debug/pprof/heap?gc=1", "/debug/pprof/goroutine"},
		"/":                      {"/debug/pprof/heap?gc=1", "/debug/pprof/goroutine"},
		"/debug/pprof":           {"/debug/pprof/heap?gc=1", "/debug/pprof/goroutine"},
		"/a%20b/debug/pprof/":    {"/a%20b/debug/pprof/heap?gc=1", "/a%20b/debug/pprof/goroutine"},
		"/?key=x#f":              {"/debug/pprof/heap?gc=1&key=x", "/debug/pprof/goroutine?key=x"},
		"/debug/pprof/heap":      {"/debug/pprof/heap"},
		"/debug/pprof/allocs?gc": {"/debug/pprof/allocs?gc"},
		"/pprof/heap":            {"/pprof/heap"},
		"/mydebug/pprofile":      {"/mydebug/pprofile"},
	} {
		got = nil
		r := newRun(t, s.URL+suffix)
		r.Duration = 1 // one snapshot
		r.mustDo()
		require.Equal(t, want, got, suffix)
		require.Empty(t, r.notes, "a service need not have goroutines")
	}
	got = nil
	r := newRun(t, s.URL)
	r.Duration, r.NoGC, r.NoGoroutines = 1, true, true
	r.mustDo()
	require.Equal(t, []string{"/debug/pprof/heap"}, got)
}

func TestAddressesThatAreRefused(t *testing.T) {
	for address, want := range map[string]string{
		"":                             "a URL cannot be parsed: want http://HOST:PORT",
		"ftp://h/x":                    "a URL begins with ftp://: want http:// or https://",
		"http://":                      "a URL cannot be parsed",
		"http://anna:se/cret@h":        "a password in it must be percent-encoded",
		"h/debug/pprof/heap?debug=1":   "debug=1 and debug=2 ask for text: leave debug out of the URL",
		"h/debug/pprof/heap?seconds=5": "seconds=N asks for what changes within N seconds",
	} {
		r := newRun(t, address)
		r.do()
		require.ErrorContains(t, r.err, want, address)
		require.NotContains(t, r.err.Error(), "cret")
		require.NoDirExists(t, r.Dir)
	}
}

// TestSecrets: user names, passwords, queries and headers reach the service, and nothing else.
func TestSecrets(t *testing.T) {
	var user, password, header, query, host, says string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ = req.BasicAuth()
		header, query, host = req.Header.Get("X-Key"), req.URL.Query().Get("token"), req.Host
		http.Error(w, says, http.StatusTeapot)
	}))
	defer s.Close()
	r := newRun(t, strings.Replace(s.URL, "//", "//anna:hidden1@", 1)+"/heap?token=hidden2")
	r.Header = http.Header{"X-Key": {"Bearer hidden3"}, "Host": {"other.example.com"}}
	for _, says = range []string{"no user anna", "password hidden1", "token hidden2", "the key is hidden3!"} {
		r.do()
		require.EqualError(t, r.err, s.URL+"/heap: 418 I'm a teapot")
		require.Equal(t, []string{"anna", "hidden1", "Bearer hidden3", "hidden2", "other.example.com"}, []string{user, password, header, query, host})
	}

	s.Config.Handler = r.handler(1, func(w http.ResponseWriter, _ int) { _, _ = w.Write(snapshotText(t, 1)) })
	r.mustDo()
	text, err := os.ReadFile(filepath.Join(r.Dir, manifest.Name))
	require.NoError(t, err)
	require.NotRegexp(t, `hidden|anna|token`, string(text))
	require.Contains(t, string(text), `"urls":["`+s.URL+`/heap"]`)
}

// TestRestartsAndLoadBalancers: the bytes allocated fall if another process answers.
func TestRestartsAndLoadBalancers(t *testing.T) {
	r := newRun(t)
	order := []int{3, 5, 2, 9, 3, 8, 4, 7, 2}
	s := r.serve(len(order), func(w http.ResponseWriter, n int) { _, _ = w.Write(snapshotText(t, order[n-1])) })
	m := r.mustDo()
	restarted := s.URL + "/heap: the bytes allocated fell, so the service was restarted"
	require.Equal(t, []string{
		restarted, restarted,
		s.URL + "/heap: the bytes allocated fell 3 times: behind a load balancer, each request may reach another process; scrape each process by itself",
	}, r.notes)
	var images []int
	for _, s := range m.Snapshots {
		images = append(images, s.Image)
	}
	require.Equal(t, []int{0, 0, 1, 1, 2, 2, 3, 3, 4}, images)
}

// TestTypeOfTheAnswer: the content tells what an answer is, not its type.
func TestTypeOfTheAnswer(t *testing.T) {
	r := newRun(t)
	r.serve(1, func(w http.ResponseWriter, n int) {
		w.Header().Set("Content-Type", "text/html") // as frameworks send any text
		_, _ = w.Write(snapshotText(t, n))
	})
	require.Len(t, r.mustDo().Snapshots, 1)
}

// TestRedirects: a service may redirect to another path.
func TestRedirects(t *testing.T) {
	r := newRun(t)
	s := r.serve(2, nil)
	service := r.handler(2, func(w http.ResponseWriter, n int) { _, _ = w.Write(snapshotText(t, n)) })
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/heap" {
			http.Redirect(w, req, "/real", http.StatusTemporaryRedirect)
			return
		}
		service.ServeHTTP(w, req)
	})
	require.Len(t, r.mustDo().Snapshots, 2)
}

// TestCertificates: the certificate of a service must be valid, trusted by name, or not looked at.
func TestCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(snapshotText(t, 1)) }))
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	try := func(change func(*run)) error {
		r := newRun(t, s.URL+"/heap")
		r.Duration = 1
		change(r)
		r.do()
		return r.err
	}
	require.ErrorContains(t, try(func(*run) {}), "/heap: the certificate of the service is not valid: x509: certificate signed by unknown authority; "+
		"--cacert names one to trust, --insecure trusts every one")
	require.NoError(t, try(func(r *run) { r.CACert = ca }))
	require.NoError(t, try(func(r *run) { r.Insecure = true }))
	require.ErrorContains(t, try(func(r *run) { r.CACert, r.Insecure = ca, true }), "exclude each other")
	require.ErrorContains(t, try(func(r *run) { r.CACert = "scrape_test.go" }), "scrape_test.go has no certificate in PEM form")
	require.ErrorContains(t, try(func(r *run) { r.CACert = "none.pem" }), "none.pem: no such file or directory")
}

// TestKeep: above the limit, snapshots are removed evenly, and the manifest says so.
func TestKeep(t *testing.T) {
	r := newRun(t)
	r.Keep = 4
	r.serve(9, func(w http.ResponseWriter, n int) { _, _ = w.Write(snapshotText(t, n)) })
	m := r.mustDo()
	require.Len(t, m.Snapshots, 9)
	require.Len(t, m.Dropped, 5)
	require.Len(t, r.files(), 5)
	require.Contains(t, r.files(), "heap.0001.heap.gz")
	require.Contains(t, r.files(), "heap.0009.heap.gz")
	require.Equal(t, 4, r.outcome.Heaps)
}

// TestSeveralServices: each has snapshots of its own, and one that fails does not end the others.
func TestSeveralServices(t *testing.T) {
	good := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(snapshotText(t, 1)) }))
		t.Cleanup(s.Close)
		return s
	}
	a, b, bad := good(), good(), httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	r := newRun(t, a.URL+"/heap", bad.URL+"/heap", b.URL+"/x", b.URL+"/y")
	r.Duration = 1
	r.do()
	require.EqualError(t, r.err, bad.URL+"/heap: 404 Not Found: is this the URL of a heap profile?")
	require.Equal(t, []string{r.err.Error()}, r.notes, "it is said at once, too")
	name := func(s *httptest.Server) string {
		return strings.NewReplacer("http://", "", ".", "-", ":", "-").Replace(s.URL)
	}
	require.ElementsMatch(t, []string{
		name(a) + ".heap.0001.heap.gz", name(b) + ".heap.0001.heap.gz", name(b) + "-2.heap.0001.heap.gz", manifest.Name,
	}, r.files())
	require.Equal(t, "3 heap profiles of 3 services", r.outcome.String())
}

// TestDirectory: a directory that cannot be used ends the recording before it begins. One that
// cannot be written to later does not end it.
func TestDirectory(t *testing.T) {
	r := newRun(t)
	r.serve(1, func(w http.ResponseWriter, n int) { _, _ = w.Write(snapshotText(t, n)) })
	r.mustDo()
	r.do()
	require.EqualError(t, r.err, r.Dir+" already holds a recording: choose another directory with -o")

	r = newRun(t)
	require.NoError(t, os.WriteFile(r.Dir, nil, 0o600))
	r.serve(1, func(w http.ResponseWriter, n int) { _, _ = w.Write(snapshotText(t, n)) })
	r.do()
	require.ErrorContains(t, r.err, r.Dir+": not a directory")

	r = newRun(t)
	r.serve(4, func(w http.ResponseWriter, n int) {
		switch n {
		case 2:
			require.NoError(t, os.Rename(r.Dir, r.Dir+".away"))
		case 4:
			require.NoError(t, os.Rename(r.Dir+".away", r.Dir))
		}
		_, _ = w.Write(snapshotText(t, n))
	})
	m := r.mustDo()
	message := "create " + r.Dir + "/heap.0002.heap.gz: no such file or directory"
	require.Equal(t, []string{message}, r.notes)
	require.Equal(t, []string{message}, r.outcome.Notes)
	require.Equal(t, message, m.Ends[0].Error)
	require.Equal(t, []string{"heap.0001.heap.gz", "heap.0002.heap.gz", manifest.Name}, r.files())
}

// TestDefaultDirectory: without a name, the directory is a new one in the working directory.
func TestDefaultDirectory(t *testing.T) {
	text := snapshotText(t, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer s.Close()
	t.Chdir(t.TempDir())
	var dirs []string
	for range 3 {
		r := newRun(t, s.URL+"/heap")
		r.Dir, r.Duration = "", 1
		r.Began = func(dir string) { dirs = append(dirs, dir) }
		r.mustDo()
		require.Equal(t, r.outcome.Dir, dirs[len(dirs)-1])
		require.Regexp(t, `^heaplapse-127-0-0-1-\d+-\d{8}-\d{6}(-\d)?$`, r.outcome.Dir)
	}
	slices.Sort(dirs)
	require.Len(t, slices.Compact(dirs), 3)
}
