//go:build linux && amd64

package attach

import (
	"encoding/binary"
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Coverage counts the calls of malloc for a time: those that reach the allocator, and those that reach
// the engine. The processor counts them by its breakpoint registers, without stopping the process. It
// returns an error if the machine or the rights do not permit that.
func (s *Session) Coverage(d time.Duration) (c Coverage, err error) {
	b, err := s.control.read()
	if err != nil {
		return c, err
	}
	var counters counters
	defer counters.close()
	for _, th := range target.Threads(s.pid) {
		if th.Name == fileName {
			continue // it is not recorded
		}
		err := counters.open(th.ID, b.MallocOriginal, b.MallocHook, b.ReallocHook)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return c, err
		}
	}
	time.Sleep(d)
	for _, f := range counters {
		n, err := f.read()
		if err != nil {
			return c, err
		}
		if f.address == b.MallocOriginal {
			c.All += n
		} else {
			c.Seen += n
		}
	}
	// realloc may call the allocator's malloc, or not. And a call may be between the two addresses when
	// the counting begins or ends.
	c.Seen = min(c.Seen, c.All)
	return c, nil
}

// counter counts how often a thread executes the instruction at an address.
type counter struct {
	address uint64
	file    *os.File
}

type counters []counter

// open counts in a thread.
func (c *counters) open(thread int, addresses ...uint64) error {
	const breakpoint, execute, size = 5, 4, 8
	for _, address := range addresses {
		a := unix.PerfEventAttr{
			Type: breakpoint, Bp_type: execute, Ext1: address, Ext2: size,
			Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		a.Size = uint32(unsafe.Sizeof(a))
		fd, err := unix.PerfEventOpen(&a, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return os.NewSyscallError("perf_event_open", err)
		}
		*c = append(*c, counter{address, os.NewFile(uintptr(fd), "perf")})
	}
	return nil
}

func (c counter) read() (uint64, error) {
	var b [8]byte
	_, err := c.file.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (c counters) close() {
	for _, f := range c {
		f.file.Close()
	}
}
