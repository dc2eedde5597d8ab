package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/testutil/faults"
)

// addLauncher adds the command that runs heaplapse under faults.
func addLauncher(commands map[string]func()) { commands[faults.Command] = faults.Exec }

// faulted is a command whose file operations fail one by one. Its directory has
//
//	in      the series and its binaries
//	rec     a recording by heaptrack, and a report of memcheck
//	out     what the command writes
//	tmp     TMPDIR
//	cache   XDG_CACHE_HOME
//
// In args, $D is the directory.
type faulted struct {
	name  string
	args  string
	setup []string // commands that run first, without faults
	// listsProblems means that what is wrong with the input is a part of the result.
	listsProblems bool
	// copies means that inputs are copied into the output: an input that was replaced before it was
	// copied is in the output as it is.
	copies bool
}

var faultedCommands = []faulted{
	{name: "growth", args: "growth $D/in --sysroot $D/in/root --no-cache"},
	{name: "info", args: "info $D/in --no-cache", listsProblems: true},
	{name: "convert", args: "convert $D/in -o $D/out --sysroot $D/in/root --no-cache"},
	{name: "convert over old files", args: "convert $D/in -o $D/out --sysroot $D/in/root --no-cache",
		setup: []string{"convert $D/in -o $D/out --no-cache"}},
	{name: "convert merged", args: "convert $D/in --merge -o $D/out/all.pb.gz --sysroot $D/in/root --no-cache"},
	{name: "report", args: "report $D/in -o $D/out/r.html --sysroot $D/in/root --no-cache"},
	{name: "baseline", args: "baseline save $D/out $D/in --sysroot $D/in/root --no-cache"},
	{name: "prune", args: "baseline prune $D/out --keep 1", setup: []string{
		"baseline save $D/out $D/in --label run=1 --no-cache", "baseline save $D/out $D/in --label run=2 --no-cache",
	}},
	{name: "bundle", args: "bundle $D/in -o $D/out/b.tar.zst --sysroot $D/in/root", copies: true},
	{name: "from a bundle", args: "report $D/base/b.tar.zst -o $D/out/r.html --no-cache", setup: []string{
		"bundle $D/in -o $D/base/b.tar.zst --sysroot $D/in/root",
	}},
	{name: "gate", args: "gate --baseline $D/base --current $D/in --json $D/out/g.json --markdown $D/out/g.md " +
		"--junit $D/out/g.xml --sarif $D/out/g.sarif --pprof $D/out/g.pb.gz --sysroot $D/in/root --no-cache",
		setup: []string{"baseline save $D/base $D/in --sysroot $D/in/root --no-cache"}},
	{name: "fleet export", args: "fleet export $D/in -o $D/out --service s --host h --sysroot $D/in/root --no-cache"},
	{name: "recording", args: "report $D/rec -o $D/out/r.html --no-cache"},
	{name: "evidence", args: "growth $D/in --evidence $D/rec/memcheck.xml --sysroot $D/in/root --no-cache"},
	{name: "cache", args: "growth $D/in --sysroot $D/in/root"},
	{name: "cached", args: "growth $D/in --sysroot $D/in/root", setup: []string{"growth $D/in --sysroot $D/in/root"}},
}

// TestFaults lets each file operation of each command fail, be short, or find that a file has
// changed. Whatever happens, outputs are whole or not there, nothing is left over, and a result that
// is not the full one comes with a message that names a file.
//
// It takes a sample of the operations; `make faults` takes all of them.
func TestFaults(t *testing.T) {
	testutil.NoRace(t)
	for _, c := range faultedCommands {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newFaultTest(t, c).all()
		})
	}
}

// fault is what happens to one call.
type fault struct {
	name   string
	errno  unix.Errno
	short  bool
	change func(path string) error // changes an input before the call
}

// failures are the errors of each kind of call.
var failures = map[string][]fault{
	"open":     {{name: "EACCES", errno: unix.EACCES}, {name: "EMFILE", errno: unix.EMFILE}},
	"read":     {{name: "EIO", errno: unix.EIO}, {name: "short", short: true}},
	"write":    {{name: "ENOSPC", errno: unix.ENOSPC}, {name: "short", short: true}},
	"copy":     {{name: "ENOSPC", errno: unix.ENOSPC}},
	"map":      {{name: "ENOMEM", errno: unix.ENOMEM}},
	"close":    {{name: "EIO", errno: unix.EIO}},
	"sync":     {{name: "EIO", errno: unix.EIO}},
	"resize":   {{name: "ENOSPC", errno: unix.ENOSPC}},
	"stat":     {{name: "EIO", errno: unix.EIO}},
	"readlink": {{name: "EIO", errno: unix.EIO}},
	"list":     {{name: "EIO", errno: unix.EIO}},
	"rename":   {{name: "ENOSPC", errno: unix.ENOSPC}},
	"link":     {{name: "ENOSPC", errno: unix.ENOSPC}},
	"remove":   {{name: "EACCES", errno: unix.EACCES}},
	"mkdir":    {{name: "ENOSPC", errno: unix.ENOSPC}},
	"chmod":    {{name: "EPERM", errno: unix.EPERM}},
	"lock":     {{name: "ENOLCK", errno: unix.ENOLCK}},
}

// changes are what other processes do to an input meanwhile.
var changes = []fault{
	{name: "truncated", change: func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
	{name: "removed", change: os.Remove},
	{name: "replaced", change: func(path string) error { // a snapshot by one with more stacks
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		row := "     9:     9000 [     9:     9000] @ 0x00000777 0x00000778\n\nMAPPED_LIBRARIES:"
		content = bytes.Replace(content, []byte("\nMAPPED_LIBRARIES:"), []byte(row), 1)
		if err := os.WriteFile(path+".new", content, 0o644); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}},
}

// faultTest tries the faults of one command.
type faultTest struct {
	*testing.T
	faulted
	dir     string
	initial map[string]string // the files before the command: content by path below dir
	clean   *outcome
}

// outcome is what one run of a command leaves.
type outcome struct {
	status         int
	stdout, stderr string
	files          map[string]string // content by path below the directory
	calls          []faults.Call
	hit            int // index of the call with the fault, or -1
}

func newFaultTest(t *testing.T, c faulted) *faultTest {
	f := &faultTest{T: t, faulted: c, dir: filepath.Join(t.TempDir(), "d")}
	f.setUp()
	f.initial = f.files()
	f.clean = f.run(place{}, fault{})
	require.NotEqual(t, 2, f.clean.status, f.clean.stderr)
	require.Greater(t, len(f.clean.calls), 5)
	again := f.run(place{}, fault{})
	require.Equal(t, f.clean.stdout, again.stdout)
	require.Equal(t, f.clean.files, again.files, "outputs are reproducible")
	return f
}

// setUp makes the files that the command finds.
func (f *faultTest) setUp() {
	for i := range 5 {
		name := fmt.Sprintf("leaky.%04d.heap", 4+i)
		testutil.WriteFile(f, filepath.Join(f.dir, "in", name), unpacked(f, testutil.Data(f, "leaky", name+".gz")), 0o644)
	}
	require.NoError(f, os.CopyFS(filepath.Join(f.dir, "in/root"), os.DirFS(testutil.Data(f, "leaky/sysroot"))))
	for name, path := range map[string]string{
		"heaptrack.shop.7.zst": "traces/heaptrack.shop.zst", "memcheck.xml": "evidence/memcheck.xml",
	} {
		content, err := os.ReadFile(testutil.Data(f, path))
		require.NoError(f, err)
		testutil.WriteFile(f, filepath.Join(f.dir, "rec", name), string(content), 0o644)
	}
	f.makeDirs()
	f.setTimes()
	for _, line := range f.setup {
		out, err := f.command(line).CombinedOutput()
		require.NotEqual(f, 2, exitStatus(err), string(out))
	}
}

func (f *faultTest) makeDirs() {
	for _, name := range []string{"in", "rec", "base", "out", "tmp", "cache"} {
		require.NoError(f, os.MkdirAll(filepath.Join(f.dir, name), 0o755))
	}
}

// restore puts the directory into its initial state. Snapshots have fixed times.
func (f *faultTest) restore() {
	require.NoError(f, os.RemoveAll(f.dir))
	for path, content := range f.initial {
		testutil.WriteFile(f, filepath.Join(f.dir, path), content, 0o644)
	}
	f.makeDirs()
	f.setTimes()
}

func (f *faultTest) setTimes() {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(f, filepath.WalkDir(f.dir, func(path string, _ fs.DirEntry, err error) error {
		at = at.Add(10 * time.Second) // in the order of names
		return errors.Join(err, os.Chtimes(path, at, at))
	}))
}

func (f *faultTest) command(line string) *exec.Cmd {
	args := strings.Fields(strings.ReplaceAll(line, "$D", f.dir))
	cmd := exec.Command("heaplapse", args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+f.dir+"/tmp", "XDG_CACHE_HOME="+f.dir+"/cache", "GOMAXPROCS=1")
	return cmd
}

func (f *faultTest) files() map[string]string {
	out := map[string]string{}
	require.NoError(f, filepath.WalkDir(f.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(f.dir, path)
		out[rel] = string(content)
		return err
	}))
	return out
}

// place is the nth call of one kind to one file. Goroutines make calls in varying order, so that the
// number of a call among all calls is another one in the next run.
type place struct {
	call faults.Call
	nth  int // from 1 on; 0 is no call
}

// random matches what varies in the names of temporary files.
var random = regexp.MustCompile(`\d{5,}`)

// counter counts calls.
type counter map[faults.Call]int

// next returns the place of a call.
func (n counter) next(c faults.Call) place {
	c.Path = random.ReplaceAllString(c.Path, "N")
	n[c]++
	return place{c, n[c]}
}

// places returns the place of each call.
func places(calls []faults.Call) (out []place) {
	n := counter{}
	for _, c := range calls {
		out = append(out, n.next(c))
	}
	return out
}

// run runs the command with a fault at a place, or with none.
func (f *faultTest) run(at place, how fault) *outcome {
	f.restore()
	o, reached := &outcome{hit: -1}, counter{}
	launcher, err := exec.LookPath(faults.Command)
	require.NoError(f, err)
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	cmd := f.command(f.args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	run := faults.Run{Cmd: cmd, Dirs: []string{f.dir}, Decide: func(c faults.Call) faults.Outcome {
		o.calls = append(o.calls, c)
		if reached.next(c) != at {
			return faults.Outcome{}
		}
		o.hit = len(o.calls) - 1
		if how.change != nil {
			assert.NoError(f, how.change(c.Path))
		}
		return faults.Outcome{Errno: how.errno, Short: how.short}
	}}
	err = run.Do(ctx, launcher)
	require.NoError(f, ctx.Err(), "the command does not end")
	requireReports(f, err)
	o.status = exitStatus(err)
	o.stdout, o.stderr, o.files = stdout.String(), stderr.String(), f.files()
	return o
}

// requireReports ends the test if the kernel does not report system calls: Linux before 5.19, or a
// container that forbids it.
func requireReports(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if testutil.CI() {
		t.Fatal(err)
	}
	t.Skip(err)
}

// all tries the faults of all calls, or of a sample.
func (f *faultTest) all() {
	tried, hit := 0, 0
	for n, at := range places(f.clean.calls) {
		for k, how := range f.faultsOf(f.clean.calls[n]) {
			if (n+k)%faultStep() != 0 {
				continue
			}
			tried++
			o := f.run(at, how)
			if o.hit >= 0 {
				hit++
			}
			if problem := f.judge(o, how); problem != "" {
				f.Errorf("%s, %d, %s: %s\nstatus %d\n%s", at.call, at.nth, how.name, problem, o.status, o.stderr)
			}
		}
	}
	f.Logf("%d calls, %d of %d faults happened", len(f.clean.calls), hit, tried)
	require.Greater(f, hit, tried*9/10, "few faults happened")
}

// faultStep returns the number of faults of which one is tried. HEAPLAPSE_FAULTS sets it.
func faultStep() int {
	if n, err := strconv.Atoi(os.Getenv("HEAPLAPSE_FAULTS")); err == nil && n > 0 {
		return n
	}
	if testutil.Full() {
		return 1
	}
	return 61
}

func (f *faultTest) faultsOf(c faults.Call) []fault {
	list := slices.Clone(failures[c.Name])
	rel, _ := filepath.Rel(f.dir, c.Path)
	_, isInput := f.initial[rel]
	if isInput && (c.Name == "open" || c.Name == "read" || c.Name == "map") && !strings.HasPrefix(rel, "cache/") {
		list = append(list, changes...)
	}
	return list
}

// crashed reports whether messages show a bug of the program instead of an error.
func crashed(messages string) bool { return crash.MatchString(messages) }

var crash = regexp.MustCompile(`panic|goroutine \d|fatal error|runtime error|unexpected fault`)

// judge returns what is wrong with an outcome, or "".
func (f *faultTest) judge(o *outcome, how fault) string {
	switch {
	case o.status < 0 || o.status > 2:
		return "the status is not 0, 1 or 2"
	case crashed(o.stderr):
		return "it crashed"
	}
	var hit faults.Call
	if o.hit >= 0 {
		hit = o.calls[o.hit]
	}
	if left := f.leftOver(o); left != "" && hit.Name != "remove" {
		return "left over: " + left
	}
	same := o.stdout == f.clean.stdout
	for path, content := range f.clean.files {
		if !f.mutable(path) || o.files[path] == content || (how.change != nil && filepath.Join(f.dir, path) == hit.Path) {
			continue
		}
		same = false
		if old, existed := f.initial[path]; existed == has(o.files, path) && o.files[path] == old {
			continue
		}
		if err := whole(path, o.files[path]); err != nil {
			return fmt.Sprintf("%s is not whole: %v", path, err)
		}
		if f.copies && f.hasCopies(o.files[path], o.files) {
			return ""
		}
	}
	text := o.stderr
	if f.listsProblems {
		text += o.stdout
	}
	switch {
	case same && o.status == f.clean.status:
		return ""
	case strings.Contains(o.stderr, "heaplapse-tmp"):
		return "the message names a temporary file"
	case how.change != nil && !f.opened(o.calls[:max(o.hit, 0)], hit.Path):
		return "" // the file was like that when the command came to it
	case !strings.Contains(text, f.dir):
		return "no message names a file"
	case strings.HasPrefix(hit.Path, f.dir+"/tmp/"): // its name means nothing to the user
	case o.status == f.clean.status && !strings.Contains(text, filepath.Base(hit.Path)):
		return "the result differs, and no message says so"
	}
	return ""
}

func has(files map[string]string, path string) bool {
	_, ok := files[path]
	return ok
}

// mutable reports whether the command may write a file.
func (f *faultTest) mutable(path string) bool { return strings.HasPrefix(path, "out/") }

// leftOver returns a file that no run without faults leaves.
func (f *faultTest) leftOver(o *outcome) string {
	for _, path := range slices.Sorted(maps.Keys(o.files)) {
		if has(f.clean.files, path) || has(f.initial, path) {
			continue
		}
		hidden := strings.HasPrefix(filepath.Base(path), ".")
		another := f.mutable(path) && whole(path, o.files[path]) == nil || strings.HasPrefix(path, "cache/") // of a changed input
		if hidden || !another {
			return path
		}
	}
	return ""
}

// opened reports whether a file was opened by one of the calls.
func (f *faultTest) opened(calls []faults.Call, path string) bool {
	return slices.Contains(calls, faults.Call{Name: "open", Path: path})
}

// whole returns why the content of an output is not complete, or nil.
func whole(path, content string) error {
	if strings.HasSuffix(path, ".baseline.json.gz") {
		_, err := baseline.Read(strings.NewReader(content), path)
		return err
	}
	switch ext := filepath.Ext(path); ext {
	case ".gz":
		_, err := profile.ParseData([]byte(content))
		return err
	case ".json", ".sarif":
		if !json.Valid([]byte(content)) {
			return errors.New("invalid JSON")
		}
	case ".xml":
		return ended(content, "</testsuites>")
	case ".html":
		return ended(content, "</html>")
	case ".md":
		return ended(content, "\n")
	case ".zst":
		_, err := unarchived(content)
		return err
	case ".parquet":
		_, err := parquet.OpenFile(strings.NewReader(content), int64(len(content)))
		return err
	default:
		return fmt.Errorf("unexpected output %q", ext)
	}
	return nil
}

func ended(content, end string) error {
	if !strings.HasSuffix(strings.TrimRight(content, "\n")+"\n", strings.TrimRight(end, "\n")+"\n") {
		return fmt.Errorf("it does not end with %q", end)
	}
	return nil
}

// unarchived returns the entries of a bundle.
func unarchived(content string) (map[string]string, error) {
	z, err := zstd.NewReader(strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	entries := map[string]string{}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		entries[h.Name] = string(data)
	}
}

// hasCopies reports whether each snapshot in a bundle is that of before or that of now, and each other
// file that of the run without a fault. The index differs if a file could not be looked up.
func (f *faultTest) hasCopies(content string, now map[string]string) bool {
	entries, err := unarchived(content)
	require.NoError(f, err)
	want, err := unarchived(f.clean.files["out/b.tar.zst"])
	require.NoError(f, err)
	for name, data := range want {
		path := filepath.Join("in", filepath.Base(name))
		switch got := entries[name]; {
		case filepath.Ext(name) == ".json":
		case filepath.Ext(name) == ".heap" && (got == f.initial[path] || got == now[path]):
		case got != data:
			return false
		}
	}
	return true
}
