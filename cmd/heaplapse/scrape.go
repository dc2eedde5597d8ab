package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/record"
	"github.com/heaplapse/heaplapse/internal/scrape"
)

type scrapeFlags struct {
	scrape.Options
	every    flagset.Interval
	maxSize  flagset.Size
	requests flagset.Requests
	memory   flagset.Memory
}

func (a *app) scrapeCommand() *cobra.Command {
	var f scrapeFlags
	cmd := &cobra.Command{
		Use:   "scrape [flags] URL…",
		Short: "take snapshots from a running service over HTTP",
		Long: `Takes the heap profile of a running service again and again. http://HOST:PORT is a Go service that
imports net/http/pprof: its heap profiles are taken after a garbage collection, and its goroutine
profiles. Any other URL is that of a heap profile: in pprof's format (Go, Rust with jemalloc_pprof,
Node with @datadog/pprof), or as tcmalloc and jemalloc write it.

  heaplapse scrape http://localhost:6060 -o DIR       end it with ^C, then: heaplapse growth DIR
  heaplapse scrape http://localhost:6060 -o DIR --duration 30m
  heaplapse scrape https://HOST/debug/heap.pb.gz --header 'Authorization: Bearer …'

If the service stops answering, scrape tries again until it does. Several URLs are several
processes, each with snapshots of its own.

Exit status: 0 if there are snapshots of each URL, also after ^C; otherwise 2.`,
		Args: help.SomeURL("no URL given: heaplapse scrape http://HOST:PORT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.URLs = args
			return a.scrape(cmd, &f)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *scrapeFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Requests, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.NoGC, "no-gc", false, "do not ask a Go service for a garbage collection before each heap profile")
		flags.BoolVar(&f.NoGoroutines, "no-goroutines", false, "do not take goroutine profiles of a Go service")
		f.requests.Define(flags)
		_ = f.maxSize.Set("256MiB")
		flags.Var(&f.maxSize, "max-size", "refuse profiles of more than `SIZE`")
		flags.Var(flagset.Time(&f.Wait, 10*time.Second), "wait", "wait for the first answer for up to `TIME`")
		f.memory.Most = 1 << 30 // of what a service answers, nobody knows whether it is genuine
		f.memory.Define(flags)
	})
	help.Group(cmd, help.When, func(flags *pflag.FlagSet) {
		f.every.NeverOff = true
		flags.Var(&f.every, "every", "the `TIME` between snapshots, like 30s; auto takes 48 in the duration, or slows down from 5s to 1m")
		flags.Var(flagset.Time(&f.Duration, 0), "duration", "end after `TIME`, like 2h (default: ^C ends it)")
		flags.Var(flagset.Count(&f.Keep, 500), "keep", "keep at most `N` snapshots of each kind, evenly spaced (0: all)")
	})
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.VarP(flagset.OutputDir(&f.Dir, ""), "output", "o", "write to `DIR` (default: heaplapse-HOST-TIME in the current directory)")
	})
	help.Levels(cmd, "header cacert insecure no-gc no-goroutines every duration keep output",
		"timeout max-size wait max-memory")
}

// options returns the flags with sizes, times and headers parsed.
func (f *scrapeFlags) options() (o scrape.Options, err error) {
	o = f.Options
	o.Recorder = build.Tool()
	o.Every = f.every.Every
	o.MaxSize, o.Check = f.maxSize.Bytes, f.memory.Check()
	o.Options, err = f.requests.Options()
	return o, err
}

func (a *app) scrape(cmd *cobra.Command, f *scrapeFlags) error {
	o, err := f.options()
	if err != nil {
		return help.Error(cmd, err)
	}
	o.Note = func(text string) { a.Warn(text) }
	o.Began = func(dir string) {
		until := "until ^C"
		if o.Duration > 0 {
			until = fmt.Sprintf("for %s", o.Duration)
		}
		a.Say("snapshots go to %s, %s", dir, until)
	}
	a.signals.Orderly()
	return a.finishScrape(scrape.Run(cmd.Context(), o))
}

// finishScrape tells what was recorded, and what to do with it.
func (a *app) finishScrape(outcome scrape.Outcome, err error) error {
	for _, n := range outcome.Notes {
		a.Warn(n)
	}
	if outcome.Services > 0 {
		a.Say("%s; next: heaplapse growth %s", outcome, record.ShellQuote(outcome.Dir))
	}
	return err
}
