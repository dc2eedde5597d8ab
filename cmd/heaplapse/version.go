package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/manual"
)

// release is set when a release is built: -ldflags "-X main.release=1.0.0".
var release string

// version returns the release, or else the version that the Go toolchain recorded.
func version() string {
	if release != "" {
		return release
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}

// tool is the name and version that output files contain.
func tool() string { return "heaplapse " + version() }

// source returns the commit that was built and its time, as far as the Go toolchain recorded them.
func source() (commit string, at time.Time) {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "", time.Time{}
	}
	modified := ""
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if commit != "" {
		commit += modified
	}
	return commit, at
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print version and platform",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			var b strings.Builder
			fmt.Fprintf(&b, "%s %s/%s %s\n", tool(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			if commit, at := source(); commit != "" {
				fmt.Fprintf(&b, "commit %s of %s\n", commit, at.UTC().Format(time.DateOnly))
			}
			_, err := a.out.Write([]byte(b.String()))
			return err
		},
	}
}

// manualCommand returns the command that packages are built with.
func (a *app) manualCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "manual DIR",
		Short:  "write the man pages into a directory",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			_, at := source()
			return manual.Write(root, manual.Build{Version: version(), Date: at}, args[0])
		},
	}
}
