package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/completion"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/manual"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestHelp compares the help of every command with testdata/help/COMMAND.txt.
func TestHelp(t *testing.T) {
	goldens, err := filepath.Glob("testdata/help/*.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range describedCommands((&app{}).root()) {
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
		if c.Name() == "completion" || c.Hidden {
			continue // is a part of cobra, or for packages
		}
		out = append(out, allCommands(c)...)
	}
	return out
}

// TestHelpFitsTheTerminal checks that lines are as wide as the terminal at most, and that no word is lost. A word
// that is wider is on a line of its own.
func TestHelpFitsTheTerminal(t *testing.T) {
	printed := func(c *cobra.Command, width int) string {
		var b bytes.Buffer
		c.Root().SetOut(&b)
		help.Printer{Width: width}.Help(c, nil)
		return b.String()
	}
	for _, c := range describedCommands((&app{}).root()) {
		c.InitDefaultHelpFlag()
		want := printed(c, 0)
		require.Equal(t, want, printed(c, help.HelpWidth), c.CommandPath())
		for _, width := range []int{1, 40, 41, 60, 80, 99} {
			text := printed(c, width)
			require.Equal(t, strings.Fields(want), strings.Fields(text), c.CommandPath())
			for line := range strings.Lines(text) {
				if words := strings.Fields(line); len(words) > 1 {
					require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), max(width, 40), "%s: %s", c.CommandPath(), line)
				}
			}
		}
	}
}

// describedCommands returns all commands, those that print the completions of shells included.
func describedCommands(root *cobra.Command) []*cobra.Command {
	out := allCommands(root)
	for _, c := range root.Commands() {
		if c.Name() == completion.Name {
			out = append(append(out, c), c.Commands()...)
		}
	}
	return out
}

// TestManualHasEveryFlag checks that the man page of every command has its flags.
func TestManualHasEveryFlag(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, manual.Write((&app{}).root(), manual.Build{Version: "0.1.0"}, dir))
	missing := filepath.Join(dir, "missing")
	require.ErrorContains(t, manual.Write((&app{}).root(), manual.Build{}, missing), "missing/heaplapse.1: no such file or directory")
	require.NoFileExists(t, filepath.Join(dir, "heaplapse-manual.1"))
	for _, c := range allCommands((&app{}).root()) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		require.NoError(t, err)
		title := strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-"))
		require.Contains(t, string(page), `.TH "`+title+`" "1"`)
		for _, group := range help.FlagGroups(c, true) {
			require.Contains(t, string(page), "\n.SH "+strings.ToUpper(group.Name())+"\n")
			group.VisitAll(func(f *pflag.Flag) {
				require.Contains(t, string(page), "\\fB--"+f.Name+"\\fP", c.CommandPath())
			})
		}
	}
}

// TestFileFlagsComeLast checks that the help of every command lists the flags that tell where files
// are after all others, in one place.
func TestFileFlagsComeLast(t *testing.T) {
	for _, c := range allCommands((&app{}).root()) {
		groups := help.FlagGroups(c, true)
		for i, g := range groups {
			require.Equal(t, g.Name() == help.Files, g.Lookup("debuginfod") != nil, "%s: %s", c.CommandPath(), g.Name())
			if g.Name() == help.Files {
				require.Equal(t, len(groups)-1, i, c.CommandPath())
			}
		}
	}
}

// TestFewFlags checks how many flags the help shows, and that it tells how to see the others.
func TestFewFlags(t *testing.T) {
	shown := regexp.MustCompile(`(?m)^ +(-\w, )?--[a-z]`)
	for _, c := range allCommands((&app{}).root()) {
		args := strings.Fields(c.CommandPath())[1:]
		usual, _, _ := invoke(t, append(args, "--help")...)
		all, _, code := invoke(t, append(args, "--help-all")...)
		require.Equal(t, exitOK, code)
		few, more := len(shown.FindAllString(usual, -1)), len(shown.FindAllString(all, -1))
		require.LessOrEqual(t, few, help.MaxUsual, c.CommandPath())
		require.LessOrEqual(t, more, help.MaxShown, c.CommandPath())
		require.Greater(t, few, 2, c.CommandPath())
		if !c.HasAvailableSubCommands() {
			require.Contains(t, usual, fmt.Sprintf("%s --help-all lists %d more flag", c.CommandPath(), more-few))
		}
	}
}

// TestFirstScreen checks that the help of every command begins with a text about what the command does, and
// has an example.
func TestFirstScreen(t *testing.T) {
	for _, c := range describedCommands((&app{}).root()) {
		if c.HasParent() {
			require.Regexp(t, `^[A-Z][a-z]+s `, c.Long, "%s: begins with what it does", c.CommandPath())
		}
		require.Contains(t, c.Long, "\n  heaplapse ", "%s has no example", c.CommandPath())
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

// TestEveryCommandCompletesItsArguments checks that a new command tells the shell what its arguments
// are. Those of record are a command line.
func TestEveryCommandCompletesItsArguments(t *testing.T) {
	root := (&app{}).root()
	completion.AddTo(root)
	for _, c := range allCommands(root) {
		if c != root && c.Name() != "record" {
			require.NotNil(t, c.ValidArgsFunction, c.CommandPath())
		}
	}
}

// advisedBy are the commands whose output may advise an option.
var advisedBy = map[string][]string{
	"growth watch report top diff gate": {option.Top},
	"view":                              {option.SourceRoot},
	"growth watch report top diff info": {option.Sysroot, option.Binary, option.DebugDir, option.Debuginfod, option.PerfMap},
	"growth watch report info":          {option.Process},
	"growth watch report":               {option.Since, option.Until, option.MinBytes},
	"growth watch report diff":          {option.GroupBy},
	"growth":                            {option.Explain},
	"growth report gate":                {option.Evidence},
	"info":                              {option.Verbose, option.Symbols},
	"report":                            {option.Focus, option.Ignore, option.Markdown},
	"gate": {
		option.Work, option.Workload, option.Force, option.RequireBaseline, option.Regression, option.TextOutput,
	},
	"record": {
		option.Engine, option.Library, option.Duration, option.MainOnly, option.FollowChildren, option.JIT, option.PythonMalloc, option.Every,
		option.EveryAlloc, option.EveryInuse, option.Signal, option.SamplePeriod, option.Keep, option.Output,
		option.Replace, option.HoldersEvery,
	},
	"attach": {
		option.MainOnly, option.FollowChildren, option.Wait, option.Every, option.SamplePeriod, option.Keep, option.Output,
		option.HoldersEvery,
	},
	"scrape": {
		option.Every, option.Keep, option.Output, option.Header, option.CACert, option.Insecure, option.Timeout, option.MaxSize,
	},
	"growth report": {
		option.BaselineSave, option.GateCommand, option.GrowthCommand, option.InfoCommand, option.RecordCommand,
		option.TopCommand, option.ViewCommand,
	},
	"push": {option.Header, option.CACert, option.Insecure, option.Timeout, option.Retry},
}

// TestAdvisedFlagsExist checks that the commands which advise a flag have it. Advice on recording is about the flags of
// record, whichever command gives it.
func TestAdvisedFlagsExist(t *testing.T) {
	root, advised := (&app{}).root(), map[string]bool{}
	for names, options := range advisedBy {
		for name := range strings.FieldsSeq(names) {
			cmd, _, err := root.Find([]string{name})
			require.NoError(t, err)
			require.Equal(t, name, cmd.Name())
			cmd.InheritedFlags() // merges those of the root
			for _, o := range options {
				advised[o] = true
				flag, _, _ := strings.Cut(o, " ") // a value may follow
				if command, ok := strings.CutPrefix(o, "heaplapse "); ok {
					fields := strings.Fields(command)
					_, rest, err := root.Find(fields)
					require.NoError(t, err)
					require.Less(t, len(rest), len(fields), command)
				} else if long, ok := strings.CutPrefix(flag, "--"); ok {
					require.NotNil(t, cmd.Flag(long), "%s %s", name, flag)
				} else {
					require.NotNil(t, cmd.Flags().ShorthandLookup(strings.TrimPrefix(flag, "-")), "%s %q", name, flag)
				}
			}
		}
	}
	known := stringsOf(t, filepath.Join(testutil.Root(t), "internal/option/option.go"))
	require.ElementsMatch(t, known, slices.Collect(maps.Keys(advised)))
}

// commands are ours, which only cmd and package option name.
var commands = regexp.MustCompile(`heaplapse (baseline save|gate with|growth|info|record|report|top|view)\b`)

// flagsOfOthers are flags of other programs that our packages pass or advise.
var flagsOfOthers = map[string]bool{
	"--perf-basic-prof": true, "--interpreted-frames-native-stack": true, // of Node
	"--heapsnapshot-signal": true,
	"--build-id":            true, "--only-keep-debug": true, // of ld and objcopy
	"--list":          true,                                                                     // of the dynamic loader
	"--detailed-freq": true, "--threshold": true, "--time-unit": true, "--fullpath-after": true, // of Valgrind
	"--xml": true, "--xml-file": true, "--depth": true, "--alloc-fns": true,
	"--cap-add": true,               // of docker
	"--pid":     true, "--as": true, // of prlimit
}

// TestFlagsAreNamedOnce checks that no text outside cmd and package option names a flag, and that reports name no
// command.
func TestFlagsAreNamedOnce(t *testing.T) {
	named := regexp.MustCompile(`(?:^|[^a-z0-9-])(--[a-z][a-z-]*[a-z])`)
	files := 0
	for _, dir := range []string{"heapfile", "symbolize", "convert", "diff", "internal"} {
		root := filepath.Join(testutil.Root(t), dir)
		require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && slices.Contains([]string{"testdata", "assets", "testutil", "option"}, e.Name()) {
				return filepath.SkipDir
			}
			texts := textsOf(t, path)
			files += min(1, len(texts))
			for _, text := range texts {
				if strings.Contains(path, "/internal/report/") && filepath.Ext(path) == ".go" {
					assert.NotRegexp(t, commands, text, "%s: use internal/option", path)
				}
				for _, m := range named.FindAllStringSubmatch(text, -1) {
					assert.True(t, flagsOfOthers[m[1]], "%s: %s in %q: use internal/option", path, m[1], m[0])
				}
			}
			return nil
		}))
	}
	require.Greater(t, files, 100)
}

// textsOf returns what a file adds to the program: the strings of a Go file, or the whole of a text
// that is embedded.
func textsOf(t *testing.T, path string) []string {
	t.Helper()
	switch filepath.Ext(path) {
	case ".go":
		if !strings.HasSuffix(path, "_test.go") {
			return stringsOf(t, path)
		}
	case ".txt", ".html":
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return []string{string(content)}
	}
	return nil
}

// stringsOf returns the values of the string literals of a Go file.
func stringsOf(t *testing.T, path string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			require.NoError(t, err)
			out = append(out, text)
		}
		return true
	})
	return out
}
