package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// scraped is a running `heaplapse scrape`.
type scraped struct {
	*exec.Cmd
	dir            string
	stdout, stderr bytes.Buffer
	answered       atomic.Int32 // requests that its service has answered
}

// startScrape starts a service that answers with the snapshots of a recorded series, one after the
// other, and scrapes it.
func startScrape(t *testing.T, args ...string) *scraped {
	t.Helper()
	texts := leakySeries(t)
	s := &scraped{dir: filepath.Join(t.TempDir(), "out dir")}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(s.answered.Add(1))
		_, _ = w.Write([]byte(texts[min(n, len(texts))-1]))
	}))
	t.Cleanup(service.Close)
	s.Cmd = exec.Command("heaplapse", append([]string{"scrape", service.URL + "/heap", "-o", s.dir, "--every", "20ms"}, args...)...)
	s.Stdout, s.Stderr = &s.stdout, &s.stderr
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() }) // it runs only if the test has failed
	return s
}

// await waits until a number of requests was answered.
func (s *scraped) await(t *testing.T, requests int32) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.answered.Load() < requests; time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no requests")
	}
}

// TestScrapeEndsOnSignals: a signal ends the recording as the end of its duration does.
func TestScrapeEndsOnSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := startScrape(t)
			s.await(t, 4)
			require.NoError(t, s.Process.Signal(signal))
			require.NoError(t, s.Wait(), "%s", &s.stderr)
			require.Empty(t, s.stdout.String())
			require.Regexp(t, `\Aheaplapse: snapshots go to .*/out dir, until \^C\n`+
				`heaplapse: \d+ heap profiles; next: heaplapse growth '.*/out dir'\n\z`, s.stderr.String())
			requireNoHidden(t, s.dir)
			m, err := manifest.Load(s.dir)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(m.Snapshots), 3)
			require.Len(t, m.Ends, 1)
			for _, snapshot := range m.Snapshots {
				require.FileExists(t, filepath.Join(s.dir, snapshot.File+".gz"))
			}
			out, err := exec.Command("heaplapse", "info", "--strict", "--no-cache", s.dir).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "from http://127.0.0.1:")
		})
	}
}

// TestScrapeThatIsKilledLeavesWholeFiles kills scrape: what it has written can be read.
func TestScrapeThatIsKilledLeavesWholeFiles(t *testing.T) {
	s := startScrape(t)
	s.await(t, 8)
	require.NoError(t, s.Process.Kill())
	require.Error(t, s.Wait())
	out, err := exec.Command("heaplapse", "info", "--strict", "--no-cache", s.dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestWatchFollowsAScrape: watch begins before the first snapshot and ends with the recording.
func TestWatchFollowsAScrape(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w := startWatch(t, dir, "--sysroot", t.TempDir())
	s := startScrape(t, "-o", dir)
	for range 2 {
		require.Regexp(t, `  \d+ snapshots? +heap `, w.line(t))
	}
	require.NoError(t, s.Process.Signal(os.Interrupt))
	require.NoError(t, s.Wait(), "%s", &s.stderr)
	code, _ := w.end(t)
	require.Equal(t, exitOK, code)
}

// leakyService is a Go service that keeps a session and goroutines for each heap profile that is
// taken, and replaces the entries of a cache.
type leakyService struct {
	mu       sync.Mutex
	profiles int
	sessions [][]byte
	cache    [4][]byte
	end      chan struct{}
}

func (s *leakyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/heap") {
		s.mu.Lock()
		s.profiles++
		s.sessions = append(s.sessions, newSession())
		s.cache[s.profiles%len(s.cache)] = newPage()
		s.mu.Unlock()
		for range 60 {
			go s.serveSession()
		}
	}
	http.DefaultServeMux.ServeHTTP(w, r) // net/http/pprof
}

func (s *leakyService) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profiles
}

// Allocations that are so large are in every profile.
const sampled = 8 << 20

//go:noinline
func newSession() []byte { return make([]byte, sampled) }

//go:noinline
func newPage() []byte { return make([]byte, sampled) }

func (s *leakyService) serveSession() { <-s.end }

// TestScrapeFindsTheLeakOfAGoService scrapes this process until there are enough snapshots.
func TestScrapeFindsTheLeakOfAGoService(t *testing.T) {
	service := &leakyService{end: make(chan struct{})}
	defer close(service.end)
	server := httptest.NewServer(service)
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("heaplapse", "scrape", server.URL, "-o", dir, "--every", "80ms")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	for deadline := time.Now().Add(time.Minute); service.taken() < 25; time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%s", &stderr)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "%s", &stderr)
	require.Regexp(t, `heaplapse: 2\d heap and 2\d goroutine profiles; next: heaplapse growth `, stderr.String())

	out, _, code := invoke(t, "growth", dir, "--process", dir+"/heap")
	require.Equal(t, exitOK, code)
	require.Regexp(t, `(?m)^  1  leak .*\.newSession +scrape_test\.go:\d+$`, out)
	require.NotContains(t, out, "newPage", "the cache does not grow")
	out, _, code = invoke(t, "growth", dir, "--process", dir+"/goroutine")
	require.Equal(t, exitOK, code)
	require.Regexp(t, `(?m)^  1  leak .*serveSession +scrape_test\.go:\d+$`, out)
}
