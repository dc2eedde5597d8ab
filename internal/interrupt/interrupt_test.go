package interrupt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/interrupt"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestMain is also the program that the tests end by signals. It removes a file when it is ended.
func TestMain(m *testing.M) {
	mode, file := os.Getenv("INTERRUPT_MODE"), os.Getenv("INTERRUPT_FILE")
	if mode == "" {
		testutil.Foreground(syscall.SIGINT, syscall.SIGHUP)
		os.Exit(m.Run())
	}
	var h interrupt.Handler
	out := h.Guard(os.Stdout)
	ending := make(chan struct{})
	os.Exit(h.Supervise(func(ctx context.Context) int {
		switch mode {
		case "orderly", "stubborn":
			h.Orderly()
		case "stopped":
			h.Stop()
		}
		fmt.Println("ready")
		switch mode {
		case "done":
			return 7
		case "late":
			fmt.Fprintln(out, "early")
			<-ending
			fmt.Fprintln(out, "late")
		}
		<-ctx.Done()
		fmt.Println("canceled")
		if mode == "stubborn" {
			select {}
		}
		return 3
	}, func() {
		_ = os.Remove(file)
		close(ending)
		time.Sleep(50 * time.Millisecond) // a test that passes does not depend on it
	}))
}

// program is a running instance of the program.
type program struct {
	*exec.Cmd
	lines *bufio.Scanner
	file  string
}

func start(t *testing.T, mode string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0]), file: filepath.Join(t.TempDir(), "temporary")}
	require.NoError(t, os.WriteFile(p.file, nil, 0o600))
	p.Env = append(os.Environ(), "INTERRUPT_MODE="+mode, "INTERRUPT_FILE="+p.file)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewScanner(out)
	require.NoError(t, p.Start())
	p.expect(t, "ready")
	return p
}

func (p *program) expect(t *testing.T, line string) {
	t.Helper()
	require.True(t, p.lines.Scan())
	require.Equal(t, line, p.lines.Text())
}

// end waits for the end of the program and returns how it ended.
func (p *program) end(t *testing.T) syscall.WaitStatus {
	t.Helper()
	_ = p.Wait()
	return p.ProcessState.Sys().(syscall.WaitStatus)
}

func TestSignalsEndTheProgram(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := start(t, "plain")
		require.NoError(t, p.Process.Signal(s))
		require.Equal(t, s, p.end(t).Signal())
		require.NoFileExists(t, p.file)
	}
}

func TestOrderlyWorkIsCanceled(t *testing.T) {
	p := start(t, "orderly")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.expect(t, "canceled")
	require.Equal(t, 3, p.end(t).ExitStatus())
	require.FileExists(t, p.file, "orderly work removes its own files")
}

func TestTheSecondSignalEndsOrderlyWork(t *testing.T) {
	p := start(t, "stubborn")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.expect(t, "canceled")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, syscall.SIGTERM, p.end(t).Signal())
	require.NoFileExists(t, p.file)
}

// TestOutputEndsWithTheCleanUp: results that are made without the temporary files may be wrong.
func TestOutputEndsWithTheCleanUp(t *testing.T) {
	p := start(t, "late")
	p.expect(t, "early")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.False(t, p.lines.Scan(), p.lines.Text())
	require.Equal(t, syscall.SIGINT, p.end(t).Signal())
}

func TestStop(t *testing.T) {
	p := start(t, "stopped")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, syscall.SIGINT, p.end(t).Signal())
	require.FileExists(t, p.file)
}

func TestStatus(t *testing.T) {
	require.Equal(t, 7, start(t, "done").end(t).ExitStatus())
}
