package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// TestFleetsAreReadAsWritten: tables can be made again without a simulation.
func TestFleetsAreReadAsWritten(t *testing.T) {
	o := options{jobs: 2, fleet: fleetOptions{hosts: 2, labelled: 1}}
	sites, err := o.fleets([]uint64{2}, 8)
	require.NoError(t, err)
	require.Greater(t, len(sites), 100)
	path := filepath.Join(t.TempDir(), "fleets.csv")
	require.NoError(t, writeFile(path, func(w io.Writer) { writeFleetCSV(w, sites) }))
	got, err := readFleets(path, 2)
	require.NoError(t, err)
	require.Len(t, got, len(sites))
	called := 0
	for i := range sites {
		require.Equal(t, sites[i].name, got[i].name)
		for h := range sites[i].hosts {
			want := sites[i].hosts[h]
			called += bit(want.called)
			have := got[i].hosts[h]
			require.Equal(t, []any{want.verdict, want.called, want.gained, want.held},
				[]any{have.verdict, have.called, have.gained, have.held})
			require.InDelta(t, want.confidence, got[i].hosts[h].confidence, 1e-4)
		}
	}
	require.Positive(t, called)
	_, err = readFleets(path, 3)
	require.ErrorContains(t, err, path+":4: host 0, want 2: are there 3 hosts?")
	for name, text := range map[string]string{"a broken line": "1,timer\n", "no number": "x,timer,f,b,0,no,none,0,0,0\n"} {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(fleetColumns, ",")+"\n"+text), 0o600))
		_, err := readFleets(path, 1)
		require.ErrorContains(t, err, path, name)
	}
}

// hostsOf returns hosts with these truths, where + is a leak, - harmless, and . one that is too small to count.
func hostsOf(truths string) (out []onHost) {
	for _, c := range truths {
		out = append(out, onHost{verdict: map[rune]leaksim.Verdict{
			'+': leaksim.IsLeak, '-': leaksim.IsHarmless, '.': leaksim.IsExcluded,
		}[c]})
	}
	return out
}

func TestTruthOfACell(t *testing.T) {
	for hosts, want := range map[string]leaksim.Verdict{
		"++++": leaksim.IsLeak, "++..": leaksim.IsLeak, "----": leaksim.IsHarmless, "+...": leaksim.IsExcluded, "+---": leaksim.IsExcluded,
	} {
		require.Equal(t, want, truthOver(hostsOf(hosts)), hosts)
	}
	for _, c := range []struct {
		with, without string
		want          leaksim.Verdict
	}{
		{"++", "---", leaksim.IsLeak}, {"++", "+++", leaksim.IsHarmless}, {"--", "---", leaksim.IsHarmless},
		{"--", "+++", leaksim.IsHarmless}, {"..", "---", leaksim.IsExcluded}, {"++", "...", leaksim.IsExcluded},
	} {
		require.Equal(t, c.want, onlyTruth(hostsOf(c.with), hostsOf(c.without)), "%s against %s", c.with, c.without)
	}
}

// fleetOf returns a site with the confidences of its hosts, each of which gained 2 MiB.
func fleetOf(verdict leaksim.Verdict, confidences ...float64) fleetSite {
	s := fleetSite{seed: 1, recording: "timer"}
	for _, c := range confidences {
		s.hosts = append(s.hosts, onHost{verdict: verdict, confidence: c, gained: 2 << 20, called: c >= 0.6})
	}
	return s
}

// TestFleetTables counts by hand.
func TestFleetTables(t *testing.T) {
	sites := []fleetSite{
		fleetOf(leaksim.IsLeak, 0.9, 0.9, 0.9, 0.5),
		fleetOf(leaksim.IsLeak, 0.55, 0.55, 0.55, 0.55), // no host is sure
		fleetOf(leaksim.IsHarmless, 0.2, 0, 0, 0),       // one host errs
		fleetOf(leaksim.IsHarmless, 0, 0, 0, 0),
	}
	sites[2].hosts[0].called = true
	var out bytes.Buffer
	writeFleets(&out, options{seeds: "1", snapshots: "24", fleet: fleetOptions{hosts: 4}}, sites)
	// One host: 3 of 8 right and 1 wrong. Any: 1 right, 1 wrong. 34 %: 1 right. The verdict, and the hosts as processes: both right.
	require.Contains(t, out.String(), "| timer | 1 | 2 | 0.750 / 0.375 | 0.500 / 0.500 | 1.000 / 0.500 | 1.000 / 1.000 | 0 | 0 | 1.000 / 1.000 |\n")

	only := fleetOf(leaksim.IsLeak, 0.9, 0.9, 0, 0)
	only.hosts[2].verdict, only.hosts[3].verdict = leaksim.IsHarmless, leaksim.IsHarmless
	out.Reset()
	writeFleets(&out, options{fleet: fleetOptions{hosts: 4, labelled: 2}}, append(sites, only))
	// "Any" also names the site on which one host errs. One host: 5 of 10 right and 1 wrong; as processes, 8 of 10.
	require.Contains(t, out.String(), "| timer | 1 | 1 | 0.500 / 1.000 | 1.000 / 1.000 | 0 | 0 | 0.833 / 0.500 | 1.000 / 0.800 |\n")
	out.Reset()
	writeFleetThresholds(&out, sites, 0)
	require.Contains(t, out.String(), "| timer | 1 |")
	out.Reset()
	writeFleetThresholds(&out, append(sites, only), 2)
	require.Contains(t, out.String(), "| timer | 0.1 | 0.3 |")
}
