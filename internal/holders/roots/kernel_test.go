//go:build linux

package roots

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestEpollWords(t *testing.T) {
	const text = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t2059\n" +
		"tfd:        4 events:       19 data:     55d0c8f2a2a0  pos:0 ino:3b6 sdev:e\n" +
		"tfd:        5 events:       19 data:                5  pos:0 ino:3b7 sdev:e\n" +
		"tfd:        6 events: data:\n"
	assert.Equal(t, []uint64{0x55d0c8f2a2a0, 5}, epollWords(text))
	assert.Empty(t, epollWords("data: 5\n"))
}

func TestTimerWords(t *testing.T) {
	const text = "ID: 1\nsignal: 60/00007fff86e452a8\nnotify: signal/pid.2634\nClockID: 0\nID: 0\nsignal: x/y\n"
	assert.Equal(t, []uint64{0x7fff86e452a8}, timerWords(text))
}

func TestHasRing(t *testing.T) {
	assert.False(t, HasRing(os.Getpid()))
	var parameters [120]byte // struct io_uring_params
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	if e != 0 {
		t.Skipf("io_uring is not permitted here: %v", e)
	}
	assert.True(t, HasRing(os.Getpid()))
	require.NoError(t, unix.Close(int(fd)))
	assert.False(t, HasRing(os.Getpid()))
}
