package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
	w := startWatch(t, dir, "--sysroot", "/nowhere")
	s := startScrape(t, "-o", dir)
	for range 2 {
		require.Regexp(t, `  \d+ snapshots? +heap `, w.line(t))
	}
	require.NoError(t, s.Process.Signal(os.Interrupt))
	require.NoError(t, s.Wait(), "%s", &s.stderr)
	code, _ := w.end(t)
	require.Equal(t, exitOK, code)
}
