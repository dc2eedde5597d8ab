//go:build linux

package record

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/written"
)

func snap(at time.Duration, inuse, alloc int64) *written.Snapshot {
	return &written.Snapshot{Time: time.Unix(0, 0).Add(at), InuseBytes: inuse, AllocBytes: alloc}
}

func TestTriggersOfTcmalloc(t *testing.T) {
	o := &Options{Every: time.Second, EveryAlloc: 1000, EveryInuse: 100}
	before := snap(0, 50, 5000)
	for _, c := range []struct {
		what string
		s    *written.Snapshot
		want string
	}{
		{"bytes allocated take precedence", snap(1, 500, 6000), written.TriggerAllocated},
		{"a new maximum of the bytes in use", snap(1, 161, 5999), written.TriggerHighWater},
		{"below the interval", snap(1, 160, 5999), written.TriggerTime},
	} {
		assert.Equal(t, c.want, tcmalloc{}.trigger(o, c.s, before, 60), c.what)
	}
	assert.Equal(t, written.TriggerManual, tcmalloc{}.trigger(&Options{Signal: "USR2"}, snap(1, 1, 1), nil, 0))
	assert.Equal(t, written.TriggerExit, tcmalloc{}.trigger(&Options{}, snap(1, 1, 1), nil, 0))
}

func TestLog2(t *testing.T) {
	for v, want := range map[int64]int{
		0: 0, 1: 0, 2: 1, 3: 2, 512 << 10: 19, 500_000: 19, 1 << 30: 30, 700 << 10: 19, 800 << 10: 20,
	} {
		assert.Equal(t, want, log2(v), v)
	}
}

func TestEnginesRefuseUnsupportedOptions(t *testing.T) {
	for _, c := range []struct {
		engine engine
		o      Options
		says   string
	}{
		{jemalloc{}, Options{Signal: "USR2"}, "--signal: "},
		{jemalloc{}, Options{EveryInuse: 1}, "--every-inuse: "},
		{jemalloc{}, Options{EveryAlloc: 1, Every: 1}, "--every-alloc with --every: "},
		{jemalloc{}, Options{Every: 1}, ""},
		{jemalloc{}, Options{EveryAlloc: 1}, ""},
		{tcmalloc{}, Options{SamplePeriod: 1}, "--sample-period: "},
		{tcmalloc{}, Options{Signal: "USR2", Every: 1, EveryAlloc: 1, EveryInuse: 1}, ""},
	} {
		err := c.engine.refuse(&c.o)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
}

// TestJemallocCountsAllAllocations: jemalloc's cumulative counts, without which load looks like a leak, are on. The
// program's own options come first, so that ours override them.
func TestJemallocCountsAllAllocations(t *testing.T) {
	o := Options{Env: []string{"MALLOC_CONF=narenas:1,prof_accum:false"}}
	settings := jemalloc{}.settings(&o)
	require.Len(t, settings, 2)
	options := strings.Split(settings[0].Value, ",")
	require.Equal(t, []string{"narenas:1", "prof_accum:false"}, options[:2])
	require.Contains(t, options[2:], "prof_accum:true")
}
