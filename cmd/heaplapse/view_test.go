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

// TestViewServesUntilItIsEnded: view prints the address alone, serves pages, and ends with status
// 0.
func TestViewServesUntilItIsEnded(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, w := io.Pipe()
	var stderr bytes.Buffer
	status := make(chan int, 1)
	go func() {
		args := []string{"view", "--no-browser", testutil.Data(t, "leaky"), "--sysroot", testutil.Data(t, "leaky/sysroot"), "-q"}
		status <- run(ctx, args, streams{in: strings.NewReader(""), out: w, err: &stderr})
		w.Close()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, stderr.String())
	address := strings.TrimSpace(line)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/$`, address)
	for path, want := range map[string]string{"": "#24", "s/24/top": "leaky::remember"} {
		r, err := http.Get(address + path)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		r.Body.Close()
		require.Contains(t, string(body), want)
	}
	cancel()
	require.Equal(t, exitOK, <-status)
	require.Empty(t, stderr.String())
}
