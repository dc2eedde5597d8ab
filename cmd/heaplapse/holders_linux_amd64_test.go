package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestHolders looks at a C++ program that was not recorded, which goes on as before. The JSON meets its schema.
func TestHolders(t *testing.T) {
	t.Parallel()
	testutil.Need(t, "g++")
	binary := filepath.Join(t.TempDir(), "shop")
	source := filepath.Join(testutil.Root(t), "internal/holders/testdata/shop.cc")
	out, err := exec.Command("g++", "-g", "-pthread", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(binary)
	testutil.Ready(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)

	look, err := exec.Command("heaplapse", "holders", pid, "-v").CombinedOutput()
	require.NoError(t, err, "%s", look)
	assert.Regexp(t, `^process `+pid+` \(shop\): [0-9.]+ KiB in [0-9,]+ blocks; its threads were stopped for [0-9.]+[mµ]?s\n`, string(look))
	told := 0
	for _, want := range []string{
		` held by g_sessions \(shop\.cc:17, std::map<int, Session\*>\)`, ` held by first_session \(shop\.cc:18, Session \*\) → Session`,
		` held by shop::cache\.entries \(shop\.cc:23, std::vector<Session\*>\) → Session`, ` lost: no pointer to it was found`,
		` lost: a cycle of blocks that only they hold`,
	} {
		if regexp.MustCompile(want).Match(look) {
			told++
		}
	}
	assert.GreaterOrEqual(t, told, 4, "%s", look) // of 30 blocks, none may be of a kind that has 200 of 1,302
	look, err = exec.Command("heaplapse", "holders", pid, "--format", "json").Output()
	require.NoError(t, err)
	validate(t, compileSchema(t, "holders"), string(look))

	look, err = exec.Command("heaplapse", "holders", pid, "--rss").CombinedOutput()
	require.NoError(t, err, "%s", look)
	assert.Regexp(t, `^RSS [0-9.]+ MiB of process `+pid+` \(shop\)\n(.*\n)*.* blocks of malloc in use \(.*\n`, string(look))
	look, err = exec.Command("heaplapse", "holders", pid, "--rss", "--format", "json").Output()
	require.NoError(t, err)
	validate(t, compileSchema(t, "rss"), string(look))
}

// TestHoldersOfRecorded looks at a process that is recorded: the lines of its code have names as soon as a snapshot has
// them.
func TestHoldersOfRecorded(t *testing.T) {
	t.Parallel()
	const program = `
import os, time
KEPT = []
def keep(n):
    for _ in range(n):
        KEPT.append(bytes(50000))
keep(2000)
print(os.getpid())
print('ready', flush=True)
time.sleep(300)
`
	cmd := exec.Command("heaplapse", "record", "-q", "--no-holders", "-o", t.TempDir(), "--",
		testutil.Need(t, "python3"), "-c", program)
	written := testutil.Ready(t, cmd)
	require.Len(t, written, 1)
	pid, err := strconv.Atoi(written[0])
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	var look []byte
	require.Eventually(t, func() bool {
		look, err = exec.Command("heaplapse", "holders", written[0]).CombinedOutput()
		return assert.NoError(t, err, "%s", look) && bytes.Contains(look, []byte("\nkeep  <string>:6: "))
	}, 5*time.Minute, 100*time.Millisecond, "%s", &look)
	assert.Regexp(t, `\nkeep  <string>:6: \d+ live samples, \d+ of them among the older half of all\n`+
		` *30 of 30 held by __main__\.KEPT \(list, 2,000 entries\) → bytes\n`, string(look))
	look, err = exec.Command("heaplapse", "holders", written[0], "--format", "json").Output()
	require.NoError(t, err)
	validate(t, compileSchema(t, "holders"), string(look))
	assert.Contains(t, string(look), `"function": "keep"`)
}

// keeper keeps blocks until its input ends. Its destructor frees them after main has returned.
const keeper = `
#include <cstdio>
#include <poll.h>
#include <unistd.h>
#include <vector>

struct cache {
	std::vector<char *> pages;
	~cache() { for (char *p : pages) delete[] p; }
};
cache kept;

__attribute__((noinline)) void keep() { kept.pages.push_back(new char[5000]); }

int main() {
	puts("ready");
	fflush(stdout);
	pollfd in = {0, POLLIN, 0};
	while (poll(&in, 1, 0) == 0) {
		keep();
		usleep(1000);
	}
	return 7;
}
`

// TestHoldersBeforeDestructors: a process that attach records is looked at when main returns, before destructors free
// what it keeps.
func TestHoldersBeforeDestructors(t *testing.T) {
	testutil.NoRace(t) // a look takes longer than the program waits
	t.Parallel()
	testutil.Need(t, "g++")
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "keeper.cc"), keeper, 0o600)
	binary := filepath.Join(dir, "keeper")
	out, err := exec.Command("g++", "-g", "-o", binary, filepath.Join(dir, "keeper.cc")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var growth []byte
	for i := range 10 { // on a busy machine, a look may take longer than the program waits
		recording := filepath.Join(dir, strconv.Itoa(i))
		recordKeeper(t, binary, recording)
		growth, err = exec.Command("heaplapse", "growth", "-q", recording).Output()
		require.NoError(t, err)
		if bytes.Contains(growth, []byte("held by kept.pages (keeper.cc:")) {
			return
		}
	}
	assert.Fail(t, "nothing holds the blocks", "%s", growth)
}

// recordKeeper attaches to the program, lets it return from main after some snapshots, and waits for both.
func recordKeeper(t *testing.T, binary, recording string) {
	t.Helper()
	program := exec.Command(binary)
	in, err := program.StdinPipe()
	require.NoError(t, err)
	testutil.Ready(t, program)
	attach := exec.Command("heaplapse", "attach", strconv.Itoa(program.Process.Pid), "-q", "-o", recording,
		"--every", "200ms", "--sample-period", "4KiB", "--holders-every", "1h")
	require.NoError(t, attach.Start())
	require.Eventually(t, func() bool {
		snapshots, err := filepath.Glob(filepath.Join(recording, "*.heap*"))
		return assert.NoError(t, err) && len(snapshots) > 5
	}, 5*time.Minute, 20*time.Millisecond)
	require.NoError(t, in.Close())
	require.NoError(t, attach.Wait())
	require.Error(t, program.Wait())
	assert.Equal(t, 7, program.ProcessState.ExitCode())
}
