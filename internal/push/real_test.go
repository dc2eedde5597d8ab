package push_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/push"
	"github.com/heaplapse/heaplapse/internal/push/pushtest"
	"github.com/heaplapse/heaplapse/internal/request"
)

// realServer starts a program that takes requests at an address, and waits until it answers at ready.
func realServer(t *testing.T, ready, program string, args func(address, dir string) []string) *pushtest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address, dir := l.Addr().String(), t.TempDir()
	require.NoError(t, l.Close())
	cmd := exec.Command(program, args(address, dir)...)
	var log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	s := &pushtest.Server{Server: &httptest.Server{URL: "http://" + address}}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get(s.URL + ready)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s
			}
		}
		require.True(t, time.Now().Before(end), "%s does not answer: %v", program, err)
	}
}

func getJSON(t *testing.T, u string, v any) {
	t.Helper()
	resp, err := http.Get(u)
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", u, content)
	require.NoError(t, json.Unmarshal(content, v))
}

// TestRealParca: Parca gives back what it was sent, at the times of the snapshots. HEAPLAPSE_PARCA is the path
// of the program.
func TestRealParca(t *testing.T) {
	program := os.Getenv("HEAPLAPSE_PARCA")
	if program == "" {
		t.Skip("needs Parca: set HEAPLAPSE_PARCA to the path of the program")
	}
	s := realServer(t, "/ready", program, func(address, dir string) []string {
		config := filepath.Join(dir, "parca.yaml")
		text := fmt.Sprintf("object_storage: {bucket: {type: FILESYSTEM, config: {directory: %s}}}\n", dir)
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		return []string{"--http-address", address, "--config-path", config}
	})
	p := pusher(t, push.Parca, s, request.Options{})
	exemplars := sent(t, p)
	require.Len(t, exemplars, 8)
	require.Equal(t, []int{8, 0}, []int{p.Sent, p.Refused})
	for _, e := range exemplars {
		query := url.Values{
			"mode": {"MODE_SINGLE_UNSPECIFIED"}, "report_type": {"REPORT_TYPE_PPROF"}, "single.time": {e.Time.UTC().Format(time.RFC3339Nano)},
			"single.query": {"memory:inuse_space:bytes:space:bytes" + push.Selector(e.Labels[1:])}, // without __name__
		}
		var answer struct{ Pprof []byte }
		getJSON(t, s.URL+"/api/profiles/query?"+query.Encode(), &answer)
		got, err := profile.ParseData(answer.Pprof)
		require.NoError(t, err)
		require.Equal(t, inUse(e.Profile), inUse(got), e.Site)
		require.Equal(t, functions(e.Profile), functions(got))
	}
	// A name that no server takes.
	bad := exemplars[0]
	bad.Labels = []push.Label{{Name: "__name__", Value: "a-b"}}
	require.NoError(t, p.Send(t.Context(), &bad))
	require.Equal(t, 1, p.Refused)
}

func functions(p *profile.Profile) map[string]bool {
	out := map[string]bool{}
	for _, f := range p.Function {
		out[f.Name] = true
	}
	return out
}

// TestRealPyroscope: the same for Pyroscope, whose path is in HEAPLAPSE_PYROSCOPE.
func TestRealPyroscope(t *testing.T) {
	program := os.Getenv("HEAPLAPSE_PYROSCOPE")
	if program == "" {
		t.Skip("needs Pyroscope: set HEAPLAPSE_PYROSCOPE to the path of the program")
	}
	start := func(window string) *pushtest.Server {
		return realServer(t, "/ready", program, func(address, dir string) []string {
			host, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			return []string{"-server.http-listen-address=" + host, "-server.http-listen-port=" + port, "-server.grpc-listen-port=0",
				"-memberlist.bind-port=0", "-self-profiling.disable-push=true", "-pyroscopedb.data-path=" + dir, "-validation.reject-older-than=" + window}
		})
	}
	p := pusher(t, push.Pyroscope, start("0"), request.Options{})
	exemplars := sent(t, p)
	require.Len(t, exemplars, 8)
	require.Equal(t, []int{8, 0}, []int{p.Sent, p.Refused})
	for _, e := range exemplars {
		body, err := json.Marshal(map[string]any{
			"profile_typeID": "memory:inuse_space:bytes:space:bytes", "label_selector": push.Selector(e.Labels[1:]),
			"start": e.Time.UnixMilli() - 1, "end": e.Time.UnixMilli() + 1,
		})
		require.NoError(t, err)
		resp, err := http.Post(p.URL.String()+"/querier.v1.QuerierService/SelectMergeProfile", "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		var answer struct {
			Sample []struct{ Value []json.Number }
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		sum := int64(0)
		for _, s := range answer.Sample {
			v, err := s.Value[0].Int64()
			require.NoError(t, err)
			sum += v
		}
		require.Equal(t, inUse(e.Profile), sum, e.Site)
	}
	p = pusher(t, push.Pyroscope, start("1h"), request.Options{})
	sent(t, p)
	require.Equal(t, []int{0, 8}, []int{p.Sent, p.Refused}, "the snapshots are old")
}
