// Command hosts writes the snapshots of a simulated fleet: one directory per host, all of one
// program.
//
//	go run -C scripts ./fleet/hosts -hosts 200 -labelled 60 -o DIR
//
// DIR/list has a line per host: directory, service, host and label, separated by tabs.
// DIR/truth.json has, for each function, the number of hosts on which it leaks, and on how many of
// the hosts with the label.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

type options struct {
	out             string
	hosts, labelled int
	snapshots       int
	seed            uint64
	recording       string
}

// truth is what is known about a function.
type truth struct {
	Leaks    int `json:"leaks"`    // hosts on which it leaks
	Labelled int `json:"labelled"` // of these, the hosts with the label
	Excluded int `json:"excluded"` // hosts on which it leaks less than can be seen
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "write to `DIR`")
	flag.IntVar(&o.hosts, "hosts", 200, "the `NUMBER` of hosts")
	flag.IntVar(&o.labelled, "labelled", 60, "the `NUMBER` of hosts with the label canary=yes, on which half of the leaks occur alone")
	flag.IntVar(&o.snapshots, "snapshots", 48, "the `NUMBER` of snapshots of a host")
	flag.Uint64Var(&o.seed, "seed", 80, "the `SEED` of the program")
	flag.StringVar(&o.recording, "recording", "jemalloc-accum", "how the hosts are recorded: jemalloc, jemalloc-accum or timer")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	if o.out == "" {
		return fmt.Errorf("no -o DIR given")
	}
	var err error
	if o.out, err = filepath.Abs(o.out); err != nil {
		return err
	}
	functions := make([][]leaksim.Function, o.hosts)
	errs := make(chan error, o.hosts)
	var wg sync.WaitGroup
	free := make(chan bool, runtime.NumCPU())
	for h := range o.hosts {
		wg.Go(func() {
			free <- true
			defer func() { <-free }()
			p := o.fleet().Host(h)
			errs <- p.Write(o.dir(h))
			functions[h] = p.Functions()
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	if err := o.writeList(); err != nil {
		return err
	}
	return o.writeTruth(functions)
}

func (o *options) fleet() leaksim.Fleet {
	return leaksim.Fleet{Seed: o.seed, Snapshots: o.snapshots, Recording: o.recording, Labelled: o.labelled}
}

func (o *options) dir(host int) string { return filepath.Join(o.out, fmt.Sprintf("host-%03d", host)) }

func (o *options) writeList() error {
	var list strings.Builder
	for h := range o.hosts {
		label := "canary=no"
		if h < o.labelled {
			label = "canary=yes"
		}
		fmt.Fprintf(&list, "%s\tshop\thost-%03d\t%s\n", o.dir(h), h, label)
	}
	return os.WriteFile(filepath.Join(o.out, "list"), []byte(list.String()), 0o644)
}

func (o *options) writeTruth(functions [][]leaksim.Function) error {
	all := map[string]*truth{}
	for h, list := range functions {
		for _, f := range list {
			if all[f.Name] == nil {
				all[f.Name] = &truth{}
			}
			switch f.Verdict {
			case leaksim.IsLeak:
				all[f.Name].Leaks++
				if h < o.labelled {
					all[f.Name].Labelled++
				}
			case leaksim.IsExcluded:
				all[f.Name].Excluded++
			}
		}
	}
	content, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "truth.json"), content, 0o644)
}
