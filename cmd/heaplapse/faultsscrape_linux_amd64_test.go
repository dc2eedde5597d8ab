package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestScrapeFaults lets each file operation of scrape fail or be short. Either there are snapshots,
// all of them whole, or a message names the file that prevents that. No temporary files stay.
//
// It takes a sample of the operations; `make faults` takes all of them.
func TestScrapeFaults(t *testing.T) {
	testutil.NoRace(t)
	text := leakySeries(t)[7]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer service.Close()
	scrapeUnder := func(t *testing.T, at place, how fault) *faultedRecording {
		return runUnder(t, at, how, "scrape", service.URL+"/heap", "-o", "$D/rec", "--every", "10ms", "--duration", "30ms", "--keep", "3")
	}
	clean := scrapeUnder(t, place{}, fault{})
	require.Equal(t, exitOK, clean.status, clean.stderr)
	require.Empty(t, judgeScrape(clean))
	tryFaults(t, clean, scrapeUnder, judgeScrape)
}

// judgeScrape returns what is wrong with a recording by scrape, or "".
func judgeScrape(o *faultedRecording) string {
	dir := filepath.Join(o.dir, "rec")
	said := strings.Contains(strings.ReplaceAll(o.stderr, "snapshots go to "+dir, ""), o.dir+"/") || strings.Contains(o.stderr, "TMPDIR")
	snapshots, _ := filepath.Glob(filepath.Join(dir, "heap.*.heap.gz"))
	_, err := os.Stat(dir)
	switch {
	case crashed(o.stderr):
		return "it crashed"
	case o.status != exitOK && o.status != exitFailure:
		return "the status is not 0 or 2"
	case strings.Contains(o.stderr, "heaplapse-tmp"):
		return "the message names a temporary file"
	case o.leftOver() != "":
		return "left over: " + o.leftOver()
	case o.status == exitFailure && !said:
		return "no message names a file"
	case o.status == exitFailure && err == nil && !o.preventsRemoval(dir):
		return "a directory without snapshots"
	case o.status == exitFailure:
		return ""
	case len(snapshots) == 0:
		return "no snapshots"
	}
	out, err := exec.Command("heaplapse", "info", dir, "--strict", "--no-cache").CombinedOutput()
	if err != nil && !said {
		return "not whole, and no message says so: " + string(out)
	}
	return ""
}
