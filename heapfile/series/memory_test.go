package series_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// sizeOr takes the large size in a full run.
func sizeOr(small, large int) int {
	if testutil.Full() {
		return large
	}
	return small
}

// endless generates a snapshot of any size from 4,000 stacks, without holding it.
type endless struct {
	left  int
	row   int
	chunk bytes.Buffer
}

func newEndless(size int) *endless {
	e := &endless{left: size}
	e.chunk.WriteString("heap profile: 1: 1 [1: 1] @ heap_v2/524288\n")
	return e
}

func (e *endless) Read(p []byte) (int, error) {
	for e.chunk.Len() == 0 {
		if e.left <= 0 {
			return 0, io.EOF
		}
		for range 100 {
			fmt.Fprintf(&e.chunk, "     1:     4096 [     1:     4096] @")
			for k := range 24 {
				fmt.Fprintf(&e.chunk, " 0x%012x", 0x7f0000000000+e.row%4000*4096+k*16)
			}
			e.chunk.WriteByte('\n')
			e.row++
		}
		if e.left <= e.chunk.Len() {
			e.chunk.WriteString("\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1 /bin/x\n")
		}
		e.left -= e.chunk.Len()
	}
	return e.chunk.Read(p)
}

// peakHeap is the most heap that was in use while work ran, in bytes, sampled every few
// milliseconds.
func peakHeap(work func()) uint64 {
	runtime.GC()
	var peak atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	work()
	close(stop)
	<-done
	return peak.Load()
}

// TestMemoryIsProportionalToRows reads 2 GiB (64 MiB in a short run): 5 million rows of 4,000
// stacks. A row is 40 bytes; while the slice grows, the garbage collector lets the heap be some
// times that.
func TestMemoryIsProportionalToRows(t *testing.T) {
	testutil.NoRace(t)
	size := sizeOr(64<<20, 2<<30)
	var s *heapfile.Snapshot
	peak := peakHeap(func() {
		var err error
		s, err = heapfile.Read(newEndless(size), "endless")
		require.NoError(t, err)
	})
	require.Equal(t, 4000, s.Stacks.Len())
	require.Greater(t, s.Rows, size/500)
	require.Less(t, peak, uint64(s.Rows*40*5+48<<20), "%d rows of %d bytes", s.Rows, size)
	t.Logf("%d MiB, %d rows: %d MiB of heap at most", size>>20, s.Rows, peak>>20)
}

// TestMemoryOfADirectoryIsProportionalToStacks: 10,000 files (300 in a short run) are
// streamed.
func TestMemoryOfADirectoryIsProportionalToStacks(t *testing.T) {
	files := sizeOr(300, 10000)
	dir := t.TempDir()
	var rows strings.Builder
	for i := range 500 {
		fmt.Fprintf(&rows, "     1:     4096 [     1:     4096] @ 0x%012x 0x7f0000000001\n", 0x7f0000000000+i*64)
	}
	for i := range files {
		text := fmt.Sprintf("heap profile: 500: 2048000 [500: %d] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1 /bin/x\n", 2048000+i, rows.String())
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%05d.heap", i+1)), []byte(text), 0o600))
	}
	var s *series.Series
	seen := 0
	peak := peakHeap(func() {
		var err error
		s, err = series.Open([]string{dir}, series.Options{Visit: func(snap *series.Snapshot) error {
			seen += len(snap.Samples)
			return nil
		}})
		require.NoError(t, err)
	})
	defer s.Close()
	require.Len(t, s.Heads, files)
	require.Equal(t, 500*files, seen)
	require.Less(t, peak, uint64(24<<20+files*4096), "a head is a few hundred bytes")
	t.Logf("%d files, %d rows: %d MiB of heap at most", files, seen, peak>>20)
}
