package push_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/push"
	"github.com/heaplapse/heaplapse/internal/push/pushtest"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// judge calls use with the report on a recorded series.
func judge(t *testing.T, use func(*growthreport.Report) error, path ...string) {
	t.Helper()
	var p pipeline.Pipeline
	p.Tell = func(pipeline.Notice) {}
	names := symbolize.Options{Sysroot: testutil.Data(t, "leaky", "sysroot")}
	o := &pipeline.Judgement{Source: pipeline.Source{Symbols: names}}
	j := growthreport.Judge{Pipeline: &p, Judgement: o}
	require.NoError(t, j.ForEach(t.Context(), []string{testutil.Data(t, path...)}, use))
}

func pusher(t *testing.T, server push.Server, s *pushtest.Server, o request.Options) *push.Pusher {
	t.Helper()
	client, err := request.NewClient(&o)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	u, err := request.ParseURL(s.URL)
	require.NoError(t, err)
	return &push.Pusher{Server: server, URL: u, Client: client, Retry: time.Minute, Backoff: time.Millisecond}
}

var options = push.Options{
	Service: "shop", Host: "web-17", Labels: map[string]string{"canary": "yes"}, Snapshots: 4, Tool: "heaplapse 1",
}

// sent pushes the exemplars of a recorded series.
func sent(t *testing.T, p *push.Pusher) (exemplars []push.Exemplar) {
	t.Helper()
	judge(t, func(g *growthreport.Report) error {
		_, err := push.Exemplars(g, options, func(e *push.Exemplar) error {
			exemplars = append(exemplars, *e)
			return p.Send(t.Context(), e)
		})
		return err
	}, "leaky")
	return exemplars
}

// TestBothServersGetTheSameProfiles: those of the sites that leak, symbolized, with the times of the
// snapshots and the memory that growth found at the site.
func TestBothServersGetTheSameProfiles(t *testing.T) {
	want := map[string]int64{} // bytes by function and time
	judge(t, func(g *growthreport.Report) error {
		for _, site := range g.Result.Sites {
			for i, at := range g.Series.Clock.Times {
				if site.Label.IsLeak() {
					view := g.Describe(&site)
					want[view.Keys.Site.String()+at.UTC().String()] += site.Bytes[i]
				}
			}
		}
		return nil
	}, "leaky")
	for server, s := range map[push.Server]*pushtest.Server{
		push.Pyroscope: pushtest.Pyroscope(t), push.Parca: pushtest.Parca(t),
	} {
		p := pusher(t, server, s, request.Options{})
		exemplars := sent(t, p)
		got, requests := s.Received()
		require.Len(t, exemplars, 2*4, "two sites leak")
		require.Equal(t, 2*4, requests)
		require.Equal(t, []int{2 * 4, 0}, []int{p.Sent, p.Refused})
		for i, r := range got {
			require.Equal(t, want[r.Labels["site_key"]+time.Unix(0, r.TimeNanos).UTC().String()], inUse(r.Profile))
			require.Zero(t, r.DurationNanos, "a duration makes Parca take it for a change")
			require.Equal(t, map[string]string{
				"__name__": "memory", "service_name": "shop", "host": "web-17", "canary": "yes", "verdict": "leak",
				"site": exemplars[i].Site, "site_key": r.Labels["site_key"], "build_id": r.Labels["build_id"],
			}, r.Labels)
			require.Regexp(t, `^\d{10,}$`, r.Labels["site_key"])
			require.Regexp(t, `^[0-9a-f]{40}$`, r.Labels["build_id"])
			for _, sample := range r.Sample {
				require.True(t, calls(sample, exemplars[i].Site), "only stacks of the site")
			}
			for _, l := range r.Location {
				require.NotEmpty(t, l.Line, "symbolized")
			}
		}
	}
}

func inUse(p *profile.Profile) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[len(p.SampleType)-1]
	}
	return sum
}

func calls(s *profile.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.Contains(line.Function.Name, function) {
				return true
			}
		}
	}
	return false
}

// TestBusyServer: a request that meets a limit of the rate is repeated, and so is one that a proxy cannot
// pass on. Nothing is sent twice.
func TestBusyServer(t *testing.T) {
	for _, status := range []int{429, 408, 502, 503, 504} {
		s := pushtest.Pyroscope(t)
		s.Busy, s.BusyStatus = 5, status
		p := pusher(t, push.Pyroscope, s, request.Options{})
		var notes []string
		p.Note = func(text string) { notes = append(notes, text) }
		sent(t, p)
		got, requests := s.Received()
		require.Len(t, got, 2*4)
		require.Equal(t, 2*4+5, requests)
		require.Len(t, notes, 1, "of the first attempt only")
		require.Contains(t, notes[0], fmt.Sprint(s.URL, ": ", status))
		require.Contains(t, notes[0], "trying again for 1m")
	}
}

// TestServerThatStaysBusy: the error tells how often it was tried. The others are not sent.
func TestServerThatStaysBusy(t *testing.T) {
	s := pushtest.Pyroscope(t)
	s.Busy = 1_000_000
	p := pusher(t, push.Pyroscope, s, request.Options{})
	p.Retry = 20 * time.Millisecond
	err := sendOne(t, p)
	require.ErrorContains(t, err, `429 Too Many Requests, "push rate limit (4.0 MiB) exceeded while adding 1.2 MiB"; given up after `)
	require.ErrorContains(t, err, "--retry")
	_, requests := s.Received()
	require.Greater(t, requests, 1)
}

// sendOne sends a profile without stacks.
func sendOne(t *testing.T, p *push.Pusher) error {
	t.Helper()
	return p.Send(t.Context(), &push.Exemplar{
		Site: "f", Snapshot: "leaky.0001",
		Labels:  []push.Label{{Name: "__name__", Value: "memory"}, {Name: "service_name", Value: "shop"}},
		Profile: &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}},
	})
}

// TestRefusedProfiles: they are not sent again, and do not keep others from being sent.
func TestRefusedProfiles(t *testing.T) {
	s := pushtest.Pyroscope(t)
	s.RejectOlderThan = time.Hour
	p := pusher(t, push.Pyroscope, s, request.Options{})
	var notes []string
	p.Note = func(text string) { notes = append(notes, text) }
	sent(t, p)
	got, requests := s.Received()
	require.Empty(t, got)
	require.Equal(t, 2*4, requests)
	require.Equal(t, []int{0, 2 * 4}, []int{p.Sent, p.Refused})
	require.Regexp(t, `^\S+ of leaky.\d{4} was refused: 400 Bad Request, "profile with labels`, notes[0])
}

// TestServerThatTakesNothing: the first error ends it.
func TestServerThatTakesNothing(t *testing.T) {
	s := pushtest.Pyroscope(t)
	s.Token = "secret"
	require.ErrorContains(t, sendOne(t, pusher(t, push.Pyroscope, s, request.Options{})), "401 Unauthorized")
	require.ErrorContains(t, sendOne(t, pusher(t, push.Parca, s, request.Options{})), "404 Not Found")
	_, requests := s.Received()
	require.Equal(t, 2, requests)
	page := pushtest.Page(t)
	require.ErrorContains(t, sendOne(t, pusher(t, push.Parca, page, request.Options{})), "the answer is an HTML page: is this the URL of parca")
	p := pusher(t, push.Parca, page, request.Options{})
	page.Close()
	p.Retry = 0
	require.ErrorContains(t, sendOne(t, p), "connection refused; given up after 1 attempt")
}

// TestSameSeriesSameRequests: what is sent does not depend on the order of a map. A request that is repeated
// has the same ID.
func TestSameSeriesSameRequests(t *testing.T) {
	s := pushtest.Pyroscope(t)
	for range 3 {
		sent(t, pusher(t, push.Pyroscope, s, request.Options{}))
	}
	require.Len(t, s.Bodies(), 3*2*4)
	for i, body := range s.Bodies() {
		require.Equal(t, s.Bodies()[i%8], body)
	}
}

// TestNothingToSend: of sites that do not leak, and of snapshots without times.
func TestNothingToSend(t *testing.T) {
	use := func(*push.Exemplar) error { return errors.New("not called") }
	judge(t, func(g *growthreport.Report) error {
		g.Series.Clock.Source = series.ClockAllocated
		_, err := push.Exemplars(g, options, use)
		require.ErrorIs(t, err, push.ErrNoTimes)
		for i := range g.Result.Sites {
			g.Result.Sites[i].Label = verdict.Suspect
		}
		sites, err := push.Exemplars(g, options, use)
		require.Zero(t, sites)
		return err
	}, "leaky")
}
