package symbolize

import (
	"context"
	"debug/elf"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// slimFiles is a Source with only the parts of files that were read.
type slimFiles struct {
	used    map[string]files.Used
	copies  map[string]string
	fetches []files.Fetch
}

// slim copies the parts of files that were read.
func slim(t testing.TB, recorder *files.Recorder, recording *files.Recording) *slimFiles {
	t.Helper()
	s := &slimFiles{map[string]files.Used{}, map[string]string{}, recorder.Fetches()}
	dir := t.TempDir()
	for i, f := range recorder.Files() {
		s.used[f.Path] = f
		if f.Err == nil {
			s.copies[f.Path] = filepath.Join(dir, strconv.Itoa(i))
			copyParts(t, s.copies[f.Path], f)
		}
	}
	for i, path := range recording.Maps() {
		if _, err := os.Stat(path); err == nil {
			s.copies[path] = filepath.Join(dir, "map"+strconv.Itoa(i))
			copyFile(t, path, s.copies[path])
		}
	}
	return s
}

// copyParts writes a file with only the parts that were read.
func copyParts(t testing.TB, to string, f files.Used) {
	t.Helper()
	whole, err := os.ReadFile(f.Local)
	require.NoError(t, err)
	parts := make([]byte, f.Size)
	for _, r := range f.Parts {
		copy(parts[r.Offset:], whole[r.Offset:r.Offset+r.Size])
	}
	require.NoError(t, os.WriteFile(to, parts, 0o600))
	require.NoError(t, os.Chtimes(to, f.ModTime, f.ModTime))
}

func (s *slimFiles) find(path string) (string, error) {
	if local, ok := s.copies[path]; ok {
		return local, nil
	}
	if f, ok := s.used[path]; ok {
		return "", f.Err
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (s *slimFiles) Open(path string) (*elffile.File, error) {
	local, err := s.find(path)
	if err != nil {
		return nil, err
	}
	return elffile.OpenAs(path, local)
}

func (s *slimFiles) CRC(path string) (uint32, error) {
	if f, ok := s.used[path]; ok && f.CRC != nil {
		return *f.CRC, nil
	}
	return 0, fs.ErrNotExist
}

func (s *slimFiles) Fetch(_ context.Context, buildID, kind string) *elffile.File {
	for _, f := range s.fetches {
		if f.BuildID == buildID && f.Kind == kind {
			file, _ := s.Open(f.Path)
			return file
		}
	}
	return nil
}

func (s *slimFiles) InDir(string, string) *elffile.File { return nil }

func (s *slimFiles) OpenMap(path string, _ []int) (io.ReadCloser, error) {
	local, err := s.find(path)
	if err != nil {
		return nil, err
	}
	return os.Open(local)
}

// TestUsedPartsSuffice checks that the parts of files that were read give the same answers as the
// whole files, for each way to store debug information.
func TestUsedPartsSuffice(t *testing.T) {
	testutil.NoRace(t)
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
	t.Run("vdso", func(t *testing.T) {
		line, start, image := ownVDSO(t)
		series := seriesOf(t, []string{strings.TrimSpace(line)}, []uint64{start + exportOf(t, image).Value + 2})
		require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), manifest.VDSOFile), image, 0o600))
		require.True(t, resolve(t, series, Options{}).Locations[0].Named())
		requireSameFromSlim(t, series, Options{})
	})
	t.Run("unreadable", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(to, []byte("not an ELF file"), 0o600))
		requireUsedSuffices(t, to, standard(t).main, Options{})
	})
}

// requireUsedSuffices resolves the calls of the file plain, of which path is another encoding.
func requireUsedSuffices(t *testing.T, path, plain string, o Options) {
	t.Helper()
	calls := append(callsOf(t, plain), call{returns: stubAddresses(t, plain)[0] + 5})
	requireSameFromSlim(t, seriesOf(t, mapsOf(t, plain, path, base), loadedAt(calls, base)), o)
}

// requireSameFromSlim resolves with the files and then with the parts that were read, and compares.
func requireSameFromSlim(t *testing.T, series *series.Series, o Options) {
	t.Helper()
	var recorder files.Recorder
	recording := recorder.Record(o.source(filepath.Join(series.Dir(), manifest.VDSOFile)))
	recorded := o
	recorded.Files = recording
	want := resolve(t, series, recorded)
	o.Files, o.Debuginfod = slim(t, &recorder, recording), nil
	got := resolve(t, series, o)
	requireSame(t, want.Locations, got.Locations)
	require.Equal(t, want.Modules, got.Modules)
	require.Equal(t, want.Warnings, got.Warnings)
}

// TestUsedPartsAreFew checks that neither code nor data is read, except for the bytes before return
// addresses.
func TestUsedPartsAreFew(t *testing.T) {
	path := standard(t).main
	var recorder files.Recorder
	resolve(t, seriesOf(t, mapsOf(t, path, path, base), loadedAt(callsOf(t, path)[:10], base)),
		Options{Files: recorder.Record(files.Host{})})
	used := recorder.Files()
	require.Len(t, used, 1)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	text := file.Section(".text")
	inText := uint64(0)
	for _, r := range used[0].Parts {
		if r.Offset >= text.Offset && r.Offset < text.Offset+text.Size {
			inText += r.Size
		}
	}
	require.NotZero(t, inText)
	require.LessOrEqual(t, inText, uint64(10*7))
}
