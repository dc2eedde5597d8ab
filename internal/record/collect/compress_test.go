//go:build linux

package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/record/compress"
)

// compressing is a collector with a worker, and the process that writes snapshots.
type compressing struct {
	*Collector
	pid, seq int
}

func newCompressing(t *testing.T) *compressing {
	t.Helper()
	const pid = 1 << 29 // no process has this number
	c := &compressing{newTestCollector(t, Options{Root: pid}), pid, 0}
	c.Collector.compress.worker = compress.Start()
	t.Cleanup(func() { c.Collector.compress.stop() })
	return c
}

// write makes the process write a snapshot.
func (c *compressing) write(t *testing.T) string {
	t.Helper()
	c.seq++
	name := fmt.Sprintf("p_%d.%04d.heap", c.pid, c.seq)
	path := filepath.Join(c.dir, name)
	require.NoError(t, os.WriteFile(path, heapText(c.seq), 0o600))
	at := time.Unix(int64(1e9+c.seq), 0)
	require.NoError(t, os.Chtimes(path, at, at))
	c.take(name, true)
	return path
}

// settle handles the results of all snapshots that may be compressed while the program runs.
func (c *compressing) settle(t *testing.T) {
	t.Helper()
	for c.Collector.compress.current != nil {
		c.handleCompressed(<-c.Collector.compress.results())
	}
}

// files returns the numbers of the snapshots in the directory, with the end of their names.
func (c *compressing) files(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), fmt.Sprintf("p_%d.00", c.pid)); ok {
			out = append(out, rest)
		}
	}
	return strings.Join(out, " ")
}

// bytes returns the size of the snapshots in the directory.
func (c *compressing) size(t *testing.T) (size int64) {
	t.Helper()
	for _, s := range c.procs[c.pid].images[0].series {
		info, err := os.Stat(s.stored())
		require.NoError(t, err)
		size += info.Size()
	}
	return size
}

// TestCompression: the newest snapshot stays plain until the end. The manifest and the limit of the
// bytes hold for compressed snapshots.
func TestCompression(t *testing.T) {
	c := newCompressing(t)
	for range 4 {
		c.write(t)
	}
	c.settle(t)
	require.Equal(t, "01.heap.gz 02.heap.gz 03.heap.gz 04.heap", c.files(t))
	require.Equal(t, c.size(t), c.bytes)

	c.compressRest()
	require.Equal(t, "01.heap.gz 02.heap.gz 03.heap.gz 04.heap.gz", c.files(t))
	require.Equal(t, c.size(t), c.bytes)

	c.thinOut(c.procs[c.pid].last())
	require.Equal(t, "01.heap.gz 03.heap.gz 04.heap.gz", c.files(t))
	require.Equal(t, c.size(t), c.bytes)
	s, err := series.Open([]string{c.dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Len(t, s.Heads, 3)
	require.Equal(t, 1, s.Thinned())
	for _, w := range s.Warnings {
		require.NotEqual(t, heapfile.WarnMissing, w.Kind, w.Msg)
	}
	require.Empty(t, c.problems)
}

// TestCompressionOfRemovedSnapshots: a snapshot that was removed while it was being compressed, or
// before, does not come back.
func TestCompressionOfRemovedSnapshots(t *testing.T) {
	c := newCompressing(t)
	for range 5 {
		c.write(t)
	}
	result := <-c.Collector.compress.results() // of the first, which is not handled yet
	require.NoError(t, result.Err)
	img := c.procs[c.pid].last()
	img.series = img.series[1:]
	c.drop(c.Collector.compress.current, "test")
	c.thinOut(img) // the third
	c.handleCompressed(result)
	c.settle(t)
	require.Equal(t, "02.heap.gz 04.heap.gz 05.heap", c.files(t))
	require.Equal(t, c.size(t), c.bytes)
}

// TestCompressionFails: after an error the snapshots stay plain, and nothing is lost. At the end it is
// tried again, and the error is reported once.
func TestCompressionFails(t *testing.T) {
	c := newCompressing(t)
	c.write(t)
	c.write(t)
	<-c.Collector.compress.results()
	c.handleCompressed(compress.Result{Err: errors.New("no space")})
	require.NoError(t, os.Remove(filepath.Join(c.dir, fmt.Sprintf("p_%d.0001.heap.gz", c.pid))))
	c.write(t)
	require.Nil(t, c.Collector.compress.worker)
	require.Equal(t, "01.heap 02.heap 03.heap", c.files(t))

	blocked := filepath.Join(c.dir, fmt.Sprintf("p_%d.0002.heap.gz", c.pid))
	require.NoError(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o700)) // cannot be replaced
	c.compressRest()
	require.Equal(t, "01.heap.gz 02.heap 02.heap.gz 03.heap", c.files(t))
	require.Len(t, c.sortedProblems(), 1)
	require.Contains(t, c.sortedProblems()[0], c.o.Shown+": some snapshots are not compressed: ")
	require.ErrorIs(t, c.compressError(&fs.PathError{Err: fs.ErrPermission}), fs.ErrPermission)
}

// TestCompressionOfARecording: older snapshots are compressed while the program runs, and the newest one
// when it has ended. With NoCompress all stay plain.
func TestCompressionOfARecording(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s := collectWith(t, Options{NoCompress: plain}, "snap 1; snap 2; exec sleep 1000")
		s.waitFor(t, 2)
		stored := func(suffix string) []string {
			paths, err := filepath.Glob(s.o.Prefix + "_*.heap" + suffix)
			require.NoError(t, err)
			return paths
		}
		if plain {
			var worker *compress.Background
			s.do(func() { worker = s.compress.worker })
			require.Nil(t, worker)
		} else {
			require.Eventually(t, func() bool {
				return len(stored(compress.Suffix)) == 1 && len(stored("")) == 1
			}, time.Minute, poll)
			require.Contains(t, stored("")[0], ".0002.heap", "the newest")
		}
		require.NoError(t, s.cmd.Process.Kill())
		_ = s.cmd.Wait() // it was killed
		s.Stop()
		require.Equal(t, 2, s.Finish(Exit{State: s.cmd.ProcessState, Time: time.Now()}).Snapshots)
		left := map[bool]string{false: compress.Suffix, true: ""}[plain]
		require.Len(t, stored(left), 2)
		require.Len(t, stored("*"), 2, "each in one form")
	}
}
