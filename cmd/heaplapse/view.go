package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/internal/report/pprofui"
)

type viewFlags struct {
	flagset.Stacks
	port          int
	noBrowser     bool
	keepAllocator bool
	sourceRoot    string
}

func (a *app) viewCommand() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view PATH…",
		Short: "open pprof's web UI on the series, with a menu of snapshots",
		Long: `Serves pprof's web UI on the loopback interface: flame graph, graph (needs Graphviz), top, source.
A menu selects the snapshot, and one to subtract from it. Prints the address, opens a browser if
there is a desktop, and ends with ^C. The address is secret: other users of the machine can connect
to it.

  heaplapse view DIR`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.view(cmd.Context(), &f, paths) },
	}
	f.Ages = true
	f.Stacks.Add(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.IntVar(&f.port, "port", 0, "listen on port `N` of 127.0.0.1 (0: any free port)")
		flags.BoolVar(&f.noBrowser, "no-browser", false, "print the address only")
		defineKeepAllocator(flags, &f.keepAllocator)
		flags.StringVar(&f.sourceRoot, "source-root", "", "show source files below `DIR` (default: the current directory; for a bundle: none)")
	})
	help.Levels(cmd, "older-than born-after process focus ignore port no-browser source-root",
		"demangle keep-allocator-frames binary sysroot debug-dir debuginfod perf-map no-cache")
	return cmd
}

func (a *app) view(ctx context.Context, f *viewFlags, paths []string) error {
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: want 0 to 65535", f.port)
	}
	source, err := f.Source()
	if err != nil {
		return err
	}
	p := a.Pipeline()
	in, err := p.Open(paths, source, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := p.Name(ctx, in, source); err != nil {
		return err
	}
	c, err := convert.New(in.Series, in.Symbols,
		convert.Options{Tool: build.Tool(), Filter: in.Filter, KeepAllocatorFrames: f.keepAllocator})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("--port %d: %w", f.port, err)
	}
	root := sourceRoot(f.sourceRoot, in.FromBundle())
	server := pprofui.New(in.Series, c, pprofui.Options{SourceRoot: root})
	address := "http://" + listener.Addr().String()
	if err := output.Lines(a.Out, address+server.Path()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if !f.noBrowser {
		if err := pprofui.OpenBrowser(address + server.LaunchPath()); err != nil {
			a.Warn("no browser was opened: " + err.Error())
		}
	}
	a.signals.Orderly()
	return server.Serve(ctx, listener)
}

// sourceRoot returns the directory whose source files are shown, or "".
func sourceRoot(chosen string, fromBundle bool) string {
	if chosen == "" && !fromBundle {
		return "."
	}
	return chosen
}
