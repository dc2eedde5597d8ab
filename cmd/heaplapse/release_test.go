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
	require.Contains(t, out, "CHANGELOG.md has no section [99.0.0]")
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
}
