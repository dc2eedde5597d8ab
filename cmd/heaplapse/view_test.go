package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestViewServesUntilItIsEnded: view prints the address alone, serves pages, and ends with status 0.
func TestViewServesUntilItIsEnded(t *testing.T) {
	for path, want := range map[string]string{"": "#24", "s/24/top": "leaky::remember", "s/24/source?f=remember": "leaky::remember"} {
		require.Contains(t, viewed(t, path, testutil.Data(t, "leaky"), "--sysroot", testutil.Data(t, "leaky/sysroot")), want)
	}
}

// TestViewOfABundle shows source files only of a directory that the user names.
func TestViewOfABundle(t *testing.T) {
	bundle := leakyBundle(t)
	require.Contains(t, viewed(t, "s/24/top", bundle), "leaky::remember")
	require.Contains(t, viewed(t, "s/24/source?f=remember", bundle), "start heaplapse view with --source-root")
	require.Contains(t, viewed(t, "s/24/source?f=remember", bundle, "--source-root", t.TempDir()), "leaky::remember")
}

// viewed runs view and returns one of its pages.
func viewed(t *testing.T, path string, args ...string) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, w := io.Pipe()
	var stderr bytes.Buffer
	status := make(chan int, 1)
	go func() {
		args := append([]string{"view", "--no-browser", "-q"}, args...)
		status <- run(ctx, args, streams{in: strings.NewReader(""), out: w, err: &stderr})
		w.Close()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, stderr.String())
	address := strings.TrimSpace(line)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/$`, address)
	r, err := http.Get(address + path)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body.Close()
	cancel()
	require.Equal(t, exitOK, <-status)
	require.Empty(t, stderr.String())
	return string(body)
}
