//go:build linux

package record

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// tcmalloc is gperftools' heap profiler. It records every allocation.
type tcmalloc struct{}

func (tcmalloc) name() string { return "tcmalloc" }

var tcmallocLibrary = program.Search{
	Names:  []string{"libtcmalloc.so.4", "libtcmalloc.so", "libtcmalloc_and_profiler.so.4"},
	Symbol: "HeapProfilerStart",
	Decoys: []string{"libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"},
	Packages: map[string]string{
		"debian":     "apt install libgoogle-perftools4",
		"ubuntu":     "apt install libgoogle-perftools4",
		"debian-t64": "apt install libgoogle-perftools4t64",
		"fedora":     "dnf install gperftools-libs",
		"rhel":       "dnf install gperftools-libs (from EPEL)",
		"arch":       "pacman -S gperftools",
		"alpine":     "apk add gperftools",
		"suse":       "zypper install libtcmalloc4",
		"opensuse":   "zypper install libtcmalloc4",
		"nixos":      "nix-env -iA nixos.gperftools",
		"gentoo":     "emerge dev-util/google-perftools",
		"conda":      "conda install -c conda-forge gperftools",
	},
}

func (tcmalloc) library() *program.Search { return &tcmallocLibrary }

func (e tcmalloc) find(p *Plan) (Library, error) { return p.findLibrary(e) }

func (tcmalloc) seesPython() bool { return false }

func (tcmalloc) seesGenerated() bool { return true }

var gperftoolsVersion = regexp.MustCompile(`gperftools (\d+(?:\.\d+)+)`)

func (tcmalloc) version(path string) string { return program.VersionIn(path, gperftoolsVersion) }

func (tcmalloc) refuse(o *Options) error {
	if o.SamplePeriod > 0 {
		return errors.New(option.SamplePeriod + ": tcmalloc's heap profiler does not sample (jemalloc does)")
	}
	return nil
}

// lastDumpSignal makes the program take a last snapshot before it gets SIGTERM. It is one of the
// real-time signals (34 to 64), away from both ends of the range, which other libraries use first.
const lastDumpSignal = 53

func (tcmalloc) dumpSignal(o *Options) int {
	if n := o.signalNumber(); n != 0 {
		return n
	}
	return lastDumpSignal
}

// settings returns the variables of gperftools' src/heap-profiler.cc. All intervals are set,
// because their defaults are not 0. HEAP_PROFILE_CLEANUP=false keeps each process from deleting the
// snapshots that exist when it starts.
func (e tcmalloc) settings(o *Options) []Setting {
	timer := 0
	if o.Every > 0 {
		timer = 1 // the adapter decides
	}
	return []Setting{
		{"HEAPPROFILE", adapterPrefix},
		{"HEAP_PROFILE_TIME_INTERVAL", strconv.Itoa(timer)},
		{"HEAP_PROFILE_ALLOCATION_INTERVAL", strconv.FormatInt(o.EveryAlloc, 10)},
		{"HEAP_PROFILE_INUSE_INTERVAL", strconv.FormatInt(o.EveryInuse, 10)},
		{"HEAP_PROFILE_DEALLOCATION_INTERVAL", "0"},
		{"HEAP_PROFILE_CLEANUP", "false"},
		{"PERFTOOLS_VERBOSE", "-1"},
		{"HEAPPROFILESIGNAL", strconv.Itoa(e.dumpSignal(o))},
		adapterSetting(o),
	}
}

func (tcmalloc) cost(*Options) string {
	return "records every allocation: exact, but 2 to 100 times slower if the program mostly allocates"
}

func (tcmalloc) when(o *Options) string { return whenText(o, timerText(o)) }

func (tcmalloc) period(*Options) int64 { return 0 }

// trigger follows the order of gperftools' MaybeDumpProfileLocked: bytes allocated, then bytes in
// use, then the timer. The header includes the allocation that caused the snapshot, so its totals
// are at or above the threshold.
func (tcmalloc) trigger(o *Options, s, before *written.Snapshot, highest int64) string {
	var allocated int64
	if before != nil {
		allocated = before.AllocBytes
	}
	switch {
	case o.EveryAlloc > 0 && s.AllocBytes-allocated >= o.EveryAlloc:
		return written.TriggerAllocated
	case o.EveryInuse > 0 && s.InuseBytes > highest+o.EveryInuse:
		return written.TriggerHighWater
	case o.Every > 0:
		return written.TriggerTime
	case o.Signal != "":
		return written.TriggerManual
	}
	return written.TriggerExit
}
