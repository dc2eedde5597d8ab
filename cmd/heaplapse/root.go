package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/fleet"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/packaging"
)

// root returns the command with all of its subcommands.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "heaplapse",
		Short: "find what grows in a native heap",
		Long: `heaplapse reads series of heap snapshots written by gperftools tcmalloc (HEAPPROFILE=…)
or jemalloc (MALLOC_CONF=prof:true). It names every address without the running program,
converts snapshots to pprof, and reports which allocation sites grow.

PATH is a directory, a file, a prefix (/tmp/profile for /tmp/profile.0001.heap …), a quoted
glob pattern, - for standard input, or an archive written by heaplapse bundle. Files may be
compressed (.gz, .zst).

Exit status: 0 success; 1 a check found a leak (--fail-on) or a regression (gate); 2 usage
error, unreadable input, or no verdict although a check needs one.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          help.Args(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(help.Error)
	cmd.SetUsageFunc(help.Usage)
	f := cmd.PersistentFlags()
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "do not print warnings")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "print every warning, and long tables in full")
	a.addCommands(cmd, "Record and inspect:",
		a.recordCommand(), a.attachCommand(), a.scrapeCommand(), a.infoCommand(), a.topCommand(), a.viewCommand())
	a.addCommands(cmd, "Find what grows:", a.growthCommand(), a.watchCommand(), a.reportCommand(), a.diffCommand())
	a.addCommands(cmd, "Compare runs in CI:", a.gateCommand(), a.baselineCommand())
	a.addCommands(cmd, "Many hosts:", fleet.Command(&a.Console), fleet.PushCommand(&a.Console))
	a.addCommands(cmd, "Convert and share:", a.convertCommand(), a.bundleCommand(), a.symbolizeCommand())
	cmd.AddCommand(a.versionCommand())
	packaging.AddTo(cmd)
	cmd.SetIn(a.In)
	cmd.SetOut(a.Out)
	cmd.SetErr(a.Err)
	cmd.InitDefaultCompletionCmd() // keeps the output that is set
	for _, c := range cmd.Commands() {
		if c.Name() == "completion" {
			c.Short = "print a shell completion script"
		}
	}
	return cmd
}

// addCommands adds subcommands under a title of the help.
func (a *app) addCommands(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
		root.AddCommand(c)
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print version and platform",
		Args:  help.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			lines := []string{fmt.Sprintf("%s %s/%s %s", build.Tool(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
			if commit, at := build.Source(); commit != "" {
				lines = append(lines, fmt.Sprintf("commit %s of %s", commit, at.UTC().Format(time.DateOnly)))
			}
			return output.Lines(a.Out, lines...)
		},
	}
}
