package main

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/addresses"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/baselines"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/completion"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/fleet"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/packaging"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/settings"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// root returns the command with all of its subcommands.
func (a *app) root() *cobra.Command {
	version, printer := false, help.Printer{Width: terminal.Width(a.Out)}
	cmd := &cobra.Command{
		Use:   "heaplapse",
		Short: "find what grows in a native heap",
		Long: `heaplapse records what is in the heap of a program, as a series of snapshots, and tells which
allocation sites grow, and whether they leak. It also reads the snapshots of gperftools, jemalloc
and other profilers, names every address without the running program, and converts them to pprof.

  heaplapse record -- ./server      run a program, and record it
  heaplapse attach PID              record a program that runs
  heaplapse scrape URL              record a service that serves profiles
  heaplapse growth DIR              what grows, and whether it leaks

PATH is a directory, a file, a prefix (/tmp/profile for /tmp/profile.0001.heap …), a quoted
glob pattern, - for standard input, or an archive written by heaplapse bundle. Files may be
compressed (.gz, .zst).

Exit status: 0 success; 1 a check found a leak (--fail-on) or a regression (gate); 2 usage
error, unreadable input, or no verdict although a check needs one.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          help.Subcommand,
		RunE: func(*cobra.Command, []string) error {
			if version {
				return a.version()
			}
			return printer.Start(output.Characters(a.Out))
		},

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return cmp.Or(a.configure(cmd), output.CheckName(cmd))
		},
	}
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.BoolVar(&version, "version", false, "print version and platform")
	})
	cmd.SetFlagErrorFunc(help.Error)
	cmd.SetUsageFunc(printer.Usage)
	cmd.SetHelpFunc(printer.Help)
	f := cmd.PersistentFlags()
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "do not print remarks, and warnings that the result does not depend on")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "print every warning, and long tables in full")
	f.StringVar(&a.configFile, "config", "", "read the flags of each command, and the thresholds of gate, from the YAML `FILE` (default: heaplapse.yaml in the current directory, else in the user's)")
	help.MakeRare(f.Lookup("config"))
	a.addCommands(cmd, "Record and inspect:",
		a.recordCommand(), a.attachCommand(), a.scrapeCommand(), a.infoCommand(), a.topCommand(), a.viewCommand())
	a.addCommands(cmd, "Find what grows:", a.growthCommand(), a.holdersCommand(), a.watchCommand(), a.reportCommand(), a.diffCommand())
	a.addCommands(cmd, "Compare runs in CI:", a.gateCommand(), baselines.Command(&a.Console))
	a.addCommands(cmd, "Many hosts:", fleet.Command(&a.Console), fleet.PushCommand(&a.Console))
	a.addCommands(cmd, "Convert and share:", a.convertCommand(), a.bundleCommand(), addresses.Command(&a.Console))
	cmd.AddCommand(a.versionCommand(), guardCommand())
	packaging.AddTo(cmd)
	cmd.SetHelpCommand(helpCommand())
	help.AddAll(cmd)
	cmd.SetIn(a.In)
	cmd.SetOut(output.Characters(a.Out))
	cmd.SetErr(a.Err)
	completion.AddCommand(cmd) // keeps the output that is set
	return cmd
}

// configure sets the flags of a command that heaplapse.yaml sets and the command line does not.
func (a *app) configure(cmd *cobra.Command) error {
	if !settings.Configurable(cmd) {
		return nil
	}
	file, err := settings.Read(cmd.Root(), a.configFile, a.Doubt)
	if err == nil {
		a.settings = file
		err = file.Apply(cmd)
	}
	if err != nil {
		return cmd.FlagErrorFunc()(cmd, &help.FileError{Err: err})
	}
	return nil
}

// addCommands adds subcommands under a title of the help.
func (a *app) addCommands(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
		root.AddCommand(c)
	}
}

// helpCommand returns the command help, which refuses names of commands that do not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "describe a command",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 && found.HasSubCommands() {
				return help.Subcommand(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print version and platform",
		Long: `Prints the version of the program, the platform that it was built for, and the commit of its source.

  heaplapse version`,
		Args: help.Between(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	lines := []string{fmt.Sprintf("%s %s/%s %s", build.Tool(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
	if commit, at := build.Source(); commit != "" {
		lines = append(lines, fmt.Sprintf("commit %s of %s", commit, at.UTC().Format(time.DateOnly)))
	}
	return output.Lines(a.Out, lines...)
}
