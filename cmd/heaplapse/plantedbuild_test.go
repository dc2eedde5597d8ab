package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// planted is a build of the shop in testdata/planted, and what the gate must say of its nights.
type planted struct {
	name string
	// what has changed, in words.
	what string
	// patch in testdata/planted/variants, without its suffix; "" for none.
	patch    string
	compiler string // "" for g++
	flags    []string
	night    int // of the drift
	// status is what the gate must make of the function: regressed fails it, which no other build
	// does.
	status   string
	function string
}

// plantedNights is how long the drift goes on.
const plantedNights = 10

// plantedBuilds are what a year of nights may bring.
var plantedBuilds = []planted{
	{name: "unchanged", what: "nothing"},
	{name: "compiler", what: "clang instead of gcc", compiler: "clang++"},
	{name: "optimisation", what: "-O3 instead of -O2", flags: []string{"-O3"}},
	{name: "debug", what: "-O0 instead of -O2", flags: []string{"-O0"}},
	{name: "lines-moved", what: "lines moved, in most files", patch: "lines-moved"},
	{name: "renamed", what: "the hot function renamed", patch: "renamed"},
	{name: "split", what: "the hot function split in two", patch: "split"},
	{name: "inlined", what: "a caller inlined", patch: "inlined"},
	{name: "template", what: "a template argument changed", patch: "template"},
	{name: "moved-files", what: "the hot function moved to another file", patch: "moved-files"},
	{name: "hot-5-percent", what: "5 % more in the hot function", patch: "hot-5-percent", status: "changed", function: "shop::Catalog::load"},
	{name: "hot-50-percent", what: "50 % more in the hot function", patch: "hot-50-percent", status: "regressed", function: "shop::Catalog::load"},
	{name: "new-leak", what: "a new leak", patch: "new-leak", status: "regressed", function: "shop::Sessions::audit"},
}

// drifted is the shop after so many nights, on each of which its catalog grew by 3 %.
func drifted(night int) planted {
	return planted{name: fmt.Sprintf("drift-%d", night), patch: "drift", night: night}
}

// workshop builds and records the shop in a directory. Objects are kept by what they are made from.
type workshop struct {
	dir     string
	data    string // sources and patches
	mu      sync.Mutex
	objects map[string]string
}

// sharedWorkshop is the workshop of all tests: they record the same builds.
var sharedWorkshop = sync.OnceValue(func() *workshop {
	return &workshop{dir: filepath.Join(sharedDir(), "planted"), data: "../../testdata/planted", objects: map[string]string{}}
})

// useWorkshop returns the shared workshop to a test that needs its tools.
func useWorkshop(t *testing.T) *workshop {
	t.Helper()
	testutil.Linux(t)
	for _, tool := range []string{"g++", "clang++", "git"} {
		testutil.Need(t, tool)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // names of a build are looked up once
	return sharedWorkshop()
}

// heaplapse runs the command within the test.
func (w *workshop) heaplapse(args ...string) (stdout, stderr string, status int) {
	var out, errs strings.Builder
	status = run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
	return out.String(), errs.String(), status
}

// save keeps a run as a baseline and returns its file.
func (w *workshop) save(t *testing.T, snapshots string) string {
	t.Helper()
	out, stderr, status := w.heaplapse("baseline", "save", t.TempDir(), snapshots)
	require.Equal(t, exitOK, status, stderr)
	return strings.TrimSpace(out)
}

// buildAll builds several, as many at once as there are processors, and returns the programs.
func (w *workshop) buildAll(t *testing.T, builds []planted) map[string]string {
	t.Helper()
	var group sync.WaitGroup
	free, programs, errs := make(chan bool, runtime.NumCPU()), make([]string, len(builds)), make([]error, len(builds))
	programs[0], errs[0] = w.build(builds[0]) // the others share most of its objects
	for i := range builds[1:] {
		i++
		group.Add(1)
		free <- true
		go func() {
			defer group.Done()
			programs[i], errs[i] = w.build(builds[i])
			<-free
		}()
	}
	group.Wait()
	out := map[string]string{}
	for i, b := range builds {
		require.NoError(t, errs[i], b.name)
		out[b.name] = programs[i]
	}
	return out
}

// build makes a program of the sources as the variant has them, unless another test has made it.
func (w *workshop) build(b planted) (program string, err error) {
	src := filepath.Join(w.dir, b.name)
	program = filepath.Join(src, "shopd")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.CopyFS(src, os.DirFS(filepath.Join(w.data, "src"))); err != nil {
		return "", err
	}
	if b.patch != "" {
		patch, err := filepath.Abs(filepath.Join(w.data, "variants", b.patch+".patch"))
		if err != nil {
			return "", err
		}
		if err := command(src, "git", "apply", "-p1", patch); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(src, "night.h"), fmt.Appendf(nil, "#define SHOP_NIGHT %d\n", b.night), 0o644); err != nil {
		return "", err
	}
	sources, err := filepath.Glob(filepath.Join(src, "*.cc"))
	if err != nil {
		return "", err
	}
	args := []string{"-o", program}
	for _, s := range sources {
		object, err := w.compile(b, src, filepath.Base(s))
		if err != nil {
			return "", err
		}
		args = append(args, object)
	}
	return program, command(src, b.driver(), args...)
}

func (b *planted) driver() string {
	if b.compiler != "" {
		return b.compiler
	}
	return "g++"
}

// compile makes an object, unless there is one of the same source, headers and flags.
func (w *workshop) compile(b planted, src, file string) (string, error) {
	args := append([]string{"-std=c++17", "-O2", "-g", "-ffile-prefix-map=" + src + "=/src/shop"}, b.flags...)
	key, err := w.key(b, src, file)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	object, ok := w.objects[key]
	w.mu.Unlock()
	if ok {
		return object, nil
	}
	object = filepath.Join(src, file+".o")
	if err := command(src, b.driver(), append(args, "-c", filepath.Join(src, file), "-o", object)...); err != nil {
		return "", err
	}
	w.mu.Lock()
	w.objects[key] = object
	w.mu.Unlock()
	return object, nil
}

// key is all that an object depends on: compiler, flags, the source and the headers that it
// includes.
func (w *workshop) key(b planted, src, file string) (string, error) {
	texts := map[string]string{}
	if err := include(src, file, texts); err != nil {
		return "", err
	}
	return fmt.Sprint(b.driver(), b.flags, file, texts), nil
}

var included = regexp.MustCompile(`(?m)^#include "(.*)"`)

// include adds a file, and what it includes, to texts.
func include(src, file string, texts map[string]string) error {
	if _, ok := texts[file]; ok {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(src, file))
	if err != nil {
		return err
	}
	texts[file] = string(text)
	for _, m := range included.FindAllStringSubmatch(texts[file], -1) {
		if err := include(src, m[1], texts); err != nil {
			return err
		}
	}
	return nil
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// firstNight is when the shop was first recorded.
var firstNight = time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC)

// allocator is what a program is recorded under.
type allocator struct {
	library string
	// env makes its snapshots go to a prefix, when the program asks for them only.
	env func(prefix string) string
	// dumps is a pattern for the snapshots that the program asked for, in the order of their times.
	dumps string
}

var (
	tcmalloc = allocator{"libtcmalloc.so.4", func(prefix string) string { return "HEAPPROFILE=" + prefix }, "*.heap"}
	// One sample in 16 KiB: the rows of the shop are then known to some percent.
	jemalloc = allocator{"libjemalloc.so.2", func(prefix string) string {
		return "MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:14,prof_prefix:" + prefix
	}, "*.m*.heap"}
)

// record runs a program with a seed and returns the directory of its snapshots. A run takes a fifth
// of a second; its snapshots are given times a minute apart, as those of a real night have, so that
// nothing depends on this machine's speed.
func (w *workshop) record(t *testing.T, a allocator, program string, night, seed int) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(program, fmt.Sprint(seed))
	cmd.Env = []string{"LD_PRELOAD=" + testutil.NeedFile(t, "/usr/lib/*/"+a.library), a.env(filepath.Join(dir, "shopd")), "HEAP_PROFILE_ALLOCATION_INTERVAL=0", "HEAP_PROFILE_INUSE_INTERVAL=0"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	dumps, err := filepath.Glob(filepath.Join(dir, a.dumps))
	require.NoError(t, err)
	require.Len(t, dumps, 12, "one snapshot for each burst: %s", out)
	for _, d := range dumps {
		at := firstNight.AddDate(0, 0, night).Add(time.Duration(sequence(t, d)) * time.Minute)
		require.NoError(t, os.Chtimes(d, at, at))
	}
	return dir
}

// sequence is the number of a snapshot: shopd.0012.heap, shopd.4711.11.m11.heap.
func sequence(t *testing.T, dump string) int {
	t.Helper()
	fields := strings.Split(filepath.Base(dump), ".")
	n, err := strconv.Atoi(strings.TrimPrefix(fields[len(fields)-2], "m"))
	require.NoError(t, err)
	return n
}
