package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/push"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/units"
)

type pushFlags struct {
	judgeFlags
	push.Options
	requests flagset.Requests
	to, url  string
	retry    time.Duration
}

var pushServers = flagset.NewChoice("to", push.Servers()...)

// PushCommand returns the command push.
func PushCommand(c *console.Console) *cobra.Command {
	var f pushFlags
	cmd := &cobra.Command{
		Use:   "push PATH… --to SERVER --url URL --service NAME",
		Short: "send profiles of the sites that leak to Pyroscope or Parca",
		Long: `Judges the snapshots at PATH as growth does, and sends the sites that leak to a server for profiles:
of each site, a few snapshots, evenly spaced, as symbolized profiles of the memory in use. Times are
kept. The output is the labels of each site: with them, the server finds its profiles.

  heaplapse push heaps/ --to pyroscope --url http://HOST:4040 --service shop
  heaplapse push heaps/ --to parca --url http://HOST:7070 --service shop --label canary=yes

Both servers add up the profiles of a period. To see the memory in use, choose a period with one
profile. Pyroscope refuses profiles that are older than an hour, unless its setting
validation.reject-older-than allows them.

Exit status: 0 if all profiles were taken, or no site leaks; otherwise 2.`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error {
			p, err := f.pusher(c)
			if err != nil {
				return help.Error(cmd, err)
			}
			return send(cmd.Context(), c, &f, p, paths)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *pushFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Requests, func(flags *pflag.FlagSet) {
		pushServers.Var(flags, &f.to, "", "the kind of `SERVER`: "+pushServers.String()+" (required)")
		flags.StringVar(&f.url, "url", "", "the `URL` of the server, such as http://HOST:4040 (required)")
		f.requests.Define(flags)
		flags.Var(flagset.Time(&f.retry, time.Minute), "retry",
			"while the server is busy or does not answer, repeat a request for up to `TIME`")
	})
	pushServers.Complete(cmd)
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		defineService(flags, &f.Service)
		defineHost(flags, &f.Host)
		f.defineLabels(flags, "give profiles the label `KEY=VALUE` (repeatable)")
		flags.IntVar(&f.Options.Snapshots, "exemplars", 4, "send at most `N` snapshots of a site, evenly spaced")
	})
	f.judgeFlags.add(cmd)
	help.Levels(cmd, "to url header insecure service host label exemplars process",
		"cacert timeout retry strict binary sysroot debuginfod")
}

// pusher checks the flags, and returns who sends the profiles.
func (f *pushFlags) pusher(c *console.Console) (*push.Pusher, error) {
	if f.to == "" || f.url == "" {
		return nil, errors.New("no server given: use --to and --url")
	}
	u, err := request.ParseURL(f.url)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	if !strings.ContainsAny(f.url, ":./") && f.url != "localhost" {
		return nil, fmt.Errorf("--url %s: want the URL of the server, such as http://HOST:4040", f.url)
	}
	switch {
	case f.Service == "":
		return nil, errors.New("no --service NAME given: servers file profiles under the name of a service")
	case f.Options.Snapshots < 1:
		return nil, fmt.Errorf("--exemplars %d: want 1 or more", f.Options.Snapshots)
	}
	if f.Labels, err = flagset.ParseLabels(f.labels); err != nil {
		return nil, err
	}
	for name := range f.Labels {
		if err := push.CheckLabel(name); err != nil {
			return nil, fmt.Errorf("--label: %w", err)
		}
	}
	client, err := f.client()
	return &push.Pusher{Server: push.Server(f.to), URL: u, Client: client, Retry: f.retry, Note: c.Warn}, err
}

func (f *pushFlags) client() (*request.Client, error) {
	o, err := f.requests.Options()
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.NotFound = func(*url.URL) string { return fmt.Sprintf("is this the URL of %s?", f.to) }
	return request.NewClient(&o)
}

func send(ctx context.Context, c *console.Console, f *pushFlags, p *push.Pusher, paths []string) error {
	defer p.Client.Close()
	f.Tool = build.Tool()
	judge, err := f.judge(c, false)
	if err != nil {
		return err
	}
	all := 0
	err = judge.ForEach(ctx, paths, func(g *growthreport.Report) error {
		sites, err := sendOne(ctx, c, f.Options, p, g)
		all += sites
		return err
	})
	switch {
	case err != nil:
		return err
	case all == 0:
		c.Say("no site leaks: nothing was sent")
	default:
		c.Say("%s of %s sent to %s", units.CountOf(p.Sent, "profile", "profiles"),
			units.CountOf(all, "site", "sites"), request.Display(p.URL))
	}
	if p.Refused > 0 {
		return fmt.Errorf("%s refused %s", request.Display(p.URL), units.CountOf(p.Refused, "profile", "profiles"))
	}
	return nil
}

// sendOne sends the exemplars of a process, and prints the labels of those that the server took.
func sendOne(
	ctx context.Context,
	c *console.Console,
	o push.Options,
	p *push.Pusher,
	g *growthreport.Report,
) (int, error) {
	if g.Result.Why.DataMissing() {
		c.Doubt(fmt.Sprintf("process %s: no verdict: %s", g.Series.Process.Name(), g.Result.Reason()))
	}
	o.Host = hostOf(g, o.Host)
	known := map[string]bool{}
	return push.Exemplars(g, o, func(e *push.Exemplar) error {
		before := p.Sent
		if err := p.Send(ctx, e); err != nil {
			return err
		}
		selector := push.Selector(e.Labels)
		if p.Sent == before || known[selector] {
			return nil
		}
		known[selector] = true
		return output.Lines(c.Out, selector)
	})
}
