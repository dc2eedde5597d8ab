package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata/script")

func TestMain(m *testing.M) {
	commands := map[string]func(){"heaplapse": main}
	addLauncher(commands)
	testscript.Main(foreground{m}, commands)
}

// foreground makes signals end the programs that the tests start.
type foreground struct{ testscript.TestingM }

func (f foreground) Run() int {
	defer func() { _ = os.RemoveAll(sharedDir()) }()
	testutil.Foreground(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	return f.TestingM.Run()
}

// sharedDir returns a directory for what several tests use, such as the programs that they record.
var sharedDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "heaplapse-tests")
	if err != nil {
		panic(err)
	}
	return dir
})

// once calls f for the first caller with a key, and returns its error to all of them.
func once(key string, f func() error) error {
	result, _ := onces.LoadOrStore(key, sync.OnceValue(f))
	return result.(func() error)()
}

var onces sync.Map

// built returns the path of a program in the shared directory. The command that ends with the path
// builds it, for the first test that needs it.
func built(t *testing.T, name, compiler string, args ...string) string {
	t.Helper()
	testutil.Need(t, compiler)
	path := filepath.Join(sharedDir(), name)
	require.NoError(t, once(path, func() error { return command(".", compiler, append(args, "-o", path)...) }))
	return path
}

// TestScripts runs the scripts in testdata/script. $DATA is the directory testdata of the module.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs(testutil.Data(t))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("GORACE", os.Getenv("GORACE")) // options of the race detector
			return nil
		},
	})
}

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run runs the program within the test.
func run(ctx context.Context, args []string, s streams) int {
	return (&app{Console: console.Console{In: s.in, Out: s.out, Err: s.err}}).run(ctx, args)
}

// invoke runs the program within the test.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var out, errs bytes.Buffer
	code = run(context.Background(), args, streams{in: bytes.NewReader(nil), out: &out, err: &errs})
	return out.String(), errs.String(), code
}
