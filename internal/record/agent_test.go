//go:build linux

package record

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

func TestMain(m *testing.M) {
	testutil.Foreground(syscall.SIGINT)
	os.Exit(m.Run())
}

// agentRig is a program with a fake allocator and the agent. The allocator is linked with the given
// flags.
type agentRig struct {
	program, prefix string
	library, agent  string
}

func newAgentRig(t *testing.T, linkFlags ...string) *agentRig {
	t.Helper()
	gcc := testutil.Need(t, "gcc")
	machine := testutil.Machine()
	if agent.For(machine) == nil {
		t.Skip("there is no agent for " + runtime.GOARCH)
	}
	dir := t.TempDir()
	r := &agentRig{
		program: filepath.Join(dir, "user"),
		library: filepath.Join(dir, "libtcmalloc_fake.so"),
		agent:   filepath.Join(dir, agent.Name),
	}
	compile := func(args ...string) {
		out, err := exec.Command(gcc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	compile(append([]string{"-O1", "-fPIC", "-shared", "-o", r.library, "testdata/fake_tcmalloc.c"}, linkFlags...)...)
	compile("-O1", "-o", r.program, "testdata/agent_user.c", r.library)
	require.NoError(t, os.WriteFile(r.agent, agent.For(machine), 0o600))
	return r
}

// run runs the program in a new directory and returns its output and the names of the files that it
// wrote.
func (r *agentRig) run(t *testing.T, o Options, what string) (stdout, stderr string, files []string) {
	t.Helper()
	cmd := r.command(t, o, what)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.String(), errs.String(), r.files(t)
}

func (r *agentRig) command(t *testing.T, o Options, what string) *exec.Cmd {
	t.Helper()
	r.prefix = filepath.Join(t.TempDir(), "p")
	cmd := exec.Command(r.program, r.prefix, what)
	s := agentSetting(&o, r.prefix)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+r.library+":"+r.agent, s.Name+"="+s.Value)
	return cmd
}

// files returns the names of the files that the program wrote.
func (r *agentRig) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(r.prefix))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
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

// TestAgent covers the ways in which distributions link libraries: with slots that are bound at the
// first call, with read-only slots, and without a PLT.
func TestAgent(t *testing.T) {
	for name, flags := range map[string][]string{
		"lazy":       {"-Wl,-z,lazy"},
		"now, relro": {"-Wl,-z,now,-z,relro"},
		"no PLT":     {"-fno-plt"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newAgentRig(t, flags...)
			t.Run("names", func(t *testing.T) { testAgentNames(t, r) })
			t.Run("exec", func(t *testing.T) { testAgentExec(t, r) })
			t.Run("files", func(t *testing.T) { testAgentFiles(t, r) })
			t.Run("children", func(t *testing.T) { testAgentChildren(t, r) })
			t.Run("last snapshot", func(t *testing.T) { testAgentLast(t, r) })
			t.Run("timer and messages", func(t *testing.T) { testAgentTimer(t, r) })
		})
	}
}

func testAgentNames(t *testing.T, r *agentRig) {
	stdout, _, files := r.run(t, Options{}, "names")
	n := pids(t, stdout, 2)
	assert.Equal(t, 77, n[1], "errno is kept")
	want := []string{
		fmt.Sprintf("p_%d.0001.heap", n[0]), fmt.Sprintf("p_%d.0002.heap", n[0]),
		fmt.Sprintf("p.%d.3.i0.heap", n[0]), fmt.Sprintf("p.%d.4.f.heap", n[0]),
		"p.other", "p-else.0001.heap", "p.0009.heap",
	}
	slices.Sort(want)
	assert.Equal(t, want, files)
}

func testAgentExec(t *testing.T, r *agentRig) {
	for _, follow := range []bool{false, true} {
		stdout, _, files := r.run(t, Options{FollowChildren: follow}, "exec")
		pid := pids(t, stdout, 1)[0]
		var want []string
		for seq := 1; seq <= 3; seq++ {
			want = append(want, fmt.Sprintf("p_%d.%04d.heap", pid, seq))
		}
		assert.Equal(t, want, files, "sequence numbers continue in the next process image")
	}
}

// testAgentFiles: the pipe of libunwind does not touch the files of the program, and a snapshot does
// not follow a link.
func testAgentFiles(t *testing.T, r *agentRig) {
	stdout, _, _ := r.run(t, Options{}, "inherited")
	assert.Equal(t, strings.Repeat("1", 3+4*5+1)+"\n", stdout, "see inherited in agent_user.c")

	stdout, _, files := r.run(t, Options{}, "planted")
	pid := pids(t, stdout, 1)[0]
	var want []string
	for seq := 1; seq <= 3; seq++ {
		want = append(want, fmt.Sprintf("p_%d.%04d.heap", pid, seq))
	}
	assert.Equal(t, want, files, "the link is the second one; its target was not made")
}

func testAgentChildren(t *testing.T, r *agentRig) {
	for _, how := range []string{"fork", "spawn"} {
		stdout, _, files := r.run(t, Options{}, how)
		n := pids(t, stdout, 2)
		want := []string{fmt.Sprintf("p_%d.0001.heap", n[0]), fmt.Sprintf("p_%d.0002.heap", n[0])}
		assert.Equal(t, want, files, "%s: only the program writes snapshots", how)

		stdout, _, files = r.run(t, Options{FollowChildren: true}, how)
		n = pids(t, stdout, 2)
		want = []string{
			fmt.Sprintf("p_%d.0001.heap", n[0]), fmt.Sprintf("p_%d.0002.heap", n[0]),
			fmt.Sprintf("p_%d.0001.heap", n[1]),
		}
		slices.Sort(want)
		assert.Equal(t, want, files, "%s: each process writes snapshots", how)
	}
}

func testAgentTimer(t *testing.T, r *agentRig) {
	stdout, _, _ := r.run(t, Options{Every: 200e6}, "timer")
	assert.Equal(t, "1 1 1\n", stdout, "time() advances in the first call, then only after the interval")
	_, stderr, _ := r.run(t, Options{}, "chatter")
	invalid := "Attempt to free invalid pointer\n"
	assert.Equal(t, invalid+invalid+"Dumping heap profile to y\n", stderr)
}

// testAgentLast sends signals that end programs by default. The agent takes a snapshot. Otherwise
// the program behaves as it does without the agent.
func testAgentLast(t *testing.T, r *agentRig) {
	cmd := r.command(t, Options{}, "dispositions")
	out, err := cmd.Output()
	require.Error(t, err)
	assert.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	assert.Equal(t, "1111111handled\n1\n", string(out), "see testdata/dispositions.h")
	assert.Empty(t, r.files(t))

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
				assert.Len(t, r.files(t), 1, "the snapshot is taken before the handler runs")
			}
		}
		require.Error(t, cmd.Wait())
		assert.Equal(t, signals[len(signals)-1], cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), what)
		assert.Contains(t, r.files(t), fmt.Sprintf("p_%d.0001.heap", cmd.Process.Pid), what)
	}
}
