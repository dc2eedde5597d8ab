package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// distScript runs a script of scripts/dist with variables.
func distScript(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	testutil.Linux(t)
	testutil.Need(t, "bash")
	script, err := filepath.Abs(filepath.Join(testutil.Root(t), "scripts/dist", name))
	require.NoError(t, err)
	cmd := exec.Command("bash", append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestReleaseRefusesBadUsage: nothing is built or removed then.
func TestReleaseRefusesBadUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "VERSION is like v0.2.0"},
		{[]string{"0.2.0"}, "VERSION is like v0.2.0, not '0.2.0'"},
		{[]string{"v0.2.0", "--pubish"}, "unknown argument"},
	} {
		out, err := distScript(t, nil, "release.sh", c.args...)
		require.Error(t, err)
		require.Contains(t, out, c.want)
	}
	out, err := distScript(t, nil, "notes.sh", "v99.0.0")
	require.Error(t, err)
	require.Contains(t, out, "CHANGELOG.md has no section [99.0.0]: give [Unreleased] that name and a date")
	_, err = distScript(t, nil, "notes.sh", "v0.1.0")
	require.NoError(t, err)
}

// TestProvenanceIsAboutTheChecksums: its subjects are the files of SHA256SUMS.
func TestProvenanceIsAboutTheChecksums(t *testing.T) {
	sums := filepath.Join(t.TempDir(), "SHA256SUMS")
	require.NoError(t, os.WriteFile(sums, []byte("aa  heaplapse-a.tar.gz\nbb  heaplapse-b.deb\n"), 0o600))
	out, err := distScript(t, []string{"COMMIT=c0ffee", "VERSION=0.2.0", "SOURCE_DATE_EPOCH=1"}, "provenance.sh", sums)
	require.NoError(t, err, out)
	var statement struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &statement))
	require.Equal(t, "https://in-toto.io/Statement/v1", statement.Type)
	require.Len(t, statement.Subject, 2)
	require.Equal(t, "heaplapse-b.deb", statement.Subject[1].Name)
	require.Equal(t, map[string]string{"sha256": "bb"}, statement.Subject[1].Digest)
	require.Equal(t, "c0ffee", statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])

	out, err = distScript(t, []string{"COMMIT=c0ffee, modified", "VERSION=0.2.0", "SOURCE_DATE_EPOCH=1"}, "provenance.sh", sums)
	require.NoError(t, err, out)
	require.Contains(t, out, `"digest": {"gitCommit": "c0ffee"}, "annotations": {"modified": true}`)
}

// Programs that releaseRepository puts in place of the real ones: they write what they are asked to
// $STATE/calls. The fake build makes one archive.
const (
	fakeDist = `#!/bin/bash
set -e
name=heaplapse-$2-$(go env GOHOSTOS)-$(go env GOHOSTARCH)
mkdir -p "$STATE/$name/bin"
printf '#!/bin/sh\necho heaplapse %s test\n' "$2" >"$STATE/$name/bin/heaplapse"
chmod +x "$STATE/$name/bin/heaplapse"
tar -C "$STATE" -czf "$1/$name.tar.gz" "$name"
cd "$1" && sha256sum heaplapse* >SHA256SUMS
`
	fakeGh = `#!/bin/bash
[ "$1" = release ] || exit 0
echo "gh $1 $2" >>"$STATE/calls"
case $2 in
view) cat "$STATE/draft" 2>/dev/null ;;
create) echo false >"$STATE/draft" ;;
esac
`
	fakeSkopeo = `#!/bin/bash
[ "$1" != login ] || exec cat
echo "skopeo $1" >>"$STATE/calls"
[ ! -e "$STATE/registry-is-down" ]
`
)

// releaseRepository makes a repository with release.sh. The result runs it there, and returns its
// output and what it asked of gh and skopeo.
func releaseRepository(t *testing.T, changelog string) (dir, state string, release func(args ...string) (out, calls string, err error)) {
	t.Helper()
	testutil.Linux(t)
	testutil.Need(t, "git")
	dir, state = t.TempDir(), t.TempDir()
	for _, name := range []string{"release.sh", "notes.sh"} {
		script, err := os.ReadFile(filepath.Join(testutil.Root(t), "scripts/dist", name))
		require.NoError(t, err)
		testutil.WriteFile(t, filepath.Join(dir, "scripts/dist", name), string(script), 0o700)
	}
	testutil.WriteFile(t, filepath.Join(dir, "scripts/dist/dist.sh"), fakeDist, 0o700)
	testutil.WriteFile(t, filepath.Join(dir, "CHANGELOG.md"), changelog, 0o600)
	testutil.WriteFile(t, filepath.Join(dir, ".gitignore"), "/out/\n", 0o600)
	testutil.WriteFile(t, filepath.Join(state, "bin/gh"), fakeGh, 0o700)
	testutil.WriteFile(t, filepath.Join(state, "bin/skopeo"), fakeSkopeo, 0o700)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"},
	} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return dir, state, func(args ...string) (string, string, error) {
		_ = os.Remove(filepath.Join(state, "calls"))
		cmd := exec.Command(filepath.Join(dir, "scripts/dist/release.sh"), args...)
		cmd.Env = append(os.Environ(), "STATE="+state, "PATH="+filepath.Join(state, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		calls, _ := os.ReadFile(filepath.Join(state, "calls"))
		return string(out), string(calls), err
	}
}

// TestReleaseIsRehearsedBeforeItsNotesAreWritten: a dry run needs no section in the CHANGELOG, but
// publishing does.
func TestReleaseIsRehearsedBeforeItsNotesAreWritten(t *testing.T) {
	dir, _, release := releaseRepository(t, "## [Unreleased]\n\nall is new\n")
	out, calls, err := release("v0.2.0")
	require.NoError(t, err, out)
	require.Contains(t, out, "the notes of this dry run are the section [Unreleased]; --publish needs [0.2.0]")
	require.Empty(t, calls)
	notes, err := os.ReadFile(filepath.Join(dir, "out/release.notes.md"))
	require.NoError(t, err)
	require.Contains(t, string(notes), "all is new")

	out, calls, err = release("v0.2.0", "--publish")
	require.Error(t, err)
	require.Contains(t, out, "CHANGELOG.md has no section [0.2.0]")
	require.NotContains(t, calls, "create")
}

// TestReleaseHasNothingThatIsNotCommitted: a file that git does not know could be in the program.
func TestReleaseHasNothingThatIsNotCommitted(t *testing.T) {
	dir, _, release := releaseRepository(t, "## [0.2.0]\n\nall is new\n")
	testutil.WriteFile(t, filepath.Join(dir, "new.go"), "package main\n", 0o600)
	out, _, err := release("v0.2.0")
	require.Error(t, err)
	require.Contains(t, out, "there are files or changes that are not committed (git status): commit or remove them")
}

// TestReleaseIsPublishedInTheEnd: if the registry of the image fails, running it again publishes both,
// and then nothing.
func TestReleaseIsPublishedInTheEnd(t *testing.T) {
	_, state, release := releaseRepository(t, "## [0.2.0]\n\nall is new\n")
	testutil.WriteFile(t, filepath.Join(state, "registry-is-down"), "", 0o600)
	out, calls, err := release("v0.2.0", "--publish")
	require.Error(t, err, out)
	require.NotContains(t, calls, "create")

	require.NoError(t, os.Remove(filepath.Join(state, "registry-is-down")))
	out, calls, err = release("v0.2.0", "--publish")
	require.NoError(t, err, out)
	require.Equal(t, "gh release view\nskopeo copy\ngh release create\n", calls)

	out, calls, err = release("v0.2.0", "--publish")
	require.NoError(t, err, out)
	require.Contains(t, out, "the release v0.2.0 exists already: nothing was published")
	require.Equal(t, "gh release view\n", calls)

	testutil.WriteFile(t, filepath.Join(state, "draft"), "true\n", 0o600)
	out, _, err = release("v0.2.0", "--publish")
	require.Error(t, err)
	require.Contains(t, out, "an unfinished draft of v0.2.0 is there: gh release delete v0.2.0, and run this again")
}
