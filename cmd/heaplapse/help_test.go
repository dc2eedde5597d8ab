package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
)

// TestHelp compares the help of every command with testdata/help/COMMAND.txt.
func TestHelp(t *testing.T) {
	goldens, err := filepath.Glob("testdata/help/*.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range allCommands((&app{}).root()) {
		args := strings.Fields(c.CommandPath())[1:]
		golden := filepath.Join("testdata/help", strings.ReplaceAll(c.CommandPath(), " ", "-")+".txt")
		seen[golden] = true
		t.Run(c.CommandPath(), func(t *testing.T) {
			text, stderr, code := invoke(t, append(args, "--help")...)
			require.Equal(t, exitOK, code)
			require.Empty(t, stderr)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "go test -run TestHelp -update writes it")
			require.Equal(t, string(want), text, "go test -run TestHelp -update accepts this")
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, len([]rune(line)), help.HelpWidth+1, line)
			}
		})
	}
	for _, golden := range goldens {
		require.True(t, seen[golden], "%s is the help of no command", golden)
	}
}

// allCommands returns a command and all commands below it that are ours.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.Name() == "completion" {
			continue // is a part of cobra
		}
		out = append(out, allCommands(c)...)
	}
	return out
}

// TestFileFlagsComeLast checks that the help of every command lists the flags that tell where files
// are after all others, in one place.
func TestFileFlagsComeLast(t *testing.T) {
	for _, c := range allCommands((&app{}).root()) {
		groups := help.FlagGroups(c)
		for i, g := range groups {
			require.Equal(t, g.Name() == help.Files, g.Lookup("debug-dir") != nil, "%s: %s", c.CommandPath(), g.Name())
			if g.Name() == help.Files {
				require.Equal(t, len(groups)-1, i, c.CommandPath())
			}
		}
	}
}

// TestEveryFlagHasAGroup checks that no flag of a command is in the help by default.
func TestEveryFlagHasAGroup(t *testing.T) {
	for _, c := range allCommands((&app{}).root()) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			require.True(t, f.Hidden || f.Annotations[help.GroupAnnotation] != nil, "%s --%s", c.CommandPath(), f.Name)
			require.True(t, f.Hidden || f.Usage != "", "%s --%s", c.CommandPath(), f.Name)
		})
	}
}
