package symbolize

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/stretchr/testify/require"
)

// slimFiles are copies of what was used, and of nothing else.
type slimFiles struct {
	used map[string]UsedFile
	copy map[string]string
	got  []Fetch
}

func slim(t testing.TB, used *Used) *slimFiles {
	t.Helper()
	s := &slimFiles{map[string]UsedFile{}, map[string]string{}, used.Fetches()}
	dir := t.TempDir()
	for i, f := range used.Files() {
		s.used[f.Path] = f
		if f.Err == nil {
			s.copy[f.Path] = filepath.Join(dir, strconv.Itoa(i))
			copyParts(t, s.copy[f.Path], f)
		}
	}
	for i, path := range used.PerfMaps() {
		if _, err := os.Stat(path); err == nil {
			s.copy[path] = filepath.Join(dir, "map"+strconv.Itoa(i))
			copyFile(t, path, s.copy[path])
		}
	}
	return s
}

func copyParts(t testing.TB, to string, f UsedFile) {
	t.Helper()
	whole, err := os.ReadFile(f.Path)
	require.NoError(t, err)
	parts := make([]byte, f.Size)
	for _, r := range f.Parts {
		copy(parts[r.Offset:], whole[r.Offset:r.Offset+r.Size])
	}
	require.NoError(t, os.WriteFile(to, parts, 0o600))
	require.NoError(t, os.Chtimes(to, f.ModTime, f.ModTime))
}

func (s *slimFiles) Find(path string) (string, error) {
	if local, ok := s.copy[path]; ok {
		return local, nil
	}
	if f, ok := s.used[path]; ok {
		return "", f.Err
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (s *slimFiles) CRC(path string) (uint32, error) {
	if f, ok := s.used[path]; ok && f.CRC != nil {
		return *f.CRC, nil
	}
	return 0, fs.ErrNotExist
}

func (s *slimFiles) Fetched(buildID, kind string) string {
	for _, f := range s.got {
		if f.BuildID == buildID && f.Kind == kind {
			return f.Path
		}
	}
	return ""
}

// TestUsedPartsSuffice: for every way to store debug information, what was read of the files gives the same answers as the files.
func TestUsedPartsSuffice(t *testing.T) {
	for _, e := range encodings {
		t.Run(e.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "program")
			e.make(t, standard(t).main, to)
			requireUsedSuffices(t, to, standard(t).main, Options{})
		})
	}
	t.Run("split", func(t *testing.T) {
		p := compile(t, "g++", []string{"-O2", "-gdwarf-5", "-gsplit-dwarf"}, nil)
		requireUsedSuffices(t, p.main, p.main, Options{})
		run(t, p.dir, "llvm-dwp", "-e", "program", "-o", "program.dwp")
		requireUsedSuffices(t, p.main, p.main, Options{})
	})
	t.Run("MiniDebugInfo", func(t *testing.T) {
		to := copied(t, standard(t).main)
		addMiniDebugInfo(t, to)
		requireUsedSuffices(t, to, standard(t).main, Options{})
	})
	t.Run("debuginfod", func(t *testing.T) {
		path, debug, _, _ := strippedProgram(t)
		url, _ := server(t, has(map[string]string{"/buildid/" + debuginfodID + "/debuginfo": debug}))
		requireUsedSuffices(t, path, path, Options{Debuginfod: &Debuginfod{URLs: []string{url}, Dir: t.TempDir(), Timeout: time.Minute}})
	})
	t.Run("stale", func(t *testing.T) {
		path := standard(t).main
		calls := callsOf(t, path)
		for i := range calls {
			calls[i].returns++
		}
		requireSameFromSlim(t, seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base)), Options{})
	})
	t.Run("unreadable", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(to, []byte("not an ELF file"), 0o600))
		requireUsedSuffices(t, to, standard(t).main, Options{})
	})
}

// requireUsedSuffices resolves the calls of a file, as they are in another.
func requireUsedSuffices(t *testing.T, path, plain string, o Options) {
	t.Helper()
	calls := append(callsOf(t, plain), call{returns: stubAddresses(t, plain)[0] + 5})
	requireSameFromSlim(t, seriesOf(t, mapsOf(t, plain, path, base), loadedAt(calls, base)), o)
}

// requireSameFromSlim resolves with the files, then with the parts of them that were used.
func requireSameFromSlim(t *testing.T, series *series.Series, o Options) {
	t.Helper()
	var used Used
	recording := o
	recording.Used = &used
	want := resolve(t, series, recording)
	o.Files, o.Debuginfod = slim(t, &used), nil
	got := resolve(t, series, o)
	requireSame(t, want.Locations, got.Locations)
	require.Equal(t, want.Modules, got.Modules)
	require.Equal(t, want.Warnings, got.Warnings)
}

// TestUsedPartsAreFew: neither code nor data is used, but the bytes before return addresses.
func TestUsedPartsAreFew(t *testing.T) {
	path := standard(t).main
	var used Used
	resolve(t, seriesOf(t, mapsOf(t, path, path, base), loadedAt(callsOf(t, path)[:10], base)), Options{Used: &used})
	require.Len(t, used.Files(), 1)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	text := file.Section(".text")
	inText := uint64(0)
	for _, r := range used.Files()[0].Parts {
		if r.Offset >= text.Offset && r.Offset < text.Offset+text.Size {
			inText += r.Size
		}
	}
	require.NotZero(t, inText)
	require.LessOrEqual(t, inText, uint64(10*7))
}
