package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/settings"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestConfigurationPage checks that docs/configuration.md has a row for every key of heaplapse.yaml,
// with the commands that have it.
func TestConfigurationPage(t *testing.T) {
	path := filepath.Join(testutil.Root(t), "docs/configuration.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	const begin, end = "## Keys\n\n", "\n## Old names"
	before, rest, _ := strings.Cut(string(page), begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := before + begin + keys((&app{}).root()) + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(page), "go test -run TestConfigurationPage -update accepts this")
}

// keys is a table in Markdown.
func keys(root *cobra.Command) string {
	rows := map[string][]string{} // commands, by key and meaning
	all := settings.Commands(root)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, key := range settings.Keys(all[name]) {
			_, usage := pflag.UnquoteUsage(all[name].Flag(key))
			row := fmt.Sprintf("| `%s` | %s", key, strings.ReplaceAll(usage, "|", `\|`))
			rows[row] = append(rows[row], name)
		}
	}
	var b strings.Builder
	b.WriteString("| key | what it does | commands |\n|---|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		commands := strings.Join(rows[row], ", ")
		if len(rows[row]) == len(all) {
			commands = "all"
		}
		fmt.Fprintf(&b, "%s | %s |\n", row, commands)
	}
	return b.String()
}

// TestSettingsOfAnotherUser checks that heaplapse.yaml in the current directory is ignored if it
// belongs to someone else, and said so.
func TestSettingsOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file of another user")
	}
	data, err := filepath.Abs(filepath.Join(testutil.Data(t), "leaky"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("heaplapse.yaml", []byte("version: 1\ngrowth: {format: json}\n"), 0o600))
	require.NoError(t, os.Chown("heaplapse.yaml", 12345, 12345))
	stdout, stderr, _ := invoke(t, "growth", data)
	require.NotContains(t, stdout, `"schema"`)
	require.Contains(t, stderr, "heaplapse.yaml is not used: it belongs to another user (12345); --config heaplapse.yaml uses it")
	stdout, stderr, _ = invoke(t, "growth", data, "--config", "heaplapse.yaml")
	require.Contains(t, stdout, `"schema"`)
	require.NotContains(t, stderr, "not used")
}
