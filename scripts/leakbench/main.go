// Command leakbench measures the growth detector on simulated processes with known leaks.
//
//	go run -C scripts ./leakbench -seeds 1-12 -snapshots 8,12,24,48 -o table.md
//
// It simulates the allocations of processes, writes their snapshots as gperftools and jemalloc do,
// runs the detector on the files, and compares the result with the ground truth.
// docs/growth-benchmark.md defines what counts as a leak. Seeds below 100000 are for tuning, the
// others for evaluation.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
)

func main() {
	var o options
	flag.StringVar(&o.seeds, "seeds", "1-12", "`SEEDS` of the processes to simulate: A-B or A,B,…; \"\" for none")
	flag.StringVar(&o.snapshots, "snapshots", "8,12,24,48", "numbers of snapshots, `N,…`")
	flag.StringVar(&o.out, "o", "-", "write the tables to `FILE`")
	flag.StringVar(&o.csv, "csv", "", "write a line per function to `FILE`")
	flag.StringVar(&o.dump, "dump", "", "keep the series in `DIR`")
	flag.StringVar(&o.peerSeeds, "peer-seeds", "900-911",
		"`SEEDS` of the processes that determine the thresholds of the other methods; \"\" omits these methods")
	flag.StringVar(&o.examples, "examples", "", "write the measurements of each function to `FILE`: scripts/model fits the model to them")
	flag.BoolVar(&o.thresholds, "thresholds", false,
		"write precision and recall of each kind of recording by the least confidence of a leak; with -examples, for the examples in that file, without a simulation")
	flag.StringVar(&o.wideSeeds, "wide-seeds", "",
		"`SEEDS` of additional processes whose functions may have a second behaviour (the wide population)")
	flag.StringVar(&o.smallSeeds, "small-seeds", "", "`SEEDS` of additional processes of small programs")
	flag.StringVar(&o.tracedSeeds, "traced-seeds", "", "`SEEDS` of additional processes that Valgrind's massif records")
	flag.StringVar(&o.collectedSeeds, "collected-seeds", "",
		"`SEEDS` of additional processes whose runtimes collect garbage and write pprof profiles")
	flag.BoolVar(&o.births, "births", false, "simulate processes whose snapshots tell when their memory was allocated")
	flag.IntVar(&o.fleet.hosts, "hosts", 0, "simulate fleets of `N` hosts that run one program, and judge each site over all of them")
	flag.IntVar(&o.fleet.labelled, "labelled", 0, "of these, `N` hosts have a label, and half of the leaks occur only there")
	flag.StringVar(&o.fleet.file, "fleets", "", "do not simulate the fleets: read the `FILE` that -csv wrote")
	flag.BoolVar(&o.fleet.together, "together", false, "all hosts of a fleet were restarted together")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "`NUMBER` of processes to simulate at the same time")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "leakbench:", err)
		os.Exit(1)
	}
}

type options struct {
	seeds, wideSeeds, smallSeeds, tracedSeeds, collectedSeeds string
	peerSeeds, snapshots                                      string
	out, csv, dump, examples                                  string
	thresholds, births                                        bool
	jobs                                                      int
	fleet                                                     fleetOptions
}

func run(o options) error {
	if o.thresholds && o.examples != "" {
		examples, err := readExamples(o.examples)
		if err != nil {
			return err
		}
		return writeFile(o.out, func(w io.Writer) { writeThresholds(w, examples) })
	}
	lengths, err := parseSeeds(o.snapshots)
	if err != nil {
		return err
	}
	if slices.Min(lengths) < 2 || slices.Max(lengths) > behaviour.StepsPerSpan/2 {
		return fmt.Errorf("-snapshots %s: want 2 to %d", o.snapshots, behaviour.StepsPerSpan/2)
	}
	if o.fleet.hosts > 0 {
		return runFleets(o, lengths)
	}
	all, err := o.judge(o.seeds, lengths, leaksim.Plain)
	if err != nil {
		return err
	}
	for population, seeds := range o.more() {
		found, err := o.judge(seeds, lengths, population)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	training, err := train(o, lengths)
	if err != nil {
		return err
	}
	if err := writeFile(o.csv, func(w io.Writer) { writeCSV(w, all) }); err != nil {
		return err
	}
	if err := writeFile(o.examples, func(w io.Writer) { writeExamples(w, examplesOf(all)) }); err != nil {
		return err
	}
	if o.thresholds {
		return writeFile(o.out, func(w io.Writer) { writeThresholds(w, examplesOf(all)) })
	}
	return writeFile(o.out, func(w io.Writer) { writeTables(w, o, all, training) })
}

// more returns the seeds of the populations other than the plain one, if there are any, in their order.
func (o *options) more() iter.Seq2[leaksim.Population, string] {
	return func(yield func(leaksim.Population, string) bool) {
		if o.wideSeeds != "" && !yield(leaksim.Wide, o.wideSeeds) {
			return
		}
		if o.smallSeeds != "" && !yield(leaksim.Small, o.smallSeeds) {
			return
		}
		if o.tracedSeeds != "" && !yield(leaksim.Traced, o.tracedSeeds) {
			return
		}
		if o.collectedSeeds != "" {
			yield(leaksim.Collected, o.collectedSeeds)
		}
	}
}

// judge simulates processes and runs the detector on them.
func (o *options) judge(seeds string, lengths []uint64, population leaksim.Population) ([]outcome, error) {
	if seeds == "" {
		return nil, nil
	}
	list, err := parseSeeds(seeds)
	if err != nil {
		return nil, err
	}
	return forAll(list, lengths, o.jobs, func(seed uint64, snapshots int) ([]outcome, error) {
		simulate := leaksim.Simulate
		if o.births {
			simulate = leaksim.SimulateBorn
		}
		return inScratch(simulate(seed, snapshots, population), o.dump)
	})
}

// parseSeeds parses a list of numbers and ranges, such as 1-12 or 8,12,24.
func parseSeeds(text string) ([]uint64, error) {
	var out []uint64
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 32)
		b, err2 := strconv.ParseUint(to, 10, 32)
		if err := errors.Join(err, err2); err != nil || b < a {
			return nil, fmt.Errorf("%q: want A-B or A,B: %w", text, err)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}

// train simulates the processes that determine the thresholds of the other methods.
func train(o options, lengths []uint64) ([]outcome, error) {
	if o.peerSeeds == "" {
		return nil, nil
	}
	seeds, err := parseSeeds(o.peerSeeds)
	if err != nil {
		return nil, err
	}
	return forAll(seeds, lengths, o.jobs, func(seed uint64, snapshots int) ([]outcome, error) {
		var out []outcome
		for _, f := range leaksim.Simulate(seed, snapshots, leaksim.Plain).Functions() {
			out = append(out, outcome{Function: f})
		}
		return out, nil
	})
}

// forAll calls f for every seed with every number of snapshots, and returns the results in this
// order. It runs up to jobs calls at the same time.
func forAll(
	seeds, lengths []uint64, jobs int, f func(seed uint64, snapshots int) ([]outcome, error),
) ([]outcome, error) {
	n := len(seeds) * len(lengths)
	results, errs := make([][]outcome, n), make([]error, n)
	next := make(chan int)
	var done sync.WaitGroup
	for range max(1, jobs) {
		done.Go(func() {
			for i := range next {
				results[i], errs[i] = f(seeds[i/len(lengths)], int(lengths[i%len(lengths)]))
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	done.Wait()
	return slices.Concat(results...), errors.Join(errs...)
}

// writeFile calls write with a file, or with standard output if path is "-". It does nothing if
// path is "".
func writeFile(path string, write func(io.Writer)) error {
	switch path {
	case "":
		return nil
	case "-":
		write(os.Stdout)
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := &checked{w: f}
	write(w)
	return errors.Join(w.err, f.Close())
}

// checked is a writer that stores the first error and then ignores writes.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(b)
	c.err = err
	return n, err
}
