//go:build linux && amd64

package attach

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestCyclesOfRedis attaches to redis, whose allocator is a library of its own, while a client checks
// every answer.
func TestCyclesOfRedis(t *testing.T) {
	if !full() {
		t.Skip("set HEAPLAPSE_FULL=1: it needs redis-server")
	}
	server, client := startRedis(t, func(*exec.Cmd) {})
	stop, answers := make(chan struct{}), make(chan int)
	go func() { answers <- ask(t, client, stop) }()
	for range cycles() {
		s := attachTo(t, server.Process.Pid, settings(t.TempDir(), 16384, 0))
		time.Sleep(5 * time.Millisecond)
		sum, err := s.Stop()
		require.NoError(t, err)
		assert.Zero(t, sum.Left)
	}
	close(stop)
	t.Logf("%d right answers", <-answers)
	require.NoError(t, server.Process.Signal(unix.SIGTERM))
	require.NoError(t, server.Wait())
}

// startRedis starts redis-server after prepare was called, and connects to it.
func startRedis(t *testing.T, prepare func(*exec.Cmd)) (server *exec.Cmd, client net.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "socket")
	server = exec.Command(testutil.Need(t, "redis-server"), "--port", "0", "--unixsocket", socket, "--save", "")
	prepare(server)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	require.Eventually(t, func() (ok bool) {
		var err error
		client, err = net.Dial("unix", socket)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return server, client
}

// ask sets and gets values until stop is closed, and returns the number of right answers.
func ask(t *testing.T, c net.Conn, stop <-chan struct{}) (n int) {
	r := bufio.NewReader(c)
	line := func(want string) bool {
		got, err := r.ReadString('\n')
		return assert.NoError(t, err) && assert.Equal(t, want+"\r\n", got)
	}
	for ; ; n++ {
		select {
		case <-stop:
			return n
		default:
		}
		value := fmt.Sprintf("%0*d", 10+n%2000, n)
		fmt.Fprintf(c, "SET k%d %s\r\nGET k%d\r\n", n%1000, value, n%1000)
		if !line("+OK") || !line(fmt.Sprint("$", len(value))) || !line(value) {
			return n
		}
	}
}
