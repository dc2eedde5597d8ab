package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// fleetOptions choose simulated fleets.
type fleetOptions struct {
	hosts, labelled int
	together        bool
	file            string
}

// recordings are those of fleets. A fleet has the one with the index of its seed, modulo their number.
var recordings = []string{"jemalloc", "jemalloc-accum", "timer"}

// onHost is what is found of a function on a host.
type onHost struct {
	verdict    leaksim.Verdict
	label      string
	confidence float64
	gained     int64
	held       int64
	called     bool
}

// fleetSite is a function of a fleet, with a finding for each host, in order.
type fleetSite struct {
	seed            uint64
	recording, name string
	behaviour       string
	hosts           []onHost
}

// fleets simulates fleets and judges each host by itself.
func (o *options) fleets(seeds []uint64, snapshots int) ([]fleetSite, error) {
	numbers := make([]uint64, o.fleet.hosts)
	for i := range numbers {
		numbers[i] = uint64(i)
	}
	all, err := forAll(seeds, numbers, o.jobs, func(seed uint64, host int) ([]outcome, error) {
		f := leaksim.Fleet{
			Seed: seed, Snapshots: snapshots, Recording: recordings[seed%uint64(len(recordings))],
			Together: o.fleet.together, Labelled: o.fleet.labelled,
		}
		return hostOutcomes(f.Host(host))
	})
	if err != nil {
		return nil, err
	}
	return sitesOf(all), nil
}

// hostOutcomes judges a host. It drops what is not needed of a fleet, which has many hosts.
func hostOutcomes(p *leaksim.Process) ([]outcome, error) {
	dir, err := os.MkdirTemp("", "leakbench")
	if err != nil {
		return nil, err
	}
	out, err := examine(p, dir)
	for i := range out {
		out[i].Observed = leaksim.Curve{}
	}
	return out, errors.Join(err, os.RemoveAll(dir))
}

// sitesOf groups the outcomes of all hosts by function. Each host has all functions of its program.
func sitesOf(all []outcome) (out []fleetSite) {
	groups := grouped(all, func(o *outcome) [2]string { return [2]string{strconv.FormatUint(o.Seed, 10), o.Name} })
	for _, g := range groups {
		s := fleetSite{seed: g[0].Seed, recording: g[0].Mode, name: g[0].Name, behaviour: g[0].Behaviour}
		for i := range g {
			o := &g[i]
			s.hosts = append(s.hosts, onHost{o.Verdict, o.label, o.confidence, o.gained, o.held, o.called})
		}
		out = append(out, s)
	}
	return out
}

var fleetColumns = []string{
	"seed", "recording", "function", "behaviour", "host", "truth", "label", "confidence", "gained", "held",
}

// writeFleetCSV writes a line for each function on each host.
func writeFleetCSV(w io.Writer, sites []fleetSite) {
	out := csv.NewWriter(w)
	_ = out.Write(fleetColumns) // out stores the first error
	for i := range sites {
		s := &sites[i]
		for n, h := range s.hosts {
			_ = out.Write([]string{
				strconv.FormatUint(s.seed, 10), s.recording, s.name, s.behaviour, strconv.Itoa(n), string(h.verdict),
				cmp.Or(h.label, "none"), strconv.FormatFloat(h.confidence, 'f', 4, 64), strconv.FormatInt(h.gained, 10),
				strconv.FormatInt(h.held, 10),
			})
		}
	}
	out.Flush()
}

// fleetSites simulates the fleets of the seeds, or reads them.
func (o *options) fleetSites(snapshots int) ([]fleetSite, error) {
	if o.fleet.file != "" {
		return readFleets(o.fleet.file, o.fleet.hosts)
	}
	seeds, err := parseSeeds(o.seeds)
	if err != nil {
		return nil, err
	}
	return o.fleets(seeds, snapshots)
}

// readFleets reads a file that writeFleetCSV wrote.
func readFleets(path string, hosts int) (out []fleetSite, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.FieldsPerRecord = len(fleetColumns)
	if _, err := in.Read(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for n := 0; ; n++ {
		line, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && n%hosts == 0:
			return out, nil
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("the last function is not on %d hosts", hosts)
		case err == nil && line[4] != strconv.Itoa(n%hosts):
			err = fmt.Errorf("host %s, want %d: are there %d hosts?", line[4], n%hosts, hosts)
		}
		if err == nil {
			out, err = addFleetLine(out, line)
		}
		if err != nil {
			at, _ := in.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", path, at, err)
		}
	}
}

// addFleetLine adds a function on a host, by its line.
func addFleetLine(sites []fleetSite, line []string) ([]fleetSite, error) {
	if line[4] == "0" {
		seed, err := strconv.ParseUint(line[0], 10, 64)
		if err != nil {
			return nil, err
		}
		sites = append(sites, fleetSite{seed: seed, recording: line[1], name: line[2], behaviour: line[3]})
	}
	h := onHost{verdict: leaksim.Verdict(line[5]), label: line[6], called: line[6] == "leak" || line[6] == "leak-late"}
	var errs [3]error
	h.confidence, errs[0] = strconv.ParseFloat(line[7], 64)
	h.gained, errs[1] = strconv.ParseInt(line[8], 10, 64)
	h.held, errs[2] = strconv.ParseInt(line[9], 10, 64)
	s := &sites[len(sites)-1]
	s.hosts = append(s.hosts, h)
	return sites, errors.Join(errs[:]...)
}

// runFleets simulates the fleets of the seeds and writes their tables.
func runFleets(o options, lengths []uint64) error {
	if len(lengths) != 1 || o.fleet.labelled >= o.fleet.hosts {
		return fmt.Errorf("-hosts %d -labelled %d -snapshots %s: want one number of snapshots, and fewer labelled hosts than hosts",
			o.fleet.hosts, o.fleet.labelled, o.snapshots)
	}
	sites, err := o.fleetSites(int(lengths[0]))
	if err != nil {
		return err
	}
	if err := writeFile(o.csv, func(w io.Writer) { writeFleetCSV(w, sites) }); err != nil {
		return err
	}
	if o.thresholds {
		return writeFile(o.out, func(w io.Writer) { writeFleetThresholds(w, sites, o.fleet.labelled) })
	}
	return writeFile(o.out, func(w io.Writer) { writeFleets(w, o, sites) })
}
