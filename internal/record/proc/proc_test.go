//go:build linux

package proc

import (
	"encoding/binary"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestParseStat uses a process name with spaces and parentheses, and reads this process too.
func TestParseStat(t *testing.T) {
	parent, ticks, ok := ParseStat([]byte("4711 (a) b (c)) S 17 4711 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2\n"))
	require.True(t, ok)
	assert.Equal(t, 17, parent)
	assert.Equal(t, int64(987654), ticks)
	for _, text := range []string{"", "1", "1 (x", "1 (x) S", "1 (x) S a b c d e f g h i j k l m n o p q r s"} {
		_, _, ok := ParseStat([]byte(text))
		assert.False(t, ok, text)
	}
	self, ok := Read(os.Getpid())
	require.True(t, ok)
	assert.Equal(t, os.Getppid(), self.Parent)
	assert.WithinDuration(t, time.Now(), self.Started, time.Hour)
	exe, err := os.Executable()
	require.NoError(t, err)
	assert.Equal(t, exe, self.Exe)
	rss, pss := Memory(os.Getpid())
	require.NotNil(t, rss)
	require.NotNil(t, pss)
	assert.Greater(t, *rss, int64(1<<20))
	resident := Resident(os.Getpid())
	require.NotNil(t, resident)
	assert.InEpsilon(t, *rss, *resident, 0.5)
	assert.False(t, Catches(os.Getpid(), 0))
	assert.True(t, Catches(os.Getpid(), 23), "Go's runtime has a handler for SIGURG")
}

// TestCPU compares the clock of a process with the rusage that the kernel reports when it has ended.
func TestCPU(t *testing.T) {
	sh := testutil.Need(t, "sh")
	cmd := exec.Command(sh, "-c", `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read line`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // the loop is over
	require.NoError(t, err)
	cpu := CPU(cmd.Process.Pid)
	require.NoError(t, in.Close())
	_ = cmd.Wait() // read fails at the end of the input
	require.NotNil(t, cpu)
	assert.Positive(t, *cpu)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	assert.LessOrEqual(t, *cpu, used.Nanoseconds()+int64(10*time.Millisecond))
	assert.Nil(t, CPU(cmd.Process.Pid), "the process has ended")
}

// TestCPUAtEnd: the time of a child that has ended is that of its rusage, without the children of the child.
func TestCPUAtEnd(t *testing.T) {
	sh := testutil.Need(t, "sh")
	const busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
	for _, script := range []string{busy, "sh -c '" + busy + "'"} {
		cmd := exec.Command(sh, "-c", script+"; :")
		require.NoError(t, cmd.Start())
		cpu := CPUAtEnd(cmd.Process.Pid)
		require.NoError(t, cmd.Wait())
		require.NotNil(t, cpu)
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if script == busy {
			assert.InDelta(t, used.Nanoseconds(), *cpu, float64(10*time.Millisecond))
		} else {
			assert.Less(t, *cpu, used.Nanoseconds())
		}
		assert.Nil(t, CPUAtEnd(cmd.Process.Pid), "it is no child any more")
		assert.Nil(t, Resident(cmd.Process.Pid))
	}
}

// TestBuildID compares with readelf.
func TestBuildID(t *testing.T) {
	readelf := testutil.Need(t, "readelf")
	compared := 0
	for _, path := range []string{
		"/bin/sh", "/bin/ls", "/usr/bin/env", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6",
	} {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		out, err := exec.Command(readelf, "-n", path).Output()
		require.NoError(t, err)
		want := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(out)
		if want != nil {
			assert.Equal(t, string(want[1]), BuildID(f), path)
			compared++
		}
		f.Close()
	}
	assert.Positive(t, compared)
}

func TestUser(t *testing.T) {
	user, ok := User(os.Getpid())
	require.True(t, ok)
	require.Equal(t, os.Geteuid(), user)
	_, ok = User(1 << 29)
	require.False(t, ok, "no process has this number")
}

// FuzzNotes checks that a build ID is not longer than the notes.
func FuzzNotes(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00GNU\x00"))
	f.Fuzz(func(t *testing.T, note []byte) {
		id := GnuBuildID(note, binary.LittleEndian)
		require.LessOrEqual(t, len(id), 2*len(note))
	})
}
