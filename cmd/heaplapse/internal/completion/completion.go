// Package completion tells the shell what the arguments and flags of each command may be:
// snapshots, processes of a recording, runs and labels of a baseline set.
package completion

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// Wanted reports whether a shell asks for completions with these arguments. Other invocations do
// without them, because to register them takes time.
func Wanted(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// AddTo adds completions to a command and to all commands below it. Those that a flag has remain.
func AddTo(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if complete, ok := arguments[name(cmd)]; ok {
			cmd.ValidArgsFunction = complete
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { addFlag(cmd, f) })
		AddTo(cmd)
	}
}

// name is the name of a command without that of the program, such as "baseline save".
func name(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// arguments are the completions of the arguments of each command.
var arguments = map[string]cobra.CompletionFunc{
	"record":         nil, // a command line: the shell completes files
	"attach":         one(running),
	"holders":        one(running),
	"scrape":         cobra.NoFileCompletions,
	"info":           paths,
	"top":            paths,
	"view":           paths,
	"growth":         paths,
	"watch":          one(paths),
	"report":         paths,
	"diff":           paths,
	"gate":           cobra.NoFileCompletions,
	"baseline":       cobra.NoFileCompletions,
	"baseline save":  saved,
	"baseline list":  one(directories),
	"baseline prune": one(directories),
	"baseline pin":   pinned,
	"convert":        paths,
	"fleet":          cobra.NoFileCompletions,
	"fleet export":   paths,
	"fleet compact":  one(directories),
	"fleet aliases":  paths,
	"push":           paths,
	"bundle":         paths,
	"symbolize":      cobra.NoFileCompletions,
	"version":        cobra.NoFileCompletions,
}

// addFlag adds the completion of a flag. The name of its value in the help tells what it is.
func addFlag(cmd *cobra.Command, f *pflag.Flag) {
	value, _ := pflag.UnquoteUsage(f)
	complete, ok := named[f.Name]
	if !ok {
		complete, ok = values[value]
	}
	if !ok && value != "" {
		complete = cobra.NoFileCompletions // a number, a size, a time
	}
	if complete != nil {
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails if the flag has one
	}
}

// named are the completions of flags that the name of their value does not tell.
var named = map[string]cobra.CompletionFunc{
	"process":  processes,
	"label":    labels,
	"baseline": runs,
	"current":  runs,
	"pinned":   runs,
	"workload": workloads,
	"debuginfod": cobra.FixedCompletions([]cobra.Completion{"env\tthe servers in DEBUGINFOD_URLS"},
		cobra.ShellCompDirectiveNoFileComp),
	"signal": cobra.FixedCompletions([]cobra.Completion{"USR1", "USR2", "PROF", "QUIT"},
		cobra.ShellCompDirectiveNoFileComp),
}

// values are the completions of flags by the name of their value. nil leaves it to the shell, which
// completes files.
var values = map[string]cobra.CompletionFunc{
	"FILE": nil, "FORMAT=FILE": nil, "OUT": nil, "DIR": directories, "PATH": paths,
}

// one restricts a completion to the first argument.
func one(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// paths completes a PATH of snapshots.
func paths(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return files(word, snapshots())
}

// runs completes a PATH of snapshots or of the summary of a run.
func runs(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return files(word, append(snapshots(), strings.TrimPrefix(baseline.Suffix, ".")))
}

// files completes directories, and files with some extensions. Where there are none of these, it
// completes all files, because snapshots may have any name.
func files(word string, extensions []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir, prefix := filepath.Split(word)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), prefix) && (e.IsDir() || hasExtension(e.Name(), extensions))
	}) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return extensions, cobra.ShellCompDirectiveFilterFileExt
}

func hasExtension(name string, extensions []string) bool {
	return slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(name, "."+e) })
}

// snapshots are the extensions of snapshots, with and without compression, and of bundles, without
// the dot.
func snapshots() (out []string) {
	for _, e := range filename.Extensions() {
		e = strings.TrimPrefix(e, ".")
		out = append(out, e, e+".gz", e+".zst")
	}
	return append(out, strings.TrimPrefix(bundle.Suffix, "."))
}
