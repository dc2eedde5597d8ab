package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// nightly is a directory in which scripts/nightly.sh runs, once per night.
type nightly struct {
	dir, script string
}

func newNightly(t *testing.T) *nightly {
	t.Helper()
	testutil.Linux(t)
	testutil.Need(t, "bash")
	testutil.Need(t, "flock")
	n := &nightly{dir: t.TempDir()}
	var err error
	n.script, err = filepath.Abs(filepath.Join(testutil.Root(t), "scripts/nightly.sh"))
	require.NoError(t, err)
	_, err = exec.LookPath("heaplapse")
	require.NoError(t, err, "testscript.Main adds this program to PATH")
	return n
}

// run runs the script, which writes its reports to DIR/NAME.
func (n *nightly) run(t *testing.T, name string, args ...string) (output string, status int) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{n.script, "--out", name}, args...)...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY="+filepath.Join(n.dir, "summary.md"), "GITHUB_SHA=0123456789abcdef")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// shop is a night of a build of the shop. The shop takes the snapshots itself, after each burst of
// requests, so that the speed of the machine does not change what they contain.
func (n *nightly) shop(t *testing.T, program, seed string) (output string, status int) {
	return n.run(t, "night-"+seed, "--keep", "4", "--every", "1h", "--workload", "replay", "--", program, seed, "24")
}

// pool returns the files of the baseline set.
func (n *nightly) pool(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.dir, "heap-baselines", "*.baseline.json.gz"))
	require.NoError(t, err)
	return files
}

// TestNightlyScript runs the example on a real program: good nights, a night with a new leak, and
// runs without a verdict.
func TestNightlyScript(t *testing.T) {
	testutil.NoRace(t)
	w := useWorkshop(t)
	programs := w.buildAll(t, []planted{{name: "unchanged"}, {name: "new-leak", patch: "new-leak"}})
	n := newNightly(t)

	out, status := n.shop(t, programs["unchanged"], "1")
	require.Equal(t, exitOK, status, out)
	require.Contains(t, out, "PASS: first run: nothing to compare with: heap-baselines does not exist")
	for _, seed := range []string{"2", "3", "4", "5", "6"} {
		out, status = n.shop(t, programs["unchanged"], seed)
		require.Equal(t, exitOK, status, out)
		require.Contains(t, out, "PASS: none of ")
	}
	good := n.pool(t)
	require.Len(t, good, 5, "the last four nights and the first one, which is the reference run")

	t.Run("a night with a leak fails, says where, and is not kept", func(t *testing.T) {
		out, status := n.shop(t, programs["new-leak"], "7")
		require.Equal(t, exitFound, status, out)
		require.Regexp(t, `FAIL: 1 of \d+ functions regressed: shop::Sessions::audit  session\.cc:\d+`, out)
		require.Equal(t, good, n.pool(t))
		for _, report := range []string{"gate.json", "gate.md", "gate.xml", "gate.sarif", "gate.pb.gz"} {
			require.FileExists(t, filepath.Join(n.dir, "night-7", report))
		}
		summary, err := os.ReadFile(filepath.Join(n.dir, "summary.md"))
		require.NoError(t, err)
		require.Equal(t, 7, strings.Count(string(summary), "heaplapse: "), "one summary per gate")
		require.Contains(t, string(summary), "shop::Sessions::audit")
	})
	t.Run("a night in the directory of another one", func(t *testing.T) {
		out, status := n.shop(t, programs["unchanged"], "7")
		require.Equal(t, exitOK, status, out)
	})
	t.Run("the next good night passes", func(t *testing.T) {
		out, status := n.shop(t, programs["unchanged"], "8")
		require.Equal(t, exitOK, status, out)
	})
	t.Run("a program that fails gives no verdict", func(t *testing.T) {
		good := n.pool(t)
		out, status := n.run(t, "night-9", "--", "sh", "-c", "exit 3")
		require.Equal(t, exitFailure, status, out)
		require.Contains(t, out, "no verdict: the program ended with status 3")
		require.Equal(t, good, n.pool(t))
	})
	t.Run("another workload gives no verdict", func(t *testing.T) {
		out, status := n.run(t, "night-10", "--every", "1h", "--workload", "other", "--", programs["unchanged"], "10")
		require.Equal(t, exitFailure, status, out)
		require.Contains(t, out, "no verdict: heaplapse gate ended with status 2")
	})
	t.Run("two nights at once", func(t *testing.T) {
		lock, err := os.OpenFile(filepath.Join(n.dir, "heap-baselines.lock"), os.O_RDWR, 0)
		require.NoError(t, err)
		defer lock.Close()
		require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		out, status := n.shop(t, programs["unchanged"], "11")
		require.Equal(t, exitFailure, status, out)
		require.Contains(t, out, "another night is still running")
	})
}

func TestNightlyScriptRefusesBadUsage(t *testing.T) {
	n := newNightly(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "no command"},
		{[]string{"--"}, "no command"},
		{[]string{"--keep"}, "--keep needs a value"},
		{[]string{"--frequency", "9"}, "unknown option --frequency"},
		{[]string{"--print", "jenkins"}, "want github, gitlab or cron"},
		{[]string{"--", "./no-such-program"}, "the program ended with status 127"},
	} {
		out, status := n.run(t, "night", c.args...)
		require.Equal(t, exitFailure, status, out)
		require.Contains(t, out, c.want)
	}
}

// TestNightlyScriptRefusesAFirstNightThatIsTooShort: every later run would be compared with it.
func TestNightlyScriptRefusesAFirstNightThatIsTooShort(t *testing.T) {
	testutil.Need(t, "python3")
	testutil.NeedFile(t, "/usr/lib/*/libtcmalloc.so.4")
	n := newNightly(t)
	out, status := n.run(t, "night", "--every", "1h", "--", "python3", "-c", "x = [bytes(5000) for i in range(9999)]")
	require.Equal(t, exitFailure, status, out)
	require.Contains(t, out, "1 snapshot is too few for a steady level")
	require.Empty(t, n.pool(t))
}

// TestNightlyScriptShowsHowItIsStarted: the examples are valid YAML and use options that the script
// has.
func TestNightlyScriptShowsHowItIsStarted(t *testing.T) {
	n := newNightly(t)
	text, err := os.ReadFile(n.script)
	require.NoError(t, err)
	for _, system := range []string{"github", "gitlab", "cron"} {
		out, status := n.run(t, "night", "--print", system)
		require.Equal(t, exitOK, status, out)
		require.Contains(t, out, "scripts/nightly.sh --")
		require.NotContains(t, out, "\t", "YAML and crontab do not allow tabs")
		if system != "cron" {
			var document map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(out), &document))
			require.NotEmpty(t, document)
		}
		for _, option := range []string{"--workload", "--out"} {
			require.Contains(t, string(text), "\t"+option+") ")
		}
	}
}
