//go:build linux && amd64

package attach

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// cluster is a running PostgreSQL server.
type cluster struct {
	bin, dir   string // the programs; the data directory, in which its socket is
	credential *syscall.Credential
	server     *exec.Cmd
}

// startPostgres starts PostgreSQL with the tables of pgbench.
func startPostgres(t *testing.T) *cluster {
	t.Helper()
	const debian = "/usr/lib/postgresql/*/bin/pgbench"
	programs, err := filepath.Glob(debian)
	require.NoError(t, err)
	if len(programs) == 0 {
		programs = []string{testutil.Need(t, "pgbench")}
	}
	dir, err := os.MkdirTemp("", "postgres") // t.TempDir is not open for other users
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &cluster{bin: filepath.Dir(programs[len(programs)-1]), dir: dir}
	if os.Getuid() == 0 { // the server does not run as root
		c.credential = credentialOf(t, "nobody")
		require.NoError(t, os.Chown(dir, int(c.credential.Uid), int(c.credential.Gid)))
	}
	c.run(t, "initdb", "-D", dir, "-U", "bench", "-A", "trust", "--no-sync")
	c.server = c.command("postgres", "-D", dir, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "synchronous_commit=off")
	require.NoError(t, c.server.Start())
	t.Cleanup(func() { _ = c.server.Process.Kill() })
	require.Eventually(t, func() bool {
		return c.command("psql", "-h", dir, "-U", "bench", "-c", "select 1", "postgres").Run() == nil
	}, time.Minute, 100*time.Millisecond)
	c.run(t, "pgbench", "-q", "-i", "-s", "2", "-h", dir, "-U", "bench", "postgres")
	return c
}

func credentialOf(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (c *cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	if c.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.credential}
	}
	return cmd
}

func (c *cluster) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := c.command(program, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// query returns the result of a query, without a heading.
func (c *cluster) query(t *testing.T, sql string) string {
	t.Helper()
	return strings.TrimSpace(c.run(t, "psql", "-h", c.dir, "-U", "bench", "-At", "-c", sql, "postgres"))
}

// backends returns the processes that serve clients.
func (c *cluster) backends() (list []int) {
	for _, pid := range proc.Descendants(c.server.Process.Pid) {
		b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if strings.Contains(string(b), "[local]") {
			list = append(list, pid)
		}
	}
	return list
}

// TestCyclesOfPostgres attaches to the processes that serve pgbench, one after the other. In the end
// the balances must agree with the history, and no client may have failed.
func TestCyclesOfPostgres(t *testing.T) {
	if !full() {
		t.Skip("set HEAPLAPSE_FULL=1: it needs PostgreSQL with pgbench")
	}
	c := startPostgres(t)
	const clients = 4
	load := c.command("pgbench", "-n", "-c", strconv.Itoa(clients), "-T", "36000", "-h", c.dir, "-U", "bench", "postgres")
	var output strings.Builder
	load.Stdout, load.Stderr = &output, &output
	require.NoError(t, load.Start())
	var backends []int
	require.Eventually(t, func() bool {
		backends = c.backends()
		return len(backends) == clients
	}, time.Minute, 10*time.Millisecond)
	for i := range cycles() {
		s := attachTo(t, backends[i%clients], settings(t.TempDir(), 16384, 0))
		time.Sleep(5 * time.Millisecond)
		sum, err := s.Stop()
		require.NoError(t, err)
		assert.Zero(t, sum.Left)
		assert.False(t, sum.PythonLeft)
		for _, name := range s.snapshots(t) {
			require.NoError(t, os.Remove(name))
		}
	}
	assert.Equal(t, backends, c.backends(), "a process has ended")
	require.NoError(t, load.Process.Signal(unix.SIGTERM))
	_ = load.Wait()
	assert.NotContains(t, output.String(), "aborted")
	assert.NotContains(t, output.String(), "error")
	require.Eventually(t, func() bool { return len(c.backends()) == 0 }, time.Minute, 10*time.Millisecond)
	sums := strings.Split(c.query(t, "select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) "+
		"from pgbench_tellers), (select sum(bbalance) from pgbench_branches), sum(delta), count(*) from pgbench_history"), "|")
	t.Logf("%s transactions", sums[4])
	for _, sum := range sums[1:4] {
		assert.Equal(t, sums[0], sum)
	}
	require.NoError(t, c.server.Process.Signal(unix.SIGINT)) // end the transactions, and stop
	require.NoError(t, c.server.Wait())
}
