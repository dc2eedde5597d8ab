//go:build linux

package record

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/units"
)

// jemalloc records a sample of the allocations. Its overhead is low enough for production.
type jemalloc struct{}

func (jemalloc) name() string { return "jemalloc" }

var jemallocLibrary = program.Search{
	Names:  []string{"libjemalloc.so.2", "libjemalloc.so"},
	Symbol: "mallctl",
	Packages: map[string]string{
		"debian":   "apt install libjemalloc2",
		"ubuntu":   "apt install libjemalloc2",
		"fedora":   "dnf install jemalloc",
		"rhel":     "dnf install jemalloc (from EPEL)",
		"arch":     "pacman -S jemalloc",
		"alpine":   "apk add jemalloc",
		"suse":     "zypper install libjemalloc2",
		"opensuse": "zypper install libjemalloc2",
		"nixos":    "nix-env -iA nixos.jemalloc",
		"gentoo":   "emerge dev-libs/jemalloc",
		"conda":    "conda install -c conda-forge jemalloc",
	},
}

func (jemalloc) library() *program.Search { return &jemallocLibrary }

func (e jemalloc) find(p *Plan) (Library, error) { return p.findLibrary(e) }

func (jemalloc) seesPython() bool { return false }

func (jemalloc) seesGenerated() bool { return false }

var jemallocVersion = regexp.MustCompile(`(\d+\.\d+\.\d+)-\d+-g[0-9a-f]{40}`)

func (jemalloc) version(path string) string { return program.VersionIn(path, jemallocVersion) }

// Intervals of jemalloc, as powers of two, in bytes.
const (
	// jemallocNoTimer is the number of bytes allocated between snapshots with a timer. It matters
	// only for a jemalloc that walks stacks without a function that the adapter replaces.
	jemallocNoTimer = 28
	// jemallocSample is jemalloc's own default sample period: 512 KiB.
	jemallocSample = 19
)

func (jemalloc) refuse(o *Options) error {
	switch {
	case o.Signal != "":
		return errors.New(option.Signal + ": jemalloc cannot take snapshots by signal (tcmalloc can)")
	case o.EveryInuse > 0:
		return errors.New(option.EveryInuse + ": jemalloc has no interval for bytes in use (tcmalloc has)")
	case o.EveryAlloc > 0 && o.Every > 0:
		return fmt.Errorf("%s with %s: jemalloc supports only one of them (tcmalloc supports both)",
			option.EveryAlloc, option.Every)
	}
	return nil
}

// interval returns jemalloc's lg_prof_interval: the logarithm of the bytes allocated between two
// dumps, or -1 for none.
func (jemalloc) interval(o *Options) int {
	switch {
	case o.EveryAlloc > 0:
		return log2(o.EveryAlloc)
	case o.Every > 0:
		return jemallocNoTimer
	}
	return -1
}

// sample returns jemalloc's lg_prof_sample.
func (jemalloc) sample(o *Options) int {
	if o.SamplePeriod > 0 {
		return log2(o.SamplePeriod)
	}
	return jemallocSample
}

// settings returns MALLOC_CONF. jemalloc(3) documents the options, from opt.prof on. Later options
// override earlier ones, so the program's own options come first. abort_conf and stats_print are
// not set.
func (e jemalloc) settings(o *Options) []Setting {
	conf := []string{
		"prof:true", "prof_active:true", "prof_accum:true", "prof_final:true", "prof_leak:false", "prof_gdump:false",
		"prof_prefix:" + adapterPrefix,
		fmt.Sprintf("lg_prof_sample:%d", e.sample(o)),
		fmt.Sprintf("lg_prof_interval:%d", e.interval(o)),
	}
	if own := program.Getenv(o.Env, "MALLOC_CONF"); own != "" {
		conf = append([]string{own}, conf...)
	}
	return []Setting{{"MALLOC_CONF", strings.Join(conf, ",")}, adapterSetting(o)}
}

func (e jemalloc) cost(o *Options) string {
	text := sampledCost(e.period(o))
	if o.SamplePeriod > 0 && o.SamplePeriod != e.period(o) {
		text += fmt.Sprintf(" (%s %s rounded to a power of two)", option.SamplePeriod,
			units.RoundBytes(o.SamplePeriod))
	}
	return text
}

func (e jemalloc) when(o *Options) string {
	switch n := e.interval(o); {
	case n < 0:
		return joinTexts()
	case o.EveryAlloc > 0 && o.EveryAlloc != 1<<n:
		return fmt.Sprintf("every %s allocated (rounded to a power of two)", units.RoundBytes(1<<n))
	case o.EveryAlloc > 0:
		return fmt.Sprintf("every %s allocated", units.RoundBytes(1<<n))
	}
	return timerText(o) + " (checked at each sample)"
}

func (e jemalloc) period(o *Options) int64 { return 1 << e.sample(o) }

// trigger is not called: the adapter tells the trigger.
func (jemalloc) trigger(*Options, *written.Snapshot, *written.Snapshot, int64) string { return "" }

func (jemalloc) dumpSignal(*Options) int { return 0 }
