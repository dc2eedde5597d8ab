//go:build linux

package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

func TestSettingsKeepTheProgramsOwn(t *testing.T) {
	p := &Plan{
		Options: Options{
			Env:   []string{"A=1", "LD_PRELOAD=/own.so", "MALLOC_CONF=narenas:1"},
			Every: time.Second,
		},
		Library: Library{Path: "/lib/x.so"}, engine: jemalloc{}, adapter: "/d/adapter.so",
	}
	p.Settings = p.settings()
	env := p.Environment()
	assert.Equal(t, "A=1", env[0])
	assert.Equal(t, "LD_PRELOAD=/lib/x.so:/d/adapter.so:/own.so", env[1])
	assert.Regexp(t, `^MALLOC_CONF=narenas:1,prof:true,.*prof_prefix:/dev/null/heaplapse,`, env[2])
	assert.Regexp(t, `^HEAPLAPSE_ENGINE=period=0 every=1000 part=0 .* main=0000000 program=0{32}$`, env[3])
	assert.Equal(t, []string{"A=1", "LD_PRELOAD=/own.so", "MALLOC_CONF=narenas:1"}, p.Env,
		"Environment does not change Env")
}

// TestDefaultNamesAreUnique: recordings of one program that are prepared in the same second have
// the same default name.
func TestDefaultNamesAreUnique(t *testing.T) {
	t.Chdir(t.TempDir())
	var dirs []string
	plan := func() *Plan {
		p := &Plan{Target: program.Target{Path: "/bin/prog"}, engine: tcmalloc{}}
		require.NoError(t, p.chooseDir())
		p.freeName, p.Dir = func() string { return outdir.Fresh("same") }, "same"
		p.prefix = filepath.Join(filepath.Dir(filepath.Dir(p.prefix)), "same", "prog")
		p.setSettings()
		return p
	}
	plans := []*Plan{plan(), plan(), plan()}
	for _, p := range plans {
		require.NoError(t, p.MakeDir())
		require.NoError(t, p.MakeDir(), "a second call does nothing")
		require.DirExists(t, p.Dir)
		abs, err := filepath.Abs(p.Dir)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(abs, "prog"), p.prefix)
		dirs = append(dirs, p.Dir)
	}
	require.Equal(t, []string{"same", "same-2", "same-3"}, dirs)
}

// TestAFailedBeginningLeavesNoManifest: another recording can use the directory.
func TestAFailedBeginningLeavesNoManifest(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, manifest.VDSOFile, "x") // the copy of the vDSO cannot replace a directory
	require.NoError(t, os.MkdirAll(blocked, 0o700))
	p := &Plan{prefix: filepath.Join(dir, "p"), engine: tcmalloc{}}
	_, err := p.prepareDir()
	require.ErrorContains(t, err, manifest.VDSOFile)
	require.NoFileExists(t, filepath.Join(dir, manifest.Name))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, manifest.VDSOFile)))
	out, err := p.prepareDir()
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// TestDirectoryThatDoesNotAnswer: the program can run, and what is done later is undone.
func TestDirectoryThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p, answer, undone := &Plan{Options: Options{Dir: "there"}}, make(chan struct{}), make(chan struct{})
	err := p.within(func() { close(undone) }, func() error { return nil }, func() error { <-answer; return nil })
	require.ErrorContains(t, err, "there: the file system has not answered for 2s")
	require.True(t, CanRun(err))
	require.False(t, CanExec(err), "exec waits for the other threads")
	close(answer)
	<-undone
}
