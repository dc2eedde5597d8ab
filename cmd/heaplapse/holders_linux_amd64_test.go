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
