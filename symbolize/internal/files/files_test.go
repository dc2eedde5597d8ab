package files

import (
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of package symbolize check Search, and that the recorded parts of files give the same
// names.

func program(t *testing.T) string { return testutil.Data(t, "leaky/sysroot/opt/leaky/bin/leaky") }

func TestHost(t *testing.T) {
	text := filepath.Join(t.TempDir(), "perf-1.map")
	require.NoError(t, os.WriteFile(text, []byte("1000 10 f\n"), 0o600))
	host := Host{VDSO: program(t)}
	sum, err := host.CRC(text)
	require.NoError(t, err)
	require.Equal(t, crc32.ChecksumIEEE([]byte("1000 10 f\n")), sum)
	m, err := host.OpenMap(text, nil)
	require.NoError(t, err)
	content, err := io.ReadAll(m)
	require.NoError(t, errors.Join(err, m.Close()))
	require.Equal(t, "1000 10 f\n", string(content))
	require.Nil(t, host.Fetch(t.Context(), "abcdef", "debuginfo"), "no debuginfod client")

	file, err := host.Open(VDSO)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, VDSO, file.Path)
	require.Equal(t, program(t), file.Local)
	for _, missing := range []Host{{}, {VDSO: text + ".missing"}} {
		_, err = missing.Open(VDSO)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err = host.CRC(t.TempDir())
	require.Error(t, err, "a directory")
}

// TestRecorder checks which files are recorded, and that several sources can share a recorder.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	text, other := filepath.Join(dir, "text"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(text, []byte("not an ELF file"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("another checksum"), 0o600))
	var recorder Recorder
	var wg sync.WaitGroup
	for range 4 {
		recording := recorder.Record(Host{VDSO: program(t)})
		wg.Go(func() {
			_, _ = recording.Open(text)
			_, _ = recording.Open(text + ".missing")
			_, _ = recording.Open(text + "/below a debug file")
			_, _ = recording.CRC(program(t))
			_, _ = recording.CRC(other)
			for _, path := range []string{program(t), VDSO} {
				if file, err := recording.Open(path); err == nil {
					_, _ = file.Section(".shstrtab")
					file.Close()
				}
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(program(t))
	require.NoError(t, err)
	used := map[string]Used{}
	for _, u := range recorder.Files() {
		used[u.Path] = u
	}
	require.Len(t, used, 3, "neither missing files nor files whose checksum alone was read")
	require.ErrorContains(t, used[text].Err, "not a readable ELF file")
	require.Empty(t, used[text].Parts)
	require.NotNil(t, used[program(t)].CRC)
	require.Nil(t, used[VDSO].CRC)
	for _, path := range []string{program(t), VDSO} {
		u := used[path]
		require.Equal(t, program(t), u.Local)
		require.Equal(t, info.Size(), u.Size)
		require.Zero(t, u.Parts[0].Offset, "the header")
		read := uint64(0)
		for i, p := range u.Parts {
			read += p.Size
			require.True(t, i == 0 || p.Offset > u.Parts[i-1].Offset+u.Parts[i-1].Size, "sorted and disjoint")
		}
		require.Less(t, read, uint64(u.Size))
	}
	require.Empty(t, recorder.Fetches())
}

// TestRecordingMaps checks that the requested maps are recorded per source, in their order, missing
// ones included.
func TestRecordingMaps(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o600))
	var recorder Recorder
	first, second := recorder.Record(Host{}), recorder.Record(Host{})
	for _, name := range []string{"c", "b"} {
		if m, err := first.OpenMap(filepath.Join(dir, name), nil); err == nil {
			require.NoError(t, m.Close())
		}
	}
	require.Equal(t, []string{filepath.Join(dir, "c"), filepath.Join(dir, "b")}, first.Maps())
	require.NoError(t, os.Symlink("b", filepath.Join(dir, "link")))
	_, err := second.OpenMap(filepath.Join(dir, "link"), []int{os.Geteuid()})
	require.ErrorContains(t, err, "link: is a symbolic link")
	require.Empty(t, second.Maps())
	require.Empty(t, recorder.Files(), "maps are kept whole")
}
