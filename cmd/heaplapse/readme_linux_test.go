package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// nightServer is the program of the README's job: it keeps some memory, and ends when there are enough
// snapshots of it, however busy the machine is.
const nightServer = `#!/usr/bin/env python3
import os, time
kept = [bytearray(100_000) for _ in range(100)]
deadline = time.monotonic() + 60
mine = '"pid":%d,"trigger"' % os.getpid()
while time.monotonic() < deadline and open("tonight/heaplapse.manifest.jsonl").read().count(mine) < 8:
    time.sleep(0.05)
`

// nightlyJob returns the script of the section "In CI" of the README, with another program.
func nightlyJob(t *testing.T, program string) string {
	t.Helper()
	_, section, found := strings.Cut(find(t, "README.md").text, "\n## In CI\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 1, "the section has one script")
	require.Equal(t, 1, strings.Count(blocks[0][1], " ./server "))
	return strings.Replace(blocks[0][1], " ./server ", " "+program+" ", 1)
}

// TestReadmeJobRunsEveryNight runs the README's job three nights in one directory, and once more in an
// empty one.
func TestReadmeJobRunsEveryNight(t *testing.T) {
	testutil.NoRace(t)
	t.Parallel() // it waits for snapshots
	testutil.Need(t, "bash")
	testutil.Need(t, "python3")
	bin := buildCommand(t)
	needRecorder(t, filepath.Join(bin, "heaplapse"))
	program := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(program, []byte(nightServer), 0o755))
	script := nightlyJob(t, program)
	night := func(dir string) string {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	same := t.TempDir()
	for n := range 3 {
		out := night(same)
		if n == 0 {
			require.Contains(t, out, "PASS: first run: nothing to compare with: baselines/ does not exist")
		} else {
			require.Regexp(t, `(?m)^PASS: none of \d+ functions? regressed`, out)
		}
		saved, err := filepath.Glob(filepath.Join(same, "baselines", "*.baseline.json.gz"))
		require.NoError(t, err)
		require.Len(t, saved, n+1)
	}
	require.Contains(t, night(t.TempDir()), "PASS: first run: ")
}
