//go:build linux && amd64

package pagemap

import (
	"errors"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// memory maps pages of this process that were not written to.
func memory(t *testing.T, pages int) (b []byte, at func(first, end uint64) blocks.Range) {
	t.Helper()
	b, err := unix.Mmap(-1, 0, pageSize*pages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if errors.Is(err, unix.ENOMEM) {
		t.Skip("this machine reserves only memory that it has (vm.overcommit_memory, ulimit -v)")
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	require.NoError(t, unix.Madvise(b, unix.MADV_NOHUGEPAGE))
	start := uint64(uintptr(unsafe.Pointer(&b[0])))
	return b, func(first, end uint64) blocks.Range {
		return blocks.Range{Start: start + first*pageSize, End: start + end*pageSize}
	}
}

func open(t *testing.T) File {
	t.Helper()
	f, err := Open(os.Getpid())
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestWritten touches some pages. The scan and the entries tell the same.
func TestWritten(t *testing.T) {
	const pages = 20000
	b, at := memory(t, pages)
	for _, i := range []int{3, 4, 8191, 8192, 19999} {
		b[i*pageSize] = 1
	}
	const guardInstall = 102 // MADV_GUARD_INSTALL, where the kernel has it
	_ = unix.Madvise(b[7*pageSize:8*pageSize], guardInstall)
	f := open(t)
	inside := blocks.Range{Start: at(3, 4).Start + 16, End: at(4, 5).Start + 16}
	for _, read := range []reader{f.Written, f.written} {
		for r, want := range map[blocks.Range][]blocks.Range{
			at(0, pages): {at(3, 5), at(8191, 8193), at(19999, 20000)}, inside: {inside}, at(10, 20): nil,
		} {
			got, err := read(r)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	}
}

// TestPresent writes to some pages, and only reads others.
func TestPresent(t *testing.T) {
	const pages = 3000
	b, at := memory(t, pages)
	var want []blocks.Range
	for i := 0; i < pages; i += 3 { // more parts than one request takes
		b[i*pageSize] = 1
		want = append(want, at(uint64(i), uint64(i)+1))
	}
	f := open(t)
	for _, read := range []reader{f.Present, f.Written} {
		got, err := read(at(0, pages))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	var zeros byte
	for i := 1; i < pages; i += 3 {
		zeros += b[i*pageSize]
	}
	require.Zero(t, zeros)
	got, err := f.scan(query{inverted: isZero, all: isPresent | isZero, wanted: isPresent}, at(0, pages), nil)
	if !isUnknown(err) {
		require.NoError(t, err)
		assert.Equal(t, want, got, "the page of zeros is not resident")
	}
}

// TestReserved: memory that a program has only reserved costs no time for each of its pages.
func TestReserved(t *testing.T) {
	f := open(t)
	if _, err := f.scan(query{any: isPresent, wanted: isPresent}, blocks.Range{}, nil); isUnknown(err) {
		t.Skip("before Linux 6.7, the entry of each page is read")
	}
	b, at := memory(t, 1<<28) // 1 TiB
	b[5*pageSize], b[len(b)-1] = 1, 1
	began := time.Now()
	got, err := f.Written(at(0, 1<<28))
	require.NoError(t, err)
	assert.Equal(t, []blocks.Range{at(5, 6), at(1<<28-1, 1<<28)}, got)
	t.Log(time.Since(began))
}

func TestNoProcess(t *testing.T) {
	_, err := Open(-1)
	require.Error(t, err)
}
