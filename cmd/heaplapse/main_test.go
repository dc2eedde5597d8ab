package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
	testutil.Foreground(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	return f.TestingM.Run()
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
