//go:build linux

package record

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/units"
)

// jemalloc samples: cheap enough for production.
type jemalloc struct{}

func (jemalloc) name() string { return "jemalloc" }

var jemallocLibrary = program.Search{
	Names:  []string{"libjemalloc.so.2", "libjemalloc.so"},
	Symbol: "mallctl",
	Packages: map[string]string{
		"debian": "apt install libjemalloc2", "ubuntu": "apt install libjemalloc2", "fedora": "dnf install jemalloc", "rhel": "dnf install jemalloc (from EPEL)",
		"arch": "pacman -S jemalloc", "alpine": "apk add jemalloc", "suse": "zypper install libjemalloc2", "opensuse": "zypper install libjemalloc2",
		"nixos": "nix-env -iA nixos.jemalloc", "gentoo": "emerge dev-libs/jemalloc", "conda": "conda install -c conda-forge jemalloc",
	},
}

func (jemalloc) library() *program.Search { return &jemallocLibrary }

var jemallocVersion = regexp.MustCompile(`(\d+\.\d+\.\d+)-\d+-g[0-9a-f]{40}`)

func (jemalloc) version(path string) string { return program.VersionIn(path, jemallocVersion) }

// The clock is looked at after so many bytes allocated, as a power of two: often enough for a script that allocates
// 10 MB a second; at 1 GB a second some 250 dumps a second go nowhere, of a tenth of a millisecond each (see agent.c).
const jemallocTick = 22

const jemallocSample = 19 // its own default: 512 KiB

func (jemalloc) refuse(o *Options, agent bool) error {
	switch {
	case o.Signal != "":
		return errors.New("--signal: jemalloc has no signal that takes a snapshot (tcmalloc has)")
	case o.EveryInuse > 0:
		return errors.New("--every-inuse: jemalloc dumps at every new high of its mapped memory, by whatever it rises (tcmalloc has such an interval)")
	case o.EveryAlloc > 0 && o.Every > 0:
		return errors.New("--every-alloc with --every: jemalloc has one interval, in bytes allocated, that serves for either (tcmalloc can do both)")
	case o.Every > 0 && !agent && !o.Adaptive:
		return errors.New("--every: jemalloc has no timer, and the agent that gives it one cannot be loaded here (tcmalloc has a timer)")
	}
	return nil
}

func (jemalloc) interval(o *Options, agent bool) int {
	switch {
	case o.EveryAlloc > 0:
		return log2(o.EveryAlloc)
	case o.Every > 0 && agent:
		return jemallocTick
	case o.Every > 0:
		return 28
	}
	return -1
}

func (jemalloc) sample(o *Options) int {
	if o.SamplePeriod > 0 {
		return log2(o.SamplePeriod)
	}
	return jemallocSample
}

// settings: jemalloc's manual, opt.prof and below. Later pairs win, so that the program's own come first. abort_conf and
// stats_print are left as they are.
func (e jemalloc) settings(o *Options, prefix string, agent bool) []Setting {
	conf := []string{
		"prof:true", "prof_active:true", "prof_accum:true", "prof_final:true", "prof_leak:false", "prof_gdump:false",
		"prof_prefix:" + prefix,
		fmt.Sprintf("lg_prof_sample:%d", e.sample(o)),
		fmt.Sprintf("lg_prof_interval:%d", e.interval(o, agent)),
	}
	if own := program.Getenv(o.Env, "MALLOC_CONF"); own != "" {
		conf = append([]string{own}, conf...)
	}
	return []Setting{{"MALLOC_CONF", strings.Join(conf, ",")}}
}

func (e jemalloc) cost(o *Options) string {
	text := fmt.Sprintf("one in %s is sampled: some percent of run time, small leaks are estimates", units.RoundBytes(e.period(o)))
	if o.SamplePeriod > 0 && o.SamplePeriod != e.period(o) {
		text += fmt.Sprintf(" (--sample-period %s was rounded: jemalloc takes powers of two)", units.RoundBytes(o.SamplePeriod))
	}
	return text
}

func (e jemalloc) when(o *Options, agent bool) string {
	switch n := e.interval(o, agent); {
	case n < 0:
		return joinTexts()
	case o.EveryAlloc > 0 && o.EveryAlloc != 1<<n:
		return fmt.Sprintf("every %s allocated (rounded: jemalloc takes powers of two)", units.RoundBytes(1<<n))
	case o.EveryAlloc > 0 || !agent:
		return fmt.Sprintf("every %s allocated", units.RoundBytes(1<<n))
	}
	return timerText(o, agent) + fmt.Sprintf(" (looked at after every %s allocated)", units.RoundBytes(1<<jemallocTick))
}

func (e jemalloc) period(o *Options) int64 { return 1 << e.sample(o) }

// trigger: names tell; what ticks in bytes is the timer where one was asked for.
func (jemalloc) trigger(o *Options, s, _ *snapshotFile, _ int64) string {
	switch s.name.kind {
	case 'f':
		return triggerExit
	case 'm':
		return triggerManual
	case 'u':
		return triggerHighWater
	}
	if o.Every > 0 {
		return triggerTime
	}
	return triggerAllocated
}

func (jemalloc) dumpSignal(*Options, bool) int { return 0 }
