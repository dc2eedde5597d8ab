package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/internal/report/pprofui"
)

type viewFlags struct {
	stackFlags
	port          int
	noBrowser     bool
	keepAllocator bool
}

func (a *app) viewCommand() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view PATH…",
		Short: "pprof's own web UI on the series, a snapshot chosen by a menu",
		Long: `Serves pprof's web UI on the loopback interface: flame graph, graph (needs Graphviz),
top, source. A menu chooses the snapshot, and one to subtract. Snapshots are
converted when they are looked at. Prints the address, opens a browser where
there is a desktop, and ends with ^C.`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.view(cmd.Context(), &f, paths) },
	}
	f.add(a, cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.port, "port", 0, "listen on port `N` of 127.0.0.1 (0: one that is free)")
	flags.BoolVar(&f.noBrowser, "no-browser", false, "only print the address")
	flags.BoolVar(&f.keepAllocator, "keep-allocator-frames", false, "keep tcmalloc's and jemalloc's own frames at the leaf")
	return cmd
}

func (a *app) view(ctx context.Context, f *viewFlags, paths []string) error {
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: want 0 to 65535", f.port)
	}
	s, err := f.open(a, paths, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	symbols, filter, err := f.named(ctx, a, s)
	if err != nil {
		return err
	}
	c, err := convert.New(s, symbols, convert.Options{Tool: "heaplapse " + version(), Filter: filter, KeepAllocatorFrames: f.keepAllocator})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("--port %d: %w", f.port, err)
	}
	address := "http://" + listener.Addr().String() + "/"
	if _, err := fmt.Fprintln(a.out, address); err != nil {
		return errors.Join(err, listener.Close())
	}
	if !f.noBrowser {
		if err := openBrowser(address); err != nil {
			a.warn("no browser was opened: " + err.Error())
		}
	}
	return serve(ctx, listener, pprofui.New(s, c))
}

// serve answers until the context or a signal ends it.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return server.Close() // nothing that is under way is worth waiting for
}

// openBrowser opens an address on the user's desktop, if there is one.
func openBrowser(address string) error {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return nil // a machine without a desktop
	}
	cmd := exec.Command(name, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it says itself what went wrong
	return nil
}
