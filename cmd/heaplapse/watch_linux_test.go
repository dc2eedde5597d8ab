package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns both sides of a new terminal.
func openTerminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { outer.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { inner.Close() })
	return outer, inner
}

// TestWatchFollowsTheSizeOfTheTerminal: after a change of the size, the next screen fits.
func TestWatchFollowsTheSizeOfTheTerminal(t *testing.T) {
	dir := t.TempDir()
	for i, text := range leakySeries(t)[:8] {
		appendTo(t, filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), text)
	}
	outer, inner := openTerminal(t)
	size := func(rows, columns uint16) {
		require.NoError(t, unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	}
	size(30, 100)
	cmd := exec.Command("heaplapse", "watch", dir)
	cmd.Stdout = inner
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TERM=xterm", "XDG_CACHE_HOME="+t.TempDir())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	in := bufio.NewReader(outer)
	for _, s := range [][2]uint16{{30, 100}, {10, 40}, {20, 60}} {
		size(s[0], s[1])
		for seen := 0; seen < 2; { // screens of the new size, one after the other
			lines := screen(t, in)
			if len(lines) != int(s[0]) || !strings.Contains(strings.Join(lines, "\n"), "LEAK:") {
				continue
			}
			seen++
			for _, line := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\r")), int(s[1]), line)
			}
		}
	}
}

var escapes = regexp.MustCompile(`\x1b\[[?0-9;]*[A-Za-z]`)

// screen reads up to the sequence that ends a screen.
func screen(t *testing.T, in *bufio.Reader) []string {
	t.Helper()
	for text := ""; ; {
		more, err := in.ReadString('J')
		require.NoError(t, err)
		if text += more; strings.HasSuffix(text, "\x1b[J") {
			text = text[strings.LastIndex(text, "\x1b[H")+1:] // a status may precede the first screen
			return strings.Split(escapes.ReplaceAllString("\x1b"+text, ""), "\r\n")
		}
	}
}
