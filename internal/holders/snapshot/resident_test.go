//go:build linux && amd64

package snapshot

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// TestResident touches some pages of a mapping of this process.
func TestResident(t *testing.T) {
	const page, pages = 4096, 20000
	b, err := unix.Mmap(-1, 0, page*pages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	require.NoError(t, unix.Madvise(b, unix.MADV_NOHUGEPAGE))
	start := uint64(uintptr(unsafe.Pointer(&b[0])))
	for _, i := range []int{3, 4, 8191, 8192, 19999} {
		b[i*page] = 1
	}
	const guardInstall = 102 // MADV_GUARD_INSTALL, where the kernel has it
	_ = unix.Madvise(b[7*page:8*page], guardInstall)
	var s Snapshot
	s.Memory.PID = os.Getpid()
	at := func(first, end uint64) blocks.Range {
		return blocks.Range{Start: start + first*page, End: start + end*page}
	}
	assert.Equal(t, []blocks.Range{at(3, 5), at(8191, 8193), at(19999, 20000)}, s.Resident(at(0, pages)))
	inside := blocks.Range{Start: start + 3*page + 16, End: start + 4*page + 16}
	assert.Equal(t, []blocks.Range{inside}, s.Resident(inside))
	assert.Empty(t, s.Resident(at(10, 20)))
	s.Memory.PID = -1
	assert.Equal(t, []blocks.Range{at(10, 20)}, s.Resident(at(10, 20)), "unknown")
}
