package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/fleet/verdict"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// truthOver is the truth about a function over the hosts of a cell: it leaks if it does on half of them or
// more, and is harmless if it leaks on none.
func truthOver(hosts []onHost) leaksim.Verdict {
	leaks, harmless := 0, 0
	for _, h := range hosts {
		switch h.verdict {
		case leaksim.IsLeak:
			leaks++
		case leaksim.IsHarmless:
			harmless++
		}
	}
	switch {
	case harmless == len(hosts):
		return leaksim.IsHarmless
	case 2*leaks >= len(hosts):
		return leaksim.IsLeak
	}
	return leaksim.IsExcluded
}

// onlyTruth is the truth about a function that is said to leak only on some hosts.
func onlyTruth(with, reference []onHost) leaksim.Verdict {
	here, there := truthOver(with), truthOver(reference)
	switch {
	case here == leaksim.IsLeak && there == leaksim.IsHarmless:
		return leaksim.IsLeak
	case here == leaksim.IsExcluded || there == leaksim.IsExcluded:
		return leaksim.IsExcluded
	}
	return leaksim.IsHarmless
}

// fleetCase is a site of a cell: what the rule sees, and the truth.
type fleetCase struct {
	truth           leaksim.Verdict
	with, reference []onHost
}

// everywhere are the sites over all hosts.
func everywhere(sites []fleetSite) (out []fleetCase) {
	for i := range sites {
		out = append(out, fleetCase{truth: truthOver(sites[i].hosts), with: sites[i].hosts})
	}
	return out
}

// byLabel are the sites on the hosts with the label, against those without it, and the reverse.
func byLabel(sites []fleetSite, labelled int) (out []fleetCase) {
	for i := range sites {
		with, without := sites[i].hosts[:labelled], sites[i].hosts[labelled:]
		out = append(out,
			fleetCase{onlyTruth(with, without), with, without},
			fleetCase{onlyTruth(without, with), without, with})
	}
	return out
}

// tallyCases returns the score of a rule.
func tallyCases(cases []fleetCase, called func(*fleetCase) bool) (s score) {
	for i := range cases {
		c := &cases[i]
		switch {
		case c.truth == leaksim.IsExcluded:
		case c.truth == leaksim.IsLeak && called(c):
			s.right++
		case c.truth == leaksim.IsLeak:
			s.missed++
		case called(c):
			s.wrong++
		}
	}
	return s
}

// evidence is what a rule sees of hosts.
func evidence(hosts []onHost) []verdict.Host {
	out := make([]verdict.Host, len(hosts))
	for i, h := range hosts {
		if h.confidence > 0 {
			out[i] = verdict.Host{Confidence: h.confidence, Gained: h.gained}
		}
	}
	return out
}

// asProcesses returns on which hosts a site is called a leak if they are processes of one recording.
func asProcesses(hosts []onHost) []bool {
	var all []growth.Evidence
	out := make([]bool, len(hosts))
	for _, h := range hosts {
		if h.gained >= trend.DefaultMinGrowth {
			all = append(all, growth.Evidence{Confidence: h.confidence, Time: 1, Gained: h.gained, Held: h.held})
		}
	}
	for i, h := range hosts {
		out[i] = h.gained >= trend.DefaultMinGrowth && growth.PoolOf(all, h.held).Confidence >= trend.LeakConfidence
	}
	return out
}

// anyProcess reports whether a site leaks in one of the processes of a recording.
func anyProcess(c *fleetCase) bool { return slices.Contains(asProcesses(c.with), true) }

// eachProcess returns the score of the verdicts on hosts if they are processes of one recording.
func eachProcess(sites []fleetSite) (s score) {
	for i := range sites {
		for n, called := range asProcesses(sites[i].hosts) {
			h := sites[i].hosts[n]
			one := tallyCases([]fleetCase{{truth: h.verdict}}, func(*fleetCase) bool { return called })
			s = score{s.right + one.right, s.wrong + one.wrong, s.missed + one.missed}
		}
	}
	return s
}

// calledOn returns on how many hosts a site is called a leak.
func calledOn(hosts []onHost) (n int) {
	for _, h := range hosts {
		n += bit(h.called)
	}
	return n
}

// alone returns the score of the verdicts of single hosts.
func alone(sites []fleetSite) (s score) {
	for i := range sites {
		for _, h := range sites[i].hosts {
			one := tallyCases([]fleetCase{{truth: h.verdict, with: []onHost{h}}}, func(*fleetCase) bool { return h.called })
			s = score{s.right + one.right, s.wrong + one.wrong, s.missed + one.missed}
		}
	}
	return s
}

// byRecording groups sites by recording.
func byRecording(sites []fleetSite) (out [][]fleetSite) {
	for _, name := range recordings {
		in := slices.DeleteFunc(slices.Clone(sites), func(s fleetSite) bool { return s.recording != name })
		if len(in) > 0 {
			out = append(out, in)
		}
	}
	return out
}

func fleetCount(sites []fleetSite) int {
	seeds := map[uint64]bool{}
	for i := range sites {
		seeds[sites[i].seed] = true
	}
	return len(seeds)
}

func both(s score) string {
	return fmt.Sprintf("%.3f / %.3f", s.precision(), s.recall())
}

// writeFleets writes precision and recall of the verdict over all hosts, with other rules beside it.
func writeFleets(w io.Writer, o options, sites []fleetSite) {
	restarted := "each with its own uptime"
	if o.fleet.together {
		restarted = "restarted together"
	}
	fmt.Fprintf(w, "Fleets of the seeds %s, %d hosts each, %s, %s snapshots. Precision / recall.\n\n",
		o.seeds, o.fleet.hosts, restarted, o.snapshots)
	if o.fleet.labelled == 0 {
		table(w, "recording", "fleets", "leaks", "one host", "any host", "34 % of the hosts",
			"verdict", "wrong", "missed", "one recording")
		for _, in := range byRecording(sites) {
			cases := everywhere(in)
			s := tallyCases(cases, func(c *fleetCase) bool { return verdict.Chosen.Leaks(evidence(c.with)) })
			cells(w, in[0].recording, strconv.Itoa(fleetCount(in)), strconv.Itoa(s.right+s.missed), both(alone(in)),
				both(tallyCases(cases, func(c *fleetCase) bool { return calledOn(c.with) > 0 })),
				both(tallyCases(cases, func(c *fleetCase) bool { return 100*calledOn(c.with) >= 34*len(c.with) })),
				both(s), strconv.Itoa(s.wrong), strconv.Itoa(s.missed), both(tallyCases(cases, anyProcess)))
		}
		return
	}
	fmt.Fprintf(w, "%d hosts have a label. A leak that occurs only there is to be found, with the label; "+
		"one that occurs everywhere is not.\n\n", o.fleet.labelled)
	table(w, "recording", "fleets", "leaks", "any host, and none without", "verdict", "wrong", "missed",
		"one host", "a process of one recording")
	for _, in := range byRecording(sites) {
		cases := byLabel(in, o.fleet.labelled)
		s := tallyCases(cases, func(c *fleetCase) bool {
			return verdict.Chosen.OnlyWith(evidence(c.with), evidence(c.reference))
		})
		anyHost := tallyCases(cases, func(c *fleetCase) bool { return calledOn(c.with) > 0 && calledOn(c.reference) == 0 })
		cells(w, in[0].recording, strconv.Itoa(fleetCount(in)), strconv.Itoa(s.right+s.missed), both(anyHost), both(s),
			strconv.Itoa(s.wrong), strconv.Itoa(s.missed), both(alone(in)), both(eachProcess(in)))
	}
}

// writeFleetThresholds writes precision and recall by the constants of the rule. Without a label, it is the
// least mean confidence, for fleets of all hosts and of fewer; with one, it is also the lift.
func writeFleetThresholds(w io.Writer, sites []fleetSite, labelled int) {
	least := []float64{0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6}
	if labelled > 0 {
		writeLifts(w, sites, labelled)
		return
	}
	heading := []string{"recording", "hosts"}
	for _, t := range least {
		heading = append(heading, fmt.Sprint(t))
	}
	table(w, heading...)
	for _, in := range byRecording(sites) {
		for _, n := range []int{1, 2, 3, 5, 10, 30} {
			if n > len(in[0].hosts) {
				break
			}
			line := []string{in[0].recording, strconv.Itoa(n)}
			for _, t := range least {
				rule := verdict.Chosen
				rule.Least = t
				line = append(line, both(tallyCases(everywhere(first(in, n)), func(c *fleetCase) bool {
					return rule.Leaks(evidence(c.with))
				})))
			}
			cells(w, line...)
		}
	}
}

// first returns the sites with only the first n hosts.
func first(sites []fleetSite, n int) []fleetSite {
	out := slices.Clone(sites)
	for i := range out {
		out[i].hosts = out[i].hosts[:n]
	}
	return out
}

func writeLifts(w io.Writer, sites []fleetSite, labelled int) {
	lifts := []float64{1.5, 2, 2.5, 3, 4, 6}
	heading := []string{"recording", "prior", "least"}
	for _, l := range lifts {
		heading = append(heading, fmt.Sprintf("lift %g", l))
	}
	table(w, heading...)
	for _, in := range byRecording(sites) {
		cases := byLabel(in, labelled)
		for _, prior := range []float64{0.05, 0.1, 0.2, 0.3, 0.5} {
			for _, t := range []float64{0.2, 0.25, 0.3, 0.35, 0.4} {
				line := []string{in[0].recording, fmt.Sprint(prior), fmt.Sprint(t)}
				for _, l := range lifts {
					rule := verdict.Rule{Least: t, Gained: verdict.Chosen.Gained, Lift: l, Prior: prior}
					line = append(line, both(tallyCases(cases, func(c *fleetCase) bool {
						return rule.OnlyWith(evidence(c.with), evidence(c.reference))
					})))
				}
				cells(w, line...)
			}
		}
	}
}
