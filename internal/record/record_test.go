//go:build linux

package record

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

func snap(at time.Duration, inuse, alloc int64) *snapshot {
	return &snapshot{Snapshot: written.Snapshot{Time: time.Unix(0, 0).Add(at), InuseBytes: inuse, AllocBytes: alloc}}
}

func TestTriggersOfTcmalloc(t *testing.T) {
	o := &Options{Every: time.Second, EveryAlloc: 1000, EveryInuse: 100}
	before := snap(0, 50, 5000)
	for _, c := range []struct {
		what string
		s    *snapshot
		want string
	}{
		{"bytes allocated take precedence", snap(1, 500, 6000), written.TriggerAllocated},
		{"a new maximum of the bytes in use", snap(1, 161, 5999), written.TriggerHighWater},
		{"below the interval", snap(1, 160, 5999), written.TriggerTime},
	} {
		assert.Equal(t, c.want, tcmalloc{}.trigger(o, c.s, before, 60), c.what)
	}
	assert.Equal(t, written.TriggerManual, tcmalloc{}.trigger(&Options{Signal: "USR2"}, snap(1, 1, 1), nil, 0))
	assert.Equal(t, written.TriggerExit, tcmalloc{}.trigger(&Options{}, snap(1, 1, 1), nil, 0))
}

func TestTeardownStart(t *testing.T) {
	second := time.Second
	series := func(inuse ...int64) (out []*snapshot) {
		for i, v := range inuse {
			out = append(out, snap(time.Duration(i)*second, v, 0))
		}
		return out
	}
	for _, c := range []struct {
		what   string
		series []*snapshot
		from   int
	}{
		{"one snapshot before that of the exit", series(10, 20, 30, 40, 50, 5, 4), 5},
		{"only the snapshot of the exit", series(10, 20, 30, 40, 50, 60, 4), 6},
		{"a constant heap", series(10, 20, 30, 40, 50, 60, 60), 7},
		{"a small decrease", series(10, 20, 30, 40, 50, 45, 40), 7},
		{"one snapshot", series(10), 1},
	} {
		assert.Equal(t, c.from, teardownStart(c.series), c.what)
	}
}

func TestLog2(t *testing.T) {
	for v, want := range map[int64]int{
		0: 0, 1: 0, 2: 1, 3: 2, 512 << 10: 19, 500_000: 19, 1 << 30: 30, 700 << 10: 19, 800 << 10: 20,
	} {
		assert.Equal(t, want, log2(v), v)
	}
}

func TestFindResolvesScripts(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
		return path
	}
	write("inner", "#!/bin/sh\n")
	for text, want := range map[string]string{
		"#!/bin/sh\n":                             "/bin/sh",
		"#! /bin/sh -e\n":                         "/bin/sh",
		"#!/usr/bin/env sh\n":                     "sh",
		"#!/usr/bin/env -S A=1 sh -x\n":           "sh",
		"#!/usr/bin/env inner\n":                  "sh",
		"echo a text without an interpreter $1\n": "sh",
	} {
		target, err := program.Find([]string{write("script", text)}, env)
		require.NoError(t, err, text)
		wantExe, err := exec.LookPath(want)
		require.NoError(t, err)
		assert.Equal(t, filepath.Base(wantExe), filepath.Base(target.Exe), text)
		assert.NotEmpty(t, target.Interpreter, text)
		assert.Equal(t, strings.HasPrefix(text, "echo"), target.Shell, text)
	}
	loop := write("loop", "#!"+filepath.Join(dir, "loop")+"\n")
	_, err := program.Find([]string{loop}, env)
	require.ErrorContains(t, err, "too many levels of script interpreters")
}

// FuzzNotes checks that a build ID is not longer than the notes.
func FuzzNotes(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00GNU\x00"))
	f.Fuzz(func(t *testing.T, note []byte) {
		id := proc.GnuBuildID(note, binary.LittleEndian)
		require.LessOrEqual(t, len(id), 2*len(note))
	})
}

// TestAgentIsBuiltFromItsSource builds the agents with the same compiler and compares them with the
// embedded files.
func TestAgentIsBuiltFromItsSource(t *testing.T) {
	testutil.SameBuild(t, "agent/build.sh", map[string][]byte{
		"agent-x86_64.so": agent.For(elf.EM_X86_64), "agent-aarch64.so": agent.For(elf.EM_AARCH64),
	}, "make agent")
}

// TestAgentImportsNoLibrary checks that the agent can be loaded with any C library.
func TestAgentImportsNoLibrary(t *testing.T) {
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		f, err := elf.NewFile(bytes.NewReader(agent.For(machine)))
		require.NoError(t, err)
		assert.Equal(t, machine, f.Machine)
		libs, err := f.ImportedLibraries()
		require.NoError(t, err)
		assert.Empty(t, libs)
		symbols, err := f.DynamicSymbols()
		require.NoError(t, err)
		var defined []string
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF {
				defined = append(defined, s.Name)
			}
		}
		slices.Sort(defined)
		want := []string{"__sysv_signal", "bsd_signal", "pipe2", "sigaction", "signal", "sigset", "ssignal", "sysv_signal"}
		assert.Equal(t, want, defined, "symbols that the program sees")
		for _, p := range f.Progs {
			assert.False(t, p.Type == elf.PT_GNU_STACK && p.Flags&elf.PF_X != 0, "an executable stack")
			assert.False(t, p.Type == elf.PT_LOAD && p.Flags&(elf.PF_X|elf.PF_W) == elf.PF_X|elf.PF_W)
		}
	}
}

// TestWrappersOfAgent compares the lists of wrappers in agent.c and target.go.
func TestWrappersOfAgent(t *testing.T) {
	source, err := os.ReadFile("agent/src/agent.c")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)wrappers\[\] = \{\n(.*?)\n\};`).FindSubmatch(source)
	require.NotNil(t, list)
	var names []string
	for _, name := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(name[1]))
	}
	assert.Equal(t, program.Wrappers, names)
}

func TestSettingsKeepTheProgramsOwn(t *testing.T) {
	p := &Plan{
		Options: Options{
			Env:   []string{"A=1", "LD_PRELOAD=/own.so", "MALLOC_CONF=narenas:1"},
			Every: time.Second,
		},
		Library: Library{Path: "/lib/x.so"}, engine: jemalloc{}, agent: true, agentPath: "/d/agent.so",
	}
	p.Settings = p.settings("/d/p")
	env := p.Environment()
	assert.Equal(t, "A=1", env[0])
	assert.Equal(t, "LD_PRELOAD=/lib/x.so:/d/agent.so:/own.so", env[1])
	assert.Regexp(t, `^MALLOC_CONF=narenas:1,prof:true,.*prof_prefix:/d/p,`, env[2])
	assert.Equal(t, "HEAPLAPSE_RECORD=1000 0 0 0000000 /d/p", env[3])
	assert.Equal(t, []string{"A=1", "LD_PRELOAD=/own.so", "MALLOC_CONF=narenas:1"}, p.Env,
		"Environment does not change Env")
}

func TestEnginesRefuseUnsupportedOptions(t *testing.T) {
	for _, c := range []struct {
		engine engine
		o      Options
		agent  bool
		says   string // with the words of an option without a flag
	}{
		{jemalloc{}, Options{Signal: "USR2"}, true, "the signal: "},
		{jemalloc{}, Options{EveryInuse: 1}, true, "the interval of bytes in use: "},
		{jemalloc{}, Options{EveryAlloc: 1, Every: 1}, true, "the interval of allocated bytes with the interval: "},
		{jemalloc{}, Options{Every: 1}, false, "no timer"},
		{jemalloc{}, Options{Every: 1}, true, ""},
		{jemalloc{}, Options{EveryAlloc: 1}, false, ""},
		{tcmalloc{}, Options{SamplePeriod: 1}, true, "the sample period: "},
		{tcmalloc{}, Options{Signal: "USR2", Every: 1, EveryAlloc: 1, EveryInuse: 1}, false, ""},
	} {
		err := c.engine.refuse(&c.o, c.agent)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
}

// TestImagesOfOneProcess checks that a new process image begins when the address of the program
// changes.
func TestImagesOfOneProcess(t *testing.T) {
	c := newTestCollector(t)
	add := func(pid, seq int, base string) {
		dir := c.dir
		name := fmt.Sprintf("p_%d.%04d.heap", pid, seq)
		text := fmt.Sprintf("heap profile: 1: 1 [1: 1] @ heapprofile\n\nMAPPED_LIBRARIES:\n%s-fff r-xp 0 00:00 1 /bin/prog\n", base)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		c.take(name, true)
		c.take(name, true) // a second event for the same file
	}
	pid := 1 << 29 // no process has this number
	c.root = pid
	for i, base := range []string{"a000", "a000", "b000", "b000", "b000"} {
		add(pid, i+1, base)
	}
	require.Len(t, c.procs[pid].images, 2)
	assert.Len(t, c.procs[pid].images[0].series, 2)
	assert.Len(t, c.procs[pid].images[1].series, 3)
	add(pid+1, 1, "a000")
	assert.False(t, c.procs[pid+1].recorded, "a child")
	assert.NoFileExists(t, filepath.Join(c.dir, fmt.Sprintf("p_%d.0001.heap", pid+1)))
}

// TestAWeekOfSnapshots takes a snapshot every 30 s for a week, which makes 20,000. The collector
// keeps the limit, spaces the snapshots evenly and records the removed ones. Its memory does not
// grow.
func TestAWeekOfSnapshots(t *testing.T) {
	t.Parallel()
	const n, keep, pid = 20_000, 50, 1 << 29 // no process has this number
	c := newTestCollector(t)
	c.plan.Keep, c.root = keep, pid
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		name := fmt.Sprintf("p_%d.%04d.heap", pid, i+1)
		path := filepath.Join(c.dir, name)
		text := fmt.Sprintf("heap profile: 1: %d [1: %d] @ heapprofile\n1: %d [1: %d] @ 0x1\n\n"+
			"MAPPED_LIBRARIES:\na000-fff000 r-xp 0 00:00 1 /bin/prog\n", i, i, i, i)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		at := start.Add(time.Duration(i) * 30 * time.Second)
		require.NoError(t, os.Chtimes(path, at, at))
		c.take(name, true)
		require.LessOrEqual(t, len(c.procs[pid].images[0].series), keep)
		require.LessOrEqual(t, len(c.seen), keep)
	}
	s, err := series.Open([]string{c.dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Len(t, s.Heads, keep)
	assert.Equal(t, n-keep, s.Thinned())
	assert.Equal(t, 1, s.Heads[0].File.Seq)
	assert.Equal(t, n, s.Heads[keep-1].File.Seq)
	for i := 1; i < keep; i++ {
		assert.LessOrEqual(t, s.Heads[i].File.Seq-s.Heads[i-1].File.Seq, 2*n/(keep-1)+1)
	}
	for _, w := range s.Warnings {
		assert.NotEqual(t, heapfile.WarnMissing, w.Kind, w.Msg)
	}
}

func newTestCollector(t *testing.T) *collector {
	t.Helper()
	dir := t.TempDir()
	p := &Plan{
		Options: Options{Dir: dir, Every: time.Second}, engine: tcmalloc{}, prefix: filepath.Join(dir, "p"),
	}
	out, err := p.prepareDir()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, out.Close()) })
	return newCollector(p, out)
}

// TestDefaultNamesAreUnique: recordings of one program that are prepared in the same second have
// the same default name.
func TestDefaultNamesAreUnique(t *testing.T) {
	t.Chdir(t.TempDir())
	var dirs []string
	plan := func() *Plan {
		p := &Plan{Target: program.Target{Path: "/bin/prog"}, engine: tcmalloc{}}
		require.NoError(t, p.chooseDir())
		p.dirName, p.Dir = "same", "same"
		p.prefix = filepath.Join(filepath.Dir(filepath.Dir(p.prefix)), "same", "prog")
		p.setSettings()
		return p
	}
	plans := []*Plan{plan(), plan(), plan()}
	for _, p := range plans {
		require.NoError(t, p.MakeDir())
		require.NoError(t, p.MakeDir(), "a second call does nothing")
		require.DirExists(t, p.Dir)
		require.Contains(t, p.Settings, Setting{"HEAPPROFILE", p.prefix})
		abs, err := filepath.Abs(p.Dir)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(abs, "prog"), p.prefix)
		dirs = append(dirs, p.Dir)
	}
	require.Equal(t, []string{"same", "same-2", "same-3"}, dirs)
}
