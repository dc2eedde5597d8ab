package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// runner is a directory in which scripts/ci.sh runs as a runner of GitHub Actions runs it.
type runner struct {
	dir, script string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	testutil.Linux(t)
	testutil.Need(t, "bash")
	script, err := filepath.Abs(filepath.Join(testutil.Root(t), "scripts/ci.sh"))
	require.NoError(t, err)
	return &runner{dir: t.TempDir(), script: script}
}

// step runs the step with settings, such as OUT=night, and returns its outputs.
func (r *runner) step(t *testing.T, settings ...string) (outputs map[string]string, log string, status int) {
	t.Helper()
	file := filepath.Join(r.dir, "output")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cmd := exec.Command("bash", r.script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_SHA=0123456789abcdef", "GITHUB_OUTPUT="+file,
		"GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary.md"), "RUNNER_TEMP="+r.dir, "XDG_CACHE_HOME="+t.TempDir())
	for _, s := range settings {
		cmd.Env = append(cmd.Env, "HEAPLAPSE_"+s)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return outputsOf(t, string(text)), string(out), cmd.ProcessState.ExitCode()
}

// outputsOf reads a file of outputs as the runner does: NAME<<DELIMITER, lines, DELIMITER.
func outputsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines) && lines[i] != ""; i++ {
		name, delimiter, ok := strings.Cut(lines[i], "<<")
		require.True(t, ok, lines[i])
		var value []string
		for i++; lines[i] != delimiter; i++ {
			value = append(value, lines[i])
		}
		out[name] = strings.Join(value, "\n")
	}
	return out
}

// TestCIScript: good runs, a run that regressed, and runs without a verdict, with the outputs, the
// summary and the files that later steps take.
func TestCIScript(t *testing.T) {
	testutil.NoRace(t)
	testutil.Need(t, "flock")
	r := newRunner(t)
	data, err := filepath.Abs(testutil.Data(t, "workers"))
	require.NoError(t, err)
	good, leak := "SNAPSHOTS="+filepath.Join(data, "good"), "SNAPSHOTS="+filepath.Join(data, "leak")

	outputs, log, status := r.step(t, good, "WORKLOAD=workers", "OUT=first")
	require.Equal(t, exitOK, status, log)
	require.Equal(t, map[string]string{"verdict": "good", "out": "first", "sarif": "first/gate.sarif", "report": "first/report.html"}, outputs)

	outputs, log, status = r.step(t, leak, "WORKLOAD=workers", "OUT=second")
	require.Equal(t, exitFound, status, log)
	require.Equal(t, map[string]string{"verdict": "regressed", "out": "second", "sarif": "second/gate.sarif", "report": "second/report.html"}, outputs)
	for _, name := range []string{"gate.json", "gate.md", "gate.xml", "gate.sarif", "report.html", "snapshots.heaplapse.tar.zst"} {
		require.FileExists(t, filepath.Join(r.dir, "second", name))
	}
	summary, err := os.ReadFile(filepath.Join(r.dir, "summary.md"))
	require.NoError(t, err)
	require.Contains(t, string(summary), "remember")

	outputs, log, status = r.step(t, good, "WORKLOAD=workers", "OUT=second")
	require.Equal(t, exitOK, status, log)
	require.Equal(t, "good", outputs["verdict"], "the next night in the same directory")

	outputs, log, status = r.step(t, good, "WORKLOAD=other", "OUT=second")
	require.Equal(t, exitFailure, status, log)
	require.Equal(t, "none", outputs["verdict"])
	require.Empty(t, outputs["sarif"], "that of another night is removed")
}

// TestCIScriptRecordsACommand: the command is one string, which only bash interprets, and its status
// is not a verdict.
func TestCIScriptRecordsACommand(t *testing.T) {
	r := newRunner(t)
	outputs, log, status := r.step(t, `COMMAND=printf '%s' "$0 'a' \"b\"; exit 3" >said; exit 3`, "ENGINE=builtin", "OUT=x\nverdict=good")
	require.Equal(t, exitFailure, status, log)
	require.Contains(t, log, "the program ended with status 3")
	require.Equal(t, "none", outputs["verdict"])
	require.Equal(t, "x\nverdict=good", outputs["out"], "a value cannot set another output")
	said, err := os.ReadFile(filepath.Join(r.dir, "said"))
	require.NoError(t, err)
	require.Equal(t, `bash 'a' "b"; exit 3`, string(said))

	_, log, status = r.step(t)
	require.Equal(t, exitFailure, status)
	require.Contains(t, log, "no command")
	_, log, status = r.step(t, "COMMAND=true", "SNAPSHOTS=.", "OUT=y")
	require.Equal(t, exitFailure, status)
	require.Contains(t, log, "want one of them")
}

// TestTheActionPassesInputsAsVariables: text from outside in a script would be a command. Every input
// has a description here and in docs/ci.md, and every variable is a setting of the script.
func TestTheActionPassesInputsAsVariables(t *testing.T) {
	root := testutil.Root(t)
	script, err := os.ReadFile(filepath.Join(root, "scripts/ci.sh"))
	require.NoError(t, err)
	type step struct {
		Run string
		Env map[string]string
	}
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct{ Steps []step }
	}
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &action))
	require.NotEmpty(t, action.Inputs)
	manual := find(t, "docs/ci.md").text
	for name, input := range action.Inputs {
		require.NotEmpty(t, input.Description, name)
		require.Contains(t, string(text), "inputs."+name)
		require.Contains(t, manual, "| `"+name+"` |")
	}
	variables := 0
	for _, s := range action.Runs.Steps {
		require.NotContains(t, s.Run, "${{")
		for name := range s.Env {
			variables++
			require.Contains(t, string(script), strings.TrimPrefix(name, "HEAPLAPSE_"))
		}
	}
	require.Equal(t, 8, variables)

	workflows, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, workflows)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	for _, path := range workflows {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var workflow struct {
			Jobs map[string]struct{ Steps []step }
		}
		require.NoError(t, yaml.Unmarshal(text, &workflow), path)
		require.NotEmpty(t, workflow.Jobs)
		for name, job := range workflow.Jobs {
			for _, s := range job.Steps {
				require.NotContains(t, s.Run, "${{", "%s: %s", path, name)
				for _, m := range regexp.MustCompile(`make ([a-z-]+)`).FindAllStringSubmatch(s.Run, -1) {
					require.Contains(t, string(makefile), "\n"+m[1]+":", path)
				}
			}
		}
	}
}
