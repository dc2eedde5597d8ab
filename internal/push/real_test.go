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
	"slices"
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
	address, dir := freeAddress(t), t.TempDir()
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

// freeAddress returns an address that no program listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
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
			"mode": {"MODE_SINGLE_UNSPECIFIED"}, "report_type": {"REPORT_TYPE_PPROF"},
			"single.time":  {e.Time.UTC().Format(time.RFC3339Nano)},
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

// TestRealPyroscope: Pyroscope 2 refuses old snapshots, and gives back recent ones. HEAPLAPSE_PYROSCOPE is the
// path of the program.
func TestRealPyroscope(t *testing.T) {
	program := os.Getenv("HEAPLAPSE_PYROSCOPE")
	if program == "" {
		t.Skip("needs Pyroscope: set HEAPLAPSE_PYROSCOPE to the path of the program")
	}
	s := realServer(t, "/ready", program, func(address, _ string) []string { return pyroscopeArgs(t, address) })
	p := pusher(t, push.Pyroscope, s, request.Options{})
	exemplars := sent(t, p)
	require.Len(t, exemplars, 8)
	require.Equal(t, []int{0, 8}, []int{p.Sent, p.Refused}, "the snapshots are old")
	for _, e := range recent(exemplars) {
		require.NoError(t, p.Send(t.Context(), &e))
	}
	require.Equal(t, []int{8, 8}, []int{p.Sent, p.Refused})
	for _, e := range exemplars {
		require.Equal(t, inUse(e.Profile), pyroscopeSum(t, s, &e), e.Site)
	}
}

// recent moves the times of profiles, so that the last one is a minute old.
func recent(exemplars []push.Exemplar) []push.Exemplar {
	last := slices.MaxFunc(exemplars, func(a, b push.Exemplar) int { return a.Time.Compare(b.Time) }).Time
	shift := time.Since(last) - time.Minute
	for i := range exemplars {
		e := &exemplars[i]
		e.Time = e.Time.Add(shift).Truncate(time.Millisecond)
		e.Profile.TimeNanos = e.Time.UnixNano()
	}
	return exemplars
}

// pyroscopeSum returns the bytes of the profiles that Pyroscope has of an exemplar.
func pyroscopeSum(t *testing.T, s *pushtest.Server, e *push.Exemplar) (sum int64) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"profile_typeID": "memory:inuse_space:bytes:space:bytes", "label_selector": push.Selector(e.Labels[1:]),
		"start": e.Time.UnixMilli() - 1, "end": e.Time.UnixMilli() + 1,
	})
	require.NoError(t, err)
	query := s.URL + "/querier.v1.QuerierService/SelectMergeProfile"
	resp, err := http.Post(query, "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", content)
	var answer struct {
		Sample []struct{ Value []json.Number }
	}
	require.NoError(t, json.Unmarshal(content, &answer))
	for _, s := range answer.Sample {
		v, err := s.Value[0].Int64()
		require.NoError(t, err)
		sum += v
	}
	return sum
}

// pyroscopeArgs are those of a Pyroscope that is alone, and ready at once. All its parts listen at addresses that
// are free. It keeps its data below the current directory.
func pyroscopeArgs(t *testing.T, address string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	grpc, raft := freeAddress(t), freeAddress(t)
	_, grpcPort, err := net.SplitHostPort(grpc)
	require.NoError(t, err)
	return []string{
		"-architecture.storage=v2",
		"-server.http-listen-address=" + host, "-server.http-listen-port=" + port,
		"-server.grpc-listen-address=" + host, "-server.grpc-listen-port=" + grpcPort,
		"-metastore.address=" + grpc, "-query-backend.address=" + grpc, "-segment-writer.lifecycler.addr=" + host,
		"-metastore.raft.server-id=" + raft, "-metastore.raft.bind-address=" + raft,
		"-metastore.raft.advertise-address=" + raft, "-memberlist.bind-addr=" + host, "-memberlist.bind-port=0",
		"-metastore.min-ready-duration=0", "-segment-writer.min-ready-duration=0",
		"-self-profiling.disable-push=true", "-usage-stats.enabled=false",
	}
}
