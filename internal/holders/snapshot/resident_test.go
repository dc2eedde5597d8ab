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

// TestResident touches a page of a mapping of this process.
func TestResident(t *testing.T) {
	const page, pages = 4096, 100
	b, err := unix.Mmap(-1, 0, page*pages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	require.NoError(t, unix.Madvise(b, unix.MADV_NOHUGEPAGE))
	b[3*page] = 1
	start := uint64(uintptr(unsafe.Pointer(&b[0])))
	all := blocks.Range{Start: start, End: start + page*pages}
	var s Snapshot
	s.Memory.PID = os.Getpid()
	assert.Equal(t, []blocks.Range{{Start: start + 3*page, End: start + 4*page}}, s.Resident(all))
	s.Memory.PID = -1
	assert.Equal(t, []blocks.Range{all}, s.Resident(all), "unknown")
}
