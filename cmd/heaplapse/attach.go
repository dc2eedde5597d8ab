package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/record"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/terminal"
	"github.com/heaplapse/heaplapse/internal/units"
)

type attachFlags struct {
	record.AttachOptions
	every, holdersEvery  flagset.Interval
	samplePeriod         flagset.PositiveSize
	keepBytes            flagset.Size
	detachOnly, noBundle bool
	scope                scopeFlags
}

func (a *app) attachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach [flags] PID | --container NAME",
		Short: "record a process that is already running, and leave it as it was",
		Long: `Loads heaplapse's profiler into a running process, takes snapshots of what is allocated from now
on, and takes the profiler out of use again: when the duration is over, after ^C, or by itself if
heaplapse is killed. One thread of the process is stopped for some milliseconds at the start, at a
moment when that is safe; the others run on. The process is not restarted, and needs no preparation.

  heaplapse attach 4711 -o DIR                      end it with ^C, then: heaplapse growth DIR
  heaplapse attach --container web --duration 2m    from the host: a name, an ID, POD/CONTAINER

Its workers are recorded, too, also those that start later: forks of it, and processes that run the
same program. --main-only records the process alone; --follow-children all of its descendants.

What was allocated before is not seen, and nothing happens when it is freed. What leaks is allocated
again and again, and is seen. Lines of Python are recorded as by heaplapse record.

It works on x86-64 with glibc 2.34 and later. A process that it cannot record safely is left alone,
with the reason: static programs, programs that have an allocator of their own linked in, sanitizer
builds, seccomp filters that forbid what is needed. See docs/attach.md.

Exit status: 0: recorded, and detached; 125: attach itself failed; 126: the process cannot be
recorded, and was left alone; 127: there is no such process.`,
		Args: cobra.ArbitraryArgs, // see flagset.PIDOf
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.PID, err = flagset.PIDOf(args, f.Container); err != nil {
				return recordUsage(cmd, err)
			}
			return a.attach(cmd, &f)
		},
	}
	cmd.SetFlagErrorFunc(recordUsage)
	f.add(cmd)
	return cmd
}

func (f *attachFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Process, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.Container, "container", "", "the container `NAME` on this host: a name or ID of docker, podman, containerd or runc, POD/CONTAINER")
		flags.Var(flagset.Time(&f.Duration, 0), "duration", "detach after `TIME`, like 10m (default: ^C does)")
		f.scope.add(flags)
		flags.BoolVar(&f.Wait, "wait", false, "if the process is busy, stopped or traced, wait until it can be recorded")
		flags.BoolVar(&f.detachOnly, "detach-only", false, "end a recording that another heaplapse attach has begun")
	})
	help.Alias(cmd, "all-children", "follow-children", cmd.Flags().Lookup("follow-children").Value)
	help.Group(cmd, help.When, func(flags *pflag.FlagSet) {
		flags.Var(&f.every, "every", "the `TIME` between snapshots, like 30s; auto begins with 500ms and slows down; 0 is off")
		flags.Var(&f.samplePeriod, "sample-period", "sample one allocation per `SIZE` allocated (default 128KiB)")
		flags.Var(flagset.Count(&f.Keep, 500), "keep", "keep at most `N` snapshots of each process, evenly spaced (0: all)")
		addHolders(flags, &f.holdersEvery, &f.NoHolders)
		_ = f.keepBytes.Set(keepBytes)
		flags.Var(&f.keepBytes, "keep-bytes", "keep snapshots of at most `SIZE` in all, but 12 of each process (0: all)")
	})
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.VarP(flagset.OutputDir(&f.Dir, ""), "output", "o", "write to `DIR` (default: heaplapse-NAME-TIME in the current directory)")
		addNoBundle(flags, &f.noBundle)
	})
	help.Levels(cmd, "container duration main-only follow-children detach-only every sample-period keep output",
		"wait keep-bytes holders-every")
}

// options returns the flags with sizes and times parsed.
func (f *attachFlags) options() (o record.AttachOptions, err error) {
	o = f.AttachOptions
	o.Recorder = build.Tool()
	o.Every, o.Adaptive = f.every.Every, !f.every.Fixed
	o.SamplePeriod, o.KeepBytes = f.samplePeriod.Bytes, f.keepBytes.Bytes
	o.Guard = newGuard()
	o.HoldersEvery, o.NoHolders = holdersEvery(&f.holdersEvery, f.NoHolders)
	o.HoldFiles = !f.noBundle
	o.Scope, err = f.scope.value()
	return o, err
}

func (a *app) attach(cmd *cobra.Command, f *attachFlags) error {
	o, err := f.options()
	if err != nil {
		return recordUsage(cmd, err)
	}
	if f.detachOnly {
		outcome, err := record.Detach(o)
		if err == nil {
			a.Say("detached from process %d: %s put back", outcome.PID, units.Count(outcome.Restored, "function"))
		}
		return err
	}
	o.Note = func(text string) { a.Warn(text) }
	o.Tell = func(text string) { a.Say("%s", text) }
	o.Began = func(lines []string) {
		for _, line := range lines {
			a.Say("%s", line)
		}
		if o.Duration > 0 && terminal.Is(a.Err) { // somebody waits
			a.Say("detaches at %s; ^C detaches earlier", time.Now().Add(o.Duration).Format(time.TimeOnly))
		}
	}
	a.signals.Orderly()
	outcome, err := record.Attach(cmd.Context(), o)
	if err != nil {
		return err
	}
	for _, n := range outcome.Notes {
		a.Warn(n)
	}
	if outcome.Snapshots == 0 {
		return &status.Error{Status: status.Failed, Err: errors.New("there are no snapshots")}
	}
	a.keepNames(context.WithoutCancel(cmd.Context()), &outcome) // ^C is how most recordings end
	a.Say("%s; next: heaplapse growth %s", outcome, record.ShellQuote(outcome.Dir))
	return nil
}
