//go:build linux

package written

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/filename"
)

// TestParseNameAgreesWithSeries compares with the function that readers of snapshots use.
func TestParseNameAgreesWithSeries(t *testing.T) {
	for _, name := range []string{
		"prog_4711.0001.heap", "prog_4711.12345.heap", "prog.0003.heap",
		"prog.4711.0.i0.heap", "prog.4711.12.f.heap", "prog.4711.3.u2.heap",
	} {
		n, ok := ParseName(name, "prog")
		require.True(t, ok, name)
		want := filename.Parse(name)
		assert.Equal(t, want.PID, n.PID, name)
		assert.Equal(t, want.Seq, n.Seq, name)
		assert.Equal(t, want.Jemalloc, n.Kind != 0, name)
	}
	for _, name := range []string{
		"prog.heap", "prog_.0001.heap", "other_1.0001.heap", "prog_4711.0001.heap.gz", "prog2_1.0001.heap",
		"prog_x.1.heap", "prog.1.2.3.4.heap",
	} {
		_, ok := ParseName(name, "prog")
		assert.False(t, ok, name)
	}
}

// FuzzSnapshot checks that ReadSnapshot returns either ErrIncomplete or a list of distinct paths.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte("heap profile:    1:   10 [  2:   30] @ heapprofile\n     1: 10 [2: 30] @ 0x1\n\nMAPPED_LIBRARIES:\n1000-2000 r-xp 00000000 00:00 1 /bin/a b (deleted)\n"))
	f.Add([]byte("heap_v2/524288\n  t*: 1: 2 [3: 4]\n\nMAPPED_LIBRARIES:\n"))
	path := filepath.Join(f.TempDir(), "p_1.0001.heap")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		s, err := ReadSnapshot(path, Name{})
		if err != nil {
			require.Nil(t, s)
			require.ErrorIs(t, err, ErrIncomplete)
			return
		}
		seen := map[string]bool{}
		for _, m := range s.Maps {
			require.False(t, seen[m])
			seen[m] = true
		}
	})
}

func TestReadSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p_1.0001.heap")
	rows := strings.Repeat("     1:     10 [     1:     10] @ 0x1 0x2\n", 20_000) // larger than the first window
	text := "heap profile:    123:   456789 [   234:   567890] @ heapprofile\n" + rows + "\nMAPPED_LIBRARIES:\n" +
		"1000-2000 r--p 00000000 00:00 1 /bin/my prog\n2000-3000 r-xp 00001000 00:00 1 /bin/my prog\n" +
		"3000-4000 rw-p 00000000 00:00 0 \n5000-6000 r-xp 0 00:00 2 /lib/l.so (deleted)\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := ReadSnapshot(path, Name{})
	require.NoError(t, err)
	assert.Equal(t, int64(456789), s.InuseBytes)
	assert.Equal(t, int64(567890), s.AllocBytes)
	assert.Equal(t, []string{"/bin/my prog", "/lib/l.so (deleted)"}, s.Maps)
	assert.Equal(t, "/bin/my prog", s.Exe())
	assert.Equal(t, "1000 /bin/my prog", s.Base)

	require.NoError(t, os.WriteFile(path, []byte(text[:len(text)/2]), 0o600))
	_, err = ReadSnapshot(path, Name{})
	require.ErrorIs(t, err, ErrIncomplete)
}

// TestReadSnapshotOfPipe: a pipe with the name of a snapshot would block the recorder.
func TestReadSnapshotOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p_1.0001.heap")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := ReadSnapshot(path, Name{})
	require.ErrorContains(t, err, "not a regular file")
}
