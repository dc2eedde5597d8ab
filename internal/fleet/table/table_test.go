package table_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const night = "2026-11-22"

// exported is a run of a host with n sites, whose bytes are those of version.
func exported(host, n, version int) *rows.Exported {
	name := fmt.Sprintf("web-%d", host)
	e := &rows.Exported{Run: rows.Run{
		Night: night, RunID: name + "-1-abc", Service: "shop", Host: name, Sites: int64(n),
		Labels: map[string]string{"canary": "yes", "az": "b", "cpu": "arm", "zone": "", "kernel": "6.1"},
	}}
	for i := range n {
		slope := int64(1000 * i)
		s := rows.Site{
			Night: night, RunID: e.Run.RunID, Service: "shop", Host: name, SiteKey: int64(100 - i), KeyKind: "function",
			Function: fmt.Sprintf("f%d", i), Label: "stable", Now: int64(version*1000 + i), Confidence: 0.25,
		}
		if i%2 == 0 {
			s.Slope = &slope
		}
		e.Sites = append(e.Sites, s)
	}
	return e
}

func put(t *testing.T, dir string, e *rows.Exported) table.Written {
	t.Helper()
	w, err := table.WriteRun(dir, e)
	require.NoError(t, err)
	return w
}

// sites are the rows that a query of the night reads.
func sites(t *testing.T, dir string) (out []rows.Site) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "sites", "night=*", "*.parquet"))
	require.NoError(t, err)
	for _, f := range files {
		list, err := parquet.ReadFile[rows.Site](f)
		require.NoError(t, err)
		out = append(out, list...)
	}
	return out
}

func sorted(list []rows.Site) []rows.Site {
	slices.SortFunc(list, func(a, b rows.Site) int {
		return strings.Compare(fmt.Sprint(a.Service, a.SiteKey+1000, a.Host), fmt.Sprint(b.Service, b.SiteKey+1000, b.Host))
	})
	return list
}

func compact(t *testing.T, dir string) (out []table.Compaction) {
	t.Helper()
	require.NoError(t, table.Compact(dir, func(c table.Compaction) error {
		out = append(out, c)
		return nil
	}))
	return out
}

// TestRowsAreReadAsWritten: also labels, and values that are not known.
func TestRowsAreReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	e := exported(1, 5, 1)
	w := put(t, dir, e)
	require.Equal(t, filepath.Join(dir, "runs", "night="+night, "web-1-1-abc.parquet"), w.Path)
	require.Equal(t, e.Sites, sites(t, dir))
	runs, err := parquet.ReadFile[rows.Run](w.Path)
	require.NoError(t, err)
	require.Equal(t, []rows.Run{e.Run}, runs)
}

// TestSameRowsSameBytes: an export that is repeated overwrites its file with the same bytes.
func TestSameRowsSameBytes(t *testing.T) {
	dir := t.TempDir()
	w := put(t, dir, exported(1, 50, 1))
	first, err := os.ReadFile(w.Path)
	require.NoError(t, err)
	for range 20 { // the order of labels in a Go map is random
		put(t, dir, exported(1, 50, 1))
		again, err := os.ReadFile(w.Path)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	files, err := os.ReadDir(filepath.Dir(w.Path))
	require.NoError(t, err)
	require.Len(t, files, 1)
}

// TestCompaction: a night has the same rows before and after, in one sorted file, whatever the order
// in which they came.
func TestCompaction(t *testing.T) {
	var contents [2][]byte
	for order := range 2 {
		dir := t.TempDir()
		for i := range 30 {
			if order == 1 {
				i = 29 - i
			}
			put(t, dir, exported(i, 20, 1))
		}
		if order == 1 {
			compact(t, dir)
		}
		before := sorted(sites(t, dir))
		done := compact(t, dir)
		if order == 0 {
			require.Len(t, done, 2, "sites and runs")
			require.Equal(t, 30, done[0].Files)
			require.EqualValues(t, 600, done[0].Rows)
			require.EqualValues(t, 30, done[1].Rows)
		} else {
			require.Empty(t, done, "nothing is left to do")
		}
		after := sites(t, dir)
		require.Equal(t, before, after, "sorted by service, site and host")
		files, err := filepath.Glob(filepath.Join(dir, "*", "night="+night, "*"))
		require.NoError(t, err)
		require.Len(t, files, 2)
		contents[order], err = os.ReadFile(filepath.Join(dir, "sites", "night="+night, "all.parquet"))
		require.NoError(t, err)
	}
	require.Equal(t, contents[0], contents[1])
}

// TestRunsAfterCompaction: later runs are added, and a run that is exported again replaces its rows. Until
// then no row counts twice.
func TestRunsAfterCompaction(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, exported(1, 3, 1))
	put(t, dir, exported(2, 3, 1))
	compact(t, dir)
	require.False(t, put(t, dir, exported(3, 3, 1)).Compacted)
	require.True(t, put(t, dir, exported(2, 3, 7)).Compacted)
	require.Len(t, sites(t, dir), 9)

	compact(t, dir)
	all := sites(t, dir)
	require.Len(t, all, 9)
	for _, s := range all {
		want := int64(1)
		if s.Host == "web-2" {
			want = 7
		}
		require.Equal(t, want, s.Now/1000, s.Host)
	}
}

// TestKilledCompaction: whatever a killed compaction leaves, no row is lost or doubled.
func TestKilledCompaction(t *testing.T) {
	folder := func(dir string) (done, scratch string) {
		return filepath.Join(dir, "sites", "night="+night), filepath.Join(dir, "sites", ".night="+night+".compacting")
	}
	for name, kill := range map[string]func(t *testing.T, dir string){
		"while it sorts": func(t *testing.T, dir string) {
			_, scratch := folder(dir)
			require.NoError(t, os.MkdirAll(scratch, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(scratch, ".part0"), []byte("half"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(scratch, "all.parquet"), []byte("half"), 0o644))
		},
		"after the exchange": func(t *testing.T, dir string) {
			n, scratch := folder(dir)
			old := t.TempDir()
			require.NoError(t, os.CopyFS(old, os.DirFS(n)))
			compact(t, dir)
			require.NoError(t, os.CopyFS(scratch, os.DirFS(old)))
		},
		"between two renames": func(t *testing.T, dir string) {
			n, scratch := folder(dir)
			require.NoError(t, os.MkdirAll(scratch, 0o755))
			require.NoError(t, os.Rename(n, scratch+".old"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range 5 {
				put(t, dir, exported(i, 4, 1))
			}
			before := sorted(sites(t, dir))
			kill(t, dir)
			compact(t, dir)
			require.Equal(t, before, sites(t, dir))
			entries, err := os.ReadDir(filepath.Join(dir, "sites"))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing is left over")
		})
	}
}

// TestRunsThatComeDuringACompaction: they are kept.
func TestRunsThatComeDuringACompaction(t *testing.T) {
	compactions := 3
	if testutil.Full() {
		compactions = 10
	}
	runs := 12 * compactions
	dir := t.TempDir()
	for i := range runs / 3 {
		put(t, dir, exported(i, 20, 1))
	}
	done, errs := make(chan bool), make([]error, runs)
	go func() {
		defer close(done)
		for i := runs / 3; i < runs; i++ {
			_, errs[i] = table.WriteRun(dir, exported(i, 20, 1))
		}
	}()
	for range compactions {
		compact(t, dir)
	}
	<-done
	require.NoError(t, errors.Join(errs...))
	compact(t, dir)
	require.Len(t, sites(t, dir), runs*20)
}

// TestDamagedFiles: an error names the file, and the night stays as it was.
func TestDamagedFiles(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "text": "no Parquet", "only its end": "PAR1\x00\x00\x00\x00PAR1",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, exported(1, 3, 1))
			bad := filepath.Join(dir, "sites", "night="+night, "bad.parquet")
			require.NoError(t, os.WriteFile(bad, []byte(content), 0o644))
			err := table.Compact(dir, func(table.Compaction) error { return nil })
			require.ErrorContains(t, err, bad)
			require.NoError(t, os.Remove(bad))
			require.Len(t, sites(t, dir), 3)
		})
	}
}

func TestFilesOfOtherSchemas(t *testing.T) {
	dir := t.TempDir()
	w := put(t, dir, exported(1, 3, 1))
	other := filepath.Join(dir, "sites", "night="+night, "run.parquet")
	require.NoError(t, os.Rename(w.Path, other))
	err := table.Compact(dir, func(table.Compaction) error { return nil })
	require.ErrorContains(t, err, `has the schema "heaplapse.fleet.runs/1", want heaplapse.fleet.sites/1`)
}

// olderSite is a row of the table sites as heaplapse 0.1 wrote it: without the line and what follows the call paths.
type olderSite struct {
	Night      string  `parquet:"night,dict"`
	RunID      string  `parquet:"run_id,dict"`
	Service    string  `parquet:"service,dict"`
	Host       string  `parquet:"host,dict"`
	BuildID    string  `parquet:"build_id,dict"`
	SiteKey    int64   `parquet:"site_key,dict"`
	KeyKind    string  `parquet:"key_kind,dict"`
	PathKey    int64   `parquet:"path_key,dict"`
	Function   string  `parquet:"function,dict"`
	Module     string  `parquet:"module,dict"`
	File       string  `parquet:"file,dict"`
	Label      string  `parquet:"label,dict"`
	Confidence float64 `parquet:"confidence,dict"`
	Gained     int64   `parquet:"gained"`
	Slope      *int64  `parquet:"slope,optional"`
	SlopeError *int64  `parquet:"slope_error,optional"`
	Sigma      int64   `parquet:"sigma"`
	Level      int64   `parquet:"level"`
	Now        int64   `parquet:"now"`
	Objects    int64   `parquet:"objects"`
	Noise      int64   `parquet:"noise"`
	CallPaths  int64   `parquet:"call_paths"`
}

// TestFilesOfOlderVersions: rows without a column that was added since are compacted with others. A file
// without a column that all versions have is refused.
func TestFilesOfOlderVersions(t *testing.T) {
	dir := t.TempDir()
	e := exported(1, 3, 1)
	line := int64(9)
	for i := range e.Sites {
		e.Sites[i].Line = &line
	}
	put(t, dir, e)
	old := olderSite{Night: night, RunID: "web-2", Service: "shop", Host: "web-2", SiteKey: 1, File: "app.py", Now: 4096, CallPaths: 2}
	path := filepath.Join(dir, "sites", "night="+night, "web-2.parquet")
	id := parquet.KeyValueMetadata("heaplapse.schema", "heaplapse.fleet.sites/1")
	require.NoError(t, parquet.WriteFile(path, []olderSite{old}, id))
	compact(t, dir)
	all := sites(t, dir)
	require.Len(t, all, 4)
	for _, s := range all {
		if s.Host != "web-2" {
			require.Equal(t, line, *s.Line)
			continue
		}
		require.Equal(t, rows.Site{
			Night: night, RunID: "web-2", Service: "shop", Host: "web-2", SiteKey: 1, File: "app.py", Now: 4096, CallPaths: 2,
		}, s)
	}

	require.NoError(t, parquet.WriteFile(path, []struct {
		Night string `parquet:"night,dict"`
	}{{night}}, id))
	err := table.Compact(dir, func(table.Compaction) error { return nil })
	require.ErrorContains(t, err, "its columns differ from those of its schema")
}

func TestNothingToCompact(t *testing.T) {
	require.ErrorContains(t, table.Compact(t.TempDir(), nil), "no tables of a fleet")
}

// FuzzDamagedFile changes bytes of a file: compaction gives an error that names it, or takes it.
func FuzzDamagedFile(f *testing.F) {
	f.Add(uint(10), byte(1), uint(0))
	f.Add(uint(700), byte(255), uint(3))
	f.Add(uint(4), byte(80), uint(600))
	f.Fuzz(func(t *testing.T, at uint, change byte, cut uint) {
		dir := t.TempDir()
		put(t, dir, exported(1, 3, 1))
		path := filepath.Join(dir, "sites", "night="+night, "web-1-1-abc.parquet")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		content[at%uint(len(content))] ^= change
		content = content[:uint(len(content))-cut%uint(len(content))]
		require.NoError(t, os.WriteFile(path, content, 0o644))
		put(t, dir, exported(2, 3, 1))
		if err := table.Compact(dir, func(table.Compaction) error { return nil }); err != nil {
			require.ErrorContains(t, err, path)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, content, kept)
		}
	})
}
