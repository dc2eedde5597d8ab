package completion

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/printable"
)

// processes completes the processes of the recording that the command line names, with their
// commands.
func processes(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	recording, err := series.Find(recordings(cmd, args), series.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer recording.Close()
	for _, p := range recording.Processes {
		word := p.Name()
		if p.PID != 0 {
			word = strconv.Itoa(p.PID)
		}
		out = append(out, cobra.CompletionWithDesc(word, p.CommandLine()))
	}
	return printed(out), cobra.ShellCompDirectiveNoFileComp
}

// recordings are the paths of snapshots on a command line that can be read without waiting.
func recordings(cmd *cobra.Command, args []string) (out []string) {
	if name(cmd) == "baseline save" && len(args) > 0 {
		args = args[1:]
	}
	if current := cmd.Flag("current"); current != nil {
		args = []string{current.Value.String()}
	}
	for _, path := range args {
		if info, err := os.Stat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			out = append(out, path)
		}
	}
	return out
}

// saved completes the arguments of baseline save: the set, and the paths of a run.
func saved(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return directories(cmd, args, word)
	}
	return paths(cmd, args, word)
}

// pinned completes the arguments of baseline pin: the set, and the name of a run.
func pinned(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return directories(cmd, args, word)
	case 1:
		names := inSet(cmd, args, func(r *baseline.Run) []string { return []string{r.Meta.Name} })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// labels completes the keys of the labels that the runs of the set have.
func labels(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys := inSet(cmd, args, func(r *baseline.Run) []string { return slices.Collect(maps.Keys(r.Meta.Labels)) })
	for i := range keys {
		keys[i] += "="
	}
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// workloads completes the names of the workloads of the set.
func workloads(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inSet(cmd, args, func(r *baseline.Run) []string {
		if strings.HasPrefix(r.Meta.Workload, "command ") {
			return nil // a hash of the command line
		}
		return []string{r.Meta.Workload}
	}), cobra.ShellCompDirectiveNoFileComp
}

// inSet returns what a function returns for the runs of the baseline sets that the command line
// names, sorted, each once.
func inSet(cmd *cobra.Command, args []string, of func(*baseline.Run) []string) (out []string) {
	dirs := args[:min(len(args), 1)]
	if f := cmd.Flag("baseline"); f != nil {
		if runs, ok := f.Value.(interface{ GetSlice() []string }); ok {
			dirs = runs.GetSlice()
		}
	}
	for _, dir := range dirs {
		set, err := baseline.Open(dir)
		if err != nil {
			continue
		}
		for _, e := range set.Entries {
			out = append(out, of(e.Run)...)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	slices.Sort(out)
	return printed(slices.Compact(out))
}

// printed leaves out what could control the terminal: the files may be hostile.
func printed(words []cobra.Completion) []cobra.Completion {
	return slices.DeleteFunc(words, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && !printable.Rune(r) })
	})
}
