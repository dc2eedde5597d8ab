package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/push/pushtest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// pushLeaky sends the profiles of a recorded series.
func pushLeaky(t *testing.T, s *pushtest.Server, server string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	args = append([]string{"push", testutil.Data(t, "leaky"), "--sysroot", testutil.Data(t, "leaky/sysroot"),
		"--to", server, "--url", s.URL, "--service", "shop", "--host", "web-17"}, args...)
	return invoke(t, args...)
}

// TestPush: the output has the labels by which the server finds the profiles.
func TestPush(t *testing.T) {
	for server, s := range map[string]*pushtest.Server{"pyroscope": pushtest.Pyroscope(t), "parca": pushtest.Parca(t)} {
		s.Token = "secret"
		header := filepath.Join(t.TempDir(), "header")
		require.NoError(t, os.WriteFile(header, []byte("Authorization: Bearer secret\n"), 0o600))
		stdout, stderr, code := pushLeaky(t, s, server, "-H", "@"+header, "--label", "canary=yes", "--exemplars", "3")
		require.Equal(t, exitOK, code, stderr)
		require.Equal(t, "heaplapse: 6 profiles of 2 sites sent to "+s.URL+"\n", stderr)
		got, _ := s.Received()
		require.Len(t, got, 6)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		require.Len(t, lines, 2)
		for i, line := range lines {
			require.Regexp(t, `^\{__name__="memory", build_id="[0-9a-f]{40}", canary="yes", host="web-17", service_name="shop", site=".*", site_key="\d+", verdict="leak"\}$`, line)
			require.Contains(t, line, `site="`+got[i].Labels["site"]+`"`)
		}
	}
}

// TestPushIsRefused: profiles that a server refuses are named, and the exit status is 2.
func TestPushIsRefused(t *testing.T) {
	s := pushtest.Pyroscope(t)
	s.RejectOlderThan = time.Hour
	stdout, stderr, code := pushLeaky(t, s, "pyroscope", "--exemplars", "1")
	require.Equal(t, exitFailure, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "of leaky.0024 was refused: 400 Bad Request, ")
	require.Contains(t, stderr, "heaplapse: "+s.URL+" refused 2 profiles\n")
	s.RejectOlderThan, s.Token = 0, "secret"
	_, stderr, code = pushLeaky(t, s, "pyroscope", "-H", "Authorization: Bearer hidden")
	require.Equal(t, exitFailure, code)
	require.Regexp(t, `^heaplapse: http://127.0.0.1:\d+: 401 Unauthorized, "no org id": if the service wants credentials, send them with --header 'Authorization: …'\n$`, stderr)
}
