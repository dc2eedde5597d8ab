//go:build linux

package record

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	preload "github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

func TestMain(m *testing.M) {
	testutil.Foreground(syscall.SIGINT)
	os.Exit(m.Run())
}

// adapterRig is a program with a fake allocator and the adapter. The allocator is linked with the given
// flags.
type adapterRig struct {
	program, prefix  string
	library, adapter string
	receiver         *channel.Receiver
}

func newAdapterRig(t *testing.T, linkFlags ...string) *adapterRig {
	t.Helper()
	gcc := testutil.Need(t, "gcc")
	machine := testutil.Machine()
	if preload.Adapter(machine) == nil {
		t.Skip("there is no adapter for " + runtime.GOARCH)
	}
	dir := t.TempDir()
	r := &adapterRig{
		program: filepath.Join(dir, "user"),
		library: filepath.Join(dir, "libtcmalloc_fake.so"),
		adapter: filepath.Join(dir, preload.AdapterName),
	}
	compile := func(args ...string) {
		out, err := exec.Command(gcc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	compile(append([]string{"-O1", "-fPIC", "-shared", "-o", r.library, "testdata/fake_tcmalloc.c"}, linkFlags...)...)
	compile("-O1", "-o", r.program, "testdata/adapter_user.c", r.library)
	require.NoError(t, os.WriteFile(r.adapter, preload.Adapter(machine), 0o600))
	return r
}

// run runs the program and returns its output and the names of the snapshots that it has sent.
func (r *adapterRig) run(t *testing.T, o Options, what string) (stdout, stderr string, snapshots []string) {
	t.Helper()
	cmd := r.command(t, o, what)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.String(), errs.String(), r.snapshots(t)
}

func (r *adapterRig) command(t *testing.T, o Options, what string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	r.prefix = filepath.Join(dir, "p")
	var err error
	r.receiver, err = channel.Listen(r.prefix)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.receiver.Close() })
	cmd := exec.Command(r.program, adapterPrefix, what, filepath.Join(dir, "file"))
	s := adapterSetting(&o)
	patient := s.Value + " patience=60000 " + r.receiver.Settings() // the machine may be busy
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+r.library+":"+r.adapter, s.Name+"="+patient)
	return cmd
}

// snapshots returns the names of the snapshots that have been sent.
func (r *adapterRig) snapshots(t *testing.T) (names []string) {
	t.Helper()
	r.receiver.Flush()
	paths, err := filepath.Glob(r.prefix + "*.heap")
	require.NoError(t, err)
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

// pids parses the first n numbers that the program printed.
func pids(t *testing.T, text string, n int) []int {
	t.Helper()
	out := make([]int, n)
	for i, w := range strings.Fields(text)[:n] {
		_, err := fmt.Sscan(w, &out[i])
		require.NoError(t, err)
	}
	return out
}

// TestAdapter covers the ways in which distributions link libraries: with slots that are bound at the
// first call, with read-only slots, and without a PLT.
func TestAdapter(t *testing.T) {
	for name, flags := range map[string][]string{
		"lazy":       {"-Wl,-z,lazy"},
		"now, relro": {"-Wl,-z,now,-z,relro"},
		"no PLT":     {"-fno-plt"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newAdapterRig(t, flags...)
			t.Run("names", func(t *testing.T) { testAdapterNames(t, r) })
			t.Run("exec", func(t *testing.T) { testAdapterExec(t, r) })
			t.Run("files", func(t *testing.T) { testAdapterFiles(t, r) })
			t.Run("children", func(t *testing.T) { testAdapterChildren(t, r) })
			t.Run("last snapshot", func(t *testing.T) { testAdapterLast(t, r) })
			t.Run("timer and messages", func(t *testing.T) { testAdapterTimer(t, r) })
		})
	}
}

func testAdapterNames(t *testing.T, r *adapterRig) {
	stdout, _, snapshots := r.run(t, Options{}, "names")
	n := pids(t, stdout, 2)
	assert.Equal(t, 77, n[1], "errno is kept")
	var want []string
	for seq := 1; seq <= 4; seq++ {
		want = append(want, fmt.Sprintf("p_%d.%04d.heap", n[0], seq))
	}
	assert.Equal(t, want, snapshots)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(r.prefix), want[0]))
	require.NoError(t, err)
	assert.Equal(t, adapterPrefix+".0001.heap", string(text), "what the allocator has written")
	events, err := os.ReadFile(fmt.Sprintf("%s.%d.events.jsonl", r.prefix, n[0]))
	require.NoError(t, err)
	assert.Equal(t, []string{"", "", "allocated", "exit"}, triggers(string(events)))
}

var triggerOf = regexp.MustCompile(`"trigger":"([^"]*)"`)

func triggers(events string) (names []string) {
	for _, m := range triggerOf.FindAllStringSubmatch(events, -1) {
		names = append(names, m[1])
	}
	return names
}

func testAdapterExec(t *testing.T, r *adapterRig) {
	for _, scope := range []Scope{MainOnly, Workers, All} {
		stdout, _, snapshots := r.run(t, Options{Scope: scope}, "exec")
		pid := pids(t, stdout, 1)[0]
		var want []string
		for seq := 1; seq <= 3; seq++ {
			want = append(want, fmt.Sprintf("p_%d.%04d.heap", pid, seq))
		}
		assert.Equal(t, want, snapshots, "sequence numbers continue in the next process image")
	}
}

// testAdapterFiles: the pipe of libunwind does not touch the files of the program.
func testAdapterFiles(t *testing.T, r *adapterRig) {
	stdout, _, _ := r.run(t, Options{}, "inherited")
	assert.Equal(t, strings.Repeat("1", 3+4*5+1)+"\n", stdout, "see inherited in adapter_user.c")
}

func testAdapterChildren(t *testing.T, r *adapterRig) {
	for _, how := range []string{"fork", "spawn"} {
		stdout, _, snapshots := r.run(t, Options{Scope: MainOnly}, how)
		n := pids(t, stdout, 2)
		want := []string{fmt.Sprintf("p_%d.0001.heap", n[0]), fmt.Sprintf("p_%d.0002.heap", n[0])}
		assert.Equal(t, want, snapshots, "%s: only the program writes snapshots", how)

		stdout, _, snapshots = r.run(t, Options{Scope: All}, how)
		n = pids(t, stdout, 2)
		want = []string{
			fmt.Sprintf("p_%d.0001.heap", n[0]), fmt.Sprintf("p_%d.0002.heap", n[0]),
			fmt.Sprintf("p_%d.0001.heap", n[1]),
		}
		slices.Sort(want)
		assert.Equal(t, want, snapshots, "%s: each process writes snapshots", how)
	}
}

func testAdapterTimer(t *testing.T, r *adapterRig) {
	stdout, _, _ := r.run(t, Options{Every: 200e6}, "timer")
	assert.Equal(t, "1 1 1\n", stdout, "time() advances in the first call, then only after the interval")
	_, stderr, _ := r.run(t, Options{}, "chatter")
	invalid := "Attempt to free invalid pointer\n"
	assert.Equal(t, invalid+invalid+"Dumping heap profile to y\n", stderr)
}

// testAdapterLast sends signals that end programs by default. The adapter takes a snapshot. Otherwise
// the program behaves as it does without the adapter.
func testAdapterLast(t *testing.T, r *adapterRig) {
	cmd := r.command(t, Options{}, "dispositions")
	out, err := cmd.Output()
	require.Error(t, err)
	assert.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	assert.Equal(t, "1111111handled\n1\n", string(out), "see testdata/dispositions.h")
	assert.Empty(t, r.snapshots(t))

	for what, signals := range map[string][]syscall.Signal{
		"default": {syscall.SIGINT},
		"busy":    {syscall.SIGTERM},
		"handler": {syscall.SIGTERM, syscall.SIGINT},
		"ignored": {syscall.SIGINT, syscall.SIGTERM},
	} {
		cmd := r.command(t, Options{}, what)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan())
		for i, s := range signals {
			require.NoError(t, cmd.Process.Signal(s))
			if i == 0 && what == "handler" {
				require.True(t, lines.Scan())
				assert.Equal(t, "handled", lines.Text())
				assert.Len(t, r.snapshots(t), 1, "the snapshot is taken before the handler runs")
			}
		}
		require.Error(t, cmd.Wait())
		assert.Equal(t, signals[len(signals)-1], cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), what)
		assert.Contains(t, r.snapshots(t), fmt.Sprintf("p_%d.0001.heap", cmd.Process.Pid), what)
	}
}
