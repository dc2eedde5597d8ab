package scrape_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// goService is a service with the profiles of this process.
func goService(t *testing.T) string {
	s := httptest.NewServer(http.DefaultServeMux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestGoServiceHasHeapAndGoroutines(t *testing.T) {
	r := newRun(t, goService(t))
	r.Duration = 1
	r.mustDo()
	require.Equal(t, []string{"goroutine.0001.pb.gz", "heap.0001.pb.gz", manifest.Name}, r.files())
	require.Equal(t, "1 heap and 1 goroutine profiles", r.outcome.String())
	require.Empty(t, r.notes)
	for _, name := range r.files()[:2] {
		content, err := os.ReadFile(filepath.Join(r.Dir, name))
		require.NoError(t, err)
		p, err := profile.ParseData(content)
		require.NoError(t, err)
		require.NotEmpty(t, p.Sample)
	}
}

// TestURLsOfGoProfiles: a full URL may be of any profile that shows one moment.
func TestURLsOfGoProfiles(t *testing.T) {
	service := goService(t)
	advice := []string{service + "/debug/pprof/heap shows the heap as of the last garbage collections: " +
		"add gc=1 to its query, and the service collects first"}
	for suffix, want := range map[string]struct {
		file  string
		notes []string
	}{
		"heap?gc=1":   {"heap.0001.pb.gz", nil},
		"heap":        {"heap.0001.pb.gz", advice},
		"allocs?gc=1": {"heap.0001.pb.gz", nil},
		"goroutine":   {"goroutine.0001.pb.gz", nil},
	} {
		r := newRun(t, service+"/debug/pprof/"+suffix)
		r.Duration = 1
		r.mustDo()
		require.Equal(t, []string{want.file, manifest.Name}, r.files())
		require.Equal(t, want.notes, r.notes)
	}
	for suffix, want := range map[string]string{
		"mutex":             "/debug/pprof/mutex: the answer: not a heap snapshot: ",
		"block":             "/debug/pprof/block: the answer: not a heap snapshot: ",
		"threadcreate":      "/debug/pprof/threadcreate: the answer: not a heap snapshot: ",
		"profile?seconds=1": "seconds=N asks for what changes",
		"cmdline":           "/debug/pprof/cmdline: the answer: not a heap snapshot: ",
		"symbol":            "/debug/pprof/symbol: the answer: not a heap snapshot: ",
		"x":                 `/debug/pprof/x: 404 Not Found, "Unknown profile": is this the URL of a heap profile?`,
	} {
		r := newRun(t, service+"/debug/pprof/"+suffix)
		r.do()
		require.ErrorContains(t, r.err, want)
		require.NoDirExists(t, r.Dir)
	}
}

// profileOf returns a profile of this process.
func profileOf(t *testing.T, name string) []byte {
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup(name).WriteTo(&b, 0))
	return b.Bytes()
}

// TestProfilesAreCompressed: a service, or a proxy, may send a profile without its compression.
func TestProfilesAreCompressed(t *testing.T) {
	whole := profileOf(t, "heap")
	z, err := gzip.NewReader(bytes.NewReader(whole))
	require.NoError(t, err)
	raw, err := io.ReadAll(z)
	require.NoError(t, err)
	r := newRun(t)
	r.NoGC = true
	r.serve(2, func(w http.ResponseWriter, n int) {
		if n == 1 {
			_, _ = w.Write(raw)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(whole)
	})
	r.mustDo()
	require.Equal(t, []string{"heap.0001.pb.gz", "heap.0002.pb.gz", manifest.Name}, r.files())
	for _, name := range r.files()[:2] {
		content, err := os.ReadFile(filepath.Join(r.Dir, name))
		require.NoError(t, err)
		z, err := gzip.NewReader(bytes.NewReader(content))
		require.NoError(t, err)
		got, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, raw, got)
	}
}

// TestAnotherKindIsRefused: a URL keeps its kind, and /debug/pprof/heap is of the heap.
func TestAnotherKindIsRefused(t *testing.T) {
	r := newRun(t)
	r.NoGC = true
	kinds := []string{"heap", "goroutine", "heap"}
	s := r.serve(len(kinds), func(w http.ResponseWriter, n int) { _, _ = w.Write(profileOf(t, kinds[n-1])) })
	require.Len(t, r.mustDo().Snapshots, 2)
	require.Len(t, r.notes, 2)
	require.Equal(t, s.URL+"/heap: the answer is a goroutine profile instead of a heap profile; trying again", r.notes[0])

	r = newRun(t)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(profileOf(t, "goroutine")) }))
	defer s.Close()
	r.URLs = []string{s.URL}
	r.do()
	require.ErrorContains(t, r.err, "/debug/pprof/heap: the answer is a goroutine profile instead of a heap profile")
}

// TestServiceWithoutGoroutines: goroutine profiles are left out if the service refuses them.
func TestServiceWithoutGoroutines(t *testing.T) {
	var asked int
	r := newRun(t)
	heaps := r.handler(3, func(w http.ResponseWriter, _ int) { _, _ = w.Write(profileOf(t, "heap")) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/goroutine") {
			asked++
			http.Error(w, "Forbidden", http.StatusForbidden)
			return
		}
		heaps.ServeHTTP(w, req)
	}))
	defer s.Close()
	r.URLs = []string{s.URL}
	require.Len(t, r.mustDo().Snapshots, 3)
	require.Equal(t, 1, asked)
	require.Equal(t, []string{s.URL + "/debug/pprof/goroutine is left out: 403 Forbidden: " +
		"if the service wants credentials, send them with --header 'Authorization: …'"}, r.notes)
}

// TestGoroutinesComeLater: a failure that may pass does not leave out goroutine profiles.
func TestGoroutinesComeLater(t *testing.T) {
	asked := 0
	r := newRun(t)
	heaps := r.handler(3, func(w http.ResponseWriter, _ int) { _, _ = w.Write(profileOf(t, "heap")) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch asked++; {
		case !strings.HasSuffix(req.URL.Path, "/goroutine"):
			heaps.ServeHTTP(w, req)
		case asked == 2:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		default:
			_, _ = w.Write(profileOf(t, "goroutine"))
		}
	}))
	defer s.Close()
	r.URLs = []string{s.URL}
	m := r.mustDo()
	require.Len(t, m.Snapshots, 5)
	require.Empty(t, m.Gaps)
	require.Equal(t, []string{s.URL + `/debug/pprof/goroutine: 503 Service Unavailable, "busy"; trying again`}, r.notes)
}

// TestServicesOfEachLanguage: the profiles of services in Go, Rust and JavaScript are kept as they are.
func TestServicesOfEachLanguage(t *testing.T) {
	for service, suffix := range map[string]string{"go-plain": ".pb.gz", "node": ".pb.gz", "rust-pprof": ".pb.gz", "rust-heap": ".heap.gz"} {
		t.Run(service, func(t *testing.T) {
			paths, err := filepath.Glob(testutil.Data(t, "services", service, "*.gz"))
			require.NoError(t, err)
			require.Greater(t, len(paths), 24)
			content := make([][]byte, 3)
			for i := range content {
				content[i], err = os.ReadFile(paths[i])
				require.NoError(t, err)
			}
			r := newRun(t)
			r.NoGC = true
			r.serve(len(content), func(w http.ResponseWriter, n int) { _, _ = w.Write(content[n-1]) })
			require.Len(t, r.mustDo().Snapshots, len(content))
			require.Empty(t, r.notes)
			for i := range content {
				got, err := os.ReadFile(filepath.Join(r.Dir, fmt.Sprintf("heap.%04d%s", i+1, suffix)))
				require.NoError(t, err)
				require.Equal(t, content[i], got)
			}
		})
	}
}

// TestEmptyProfiles: a service whose profiler is off has profiles without samples.
func TestEmptyProfiles(t *testing.T) {
	p, err := profile.ParseData(profileOf(t, "heap"))
	require.NoError(t, err)
	p.Sample, p.Location, p.Function = nil, nil, nil
	var empty bytes.Buffer
	require.NoError(t, p.Write(&empty))
	r := newRun(t)
	r.NoGC = true
	s := r.serve(2, func(w http.ResponseWriter, _ int) { _, _ = w.Write(empty.Bytes()) })
	require.Len(t, r.mustDo().Snapshots, 2)
	require.Equal(t, []string{s.URL + "/heap: the last profile is empty: is the profiler of the service on?"}, r.notes)
}
