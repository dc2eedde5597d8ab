package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagname"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// pipeline returns the steps of a command, which tell what is wrong with the input.
func (a *app) pipeline() *pipeline.Pipeline {
	return &pipeline.Pipeline{
		Stdin: a.in, Tell: a.tell, Verbose: a.verbose, Flags: flagname.All(),
		Waiting: func(path string) { a.say("waiting for data: %s is a pipe", text.Message(path)) },
		Progress: func(what string) (update func(done, all int), end func()) {
			bar := terminal.NewProgress(a.err, what)
			return bar.Update, bar.Done
		},
	}
}

// tell prints a notice and lets it decide the exit status.
func (a *app) tell(n pipeline.Notice) {
	if n.Severity != pipeline.Warning {
		a.status = exitFailure
	}
	if n.Severity == pipeline.Failure {
		a.printError(a.words(n))
	} else {
		a.warn(a.words(n))
	}
}

// tellFailures tells failures only. Other notices decide the exit status.
func (a *app) tellFailures(n pipeline.Notice) {
	switch n.Severity {
	case pipeline.Failure:
		a.tell(n)
	case pipeline.StrictWarning:
		a.status = exitFailure
	}
}

// words returns a notice in words, with the flags that help.
func (a *app) words(n pipeline.Notice) string {
	switch n.Kind {
	case pipeline.MissingModules:
		const shown = 3
		list := n.Modules
		if len(list) > shown && !a.verbose {
			list = append(list[:shown:shown], fmt.Sprintf("and %d more", len(list)-shown))
		}
		return "not found, so their functions have no names: " + strings.Join(list, ", ") + " (see --sysroot, --binary)"
	case pipeline.PlacesIgnored:
		return "a bundle contains the files that names come from: --binary, --sysroot, --debug-dir, --perf-map and --debuginfod have no effect on it"
	case pipeline.SkippedBaseline:
		return n.Text + "; left out because of --force"
	}
	return n.Text
}

// complain prints an error, one line for each of several different ones that were joined.
func (a *app) complain(err error) {
	if errors.Is(err, pipeline.ErrNothingKept) {
		err = errors.New("no stack is left: nothing matches --focus, or --ignore drops everything")
	}
	for _, line := range slices.Compact(strings.Split(err.Error(), "\n")) {
		a.printError(line)
	}
}

func (a *app) warn(line string) {
	if !a.quiet {
		a.printError("warning: " + line)
	}
}

// printError prints a message, which may quote the input.
func (a *app) printError(line string) {
	fmt.Fprintf(a.err, "heaplapse: %s\n", text.Message(line))
}

// say prints a remark about what the command does.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, "heaplapse: "+format+"\n", args...)
	}
}
