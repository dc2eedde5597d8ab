package symbolize

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// TestStaleByBuildID checks a file with another build ID than the recorded one.
func TestStaleByBuildID(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=0xabcdef0123")
	calls := callsOf(t, path)
	for id, want := range map[string]Reason{"abcdef0123": ReasonNone, "1234": ReasonStale, "": ReasonNone} {
		series := seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base))
		series.BuildIDs = map[string]string{path: id}
		s := resolve(t, series, Options{})
		require.Equal(t, want, s.Modules[0].Reason, "recorded %q", id)
		for _, loc := range s.Stack(0) {
			require.Equal(t, want, s.Locations[loc].Reason)
			require.Equal(t, want == ReasonNone, s.Locations[loc].Named())
		}
		if want == ReasonStale {
			require.ErrorContains(t, s.Modules[0].Err, path+": its build ID is abcdef0123, the one that was mapped has 1234")
		}
	}
}

// TestStaleBySegments checks a file without a segment that fits the mapping.
func TestStaleBySegments(t *testing.T) {
	path := standard(t).main
	for name, line := range map[string]string{
		"mapping is too long":   "558123456000-558124456000 r-xp 00000000 fe:01 1 ",
		"offset beyond the end": "558123456000-558123457000 r-xp 10000000 fe:01 1 ",
	} {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, seriesOf(t, []string{line + path}, []uint64{base + 0x100}), Options{})
			require.Contains(t, []Reason{ReasonStale, ReasonNoSegment}, s.Locations[0].Reason)
			require.Equal(t, ReasonStale, s.Modules[0].Reason)
			require.ErrorContains(t, s.Modules[0].Err, "it was rebuilt or replaced")
		})
	}
}

// TestStaleByCalls checks a rebuilt program, in which the return addresses do not follow calls.
func TestStaleByCalls(t *testing.T) {
	path := standard(t).main
	calls := callsOf(t, path)
	for i := range calls {
		calls[i].returns++ // not after a call
	}
	s := resolve(t, seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base)), Options{})
	m := s.Modules[0]
	require.Equal(t, ReasonStale, m.Reason)
	require.True(t, m.Suspect())
	require.ErrorContains(t, m.Err, "return addresses follow a call: it was rebuilt or replaced")
	for _, id := range s.Stack(0) {
		require.False(t, s.Locations[id].Named())
	}
}

// TestSuspectFiles checks that a few addresses that do not follow calls are counted, but do not
// make a file stale.
func TestSuspectFiles(t *testing.T) {
	path := standard(t).main
	calls := callsOf(t, path)[:20]
	for i := range 4 {
		calls[i].returns++
	}
	s := resolve(t, seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base)), Options{})
	m := s.Modules[0]
	require.Equal(t, ReasonNone, m.Reason)
	require.Equal(t, 20, m.CallsChecked)
	require.Equal(t, 16, m.CallsFound)
	require.True(t, m.Suspect())
}

// TestEndsInCallX86 checks that every call in real programs is recognized.
func TestEndsInCallX86(t *testing.T) {
	testutil.NoRace(t)
	for _, path := range []string{standard(t).main, "/usr/bin/python3.11", "/usr/lib/x86_64-linux-gnu/libc.so.6"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if _, err := os.Stat(path); err != nil {
				testutil.Missing(t, err.Error())
			}
			file, err := elffile.Open(path)
			require.NoError(t, err)
			defer file.Close()
			returns := map[uint64]bool{}
			for _, c := range callsOf(t, path) {
				returns[c.returns] = true
				if found, known := file.EndsInCall(c.returns); !found || !known {
					require.Fail(t, "not a call", "%s, which returns to 0x%x", c.text, c.returns)
				}
			}
			reportFalseCalls(t, file, textAddresses(t, path), returns)
		})
	}
}

// reportFalseCalls checks that few other addresses seem to follow a call, because a longer
// instruction before them contains E8 or FF. In a stale file, half of the addresses do not follow a
// call.
func reportFalseCalls(t *testing.T, file *elffile.File, text []uint64, returns map[uint64]bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 3))
	tried, wrong := 0, 0
	for range 20_000 {
		a := text[random.IntN(len(text))]
		found, known := file.EndsInCall(a)
		if !known || returns[a] {
			continue
		}
		tried++
		if found {
			wrong++
		}
	}
	t.Logf("%.2f %% of %d random addresses seem to follow a call", 100*float64(wrong)/float64(tried), tried)
	require.Less(t, wrong*10, tried)
}

// TestStaleByState checks the recorded size and time of a file without a build ID. A copy may have
// another time.
func TestStaleByState(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=none")
	info, err := os.Stat(path)
	require.NoError(t, err)
	calls := callsOf(t, path)
	for rule, c := range map[string]struct {
		size  int64
		later time.Duration
		o     Options
		want  Reason
	}{
		"the file that was mapped":            {0, 0, Options{}, ReasonNone},
		"another size":                        {1, 0, Options{}, ReasonStale},
		"another time":                        {0, time.Hour, Options{}, ReasonStale},
		"a copy in a sysroot":                 {0, time.Hour, Options{Sysroot: "/"}, ReasonNone},
		"another size in a sysroot":           {1, 0, Options{Sysroot: "/"}, ReasonStale},
		"a file in Options is not compared":   {1, time.Hour, Options{Binary: path}, ReasonNone},
		"times of a coarse file system agree": {0, time.Second, Options{}, ReasonNone},
	} {
		t.Run(rule, func(t *testing.T) {
			series := seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base))
			series.Mapped = map[string]manifest.Mapping{path: {Path: path, Size: info.Size() + c.size, MTime: info.ModTime().Add(-c.later)}}
			s := resolve(t, series, c.o)
			require.Equal(t, c.want, s.Modules[0].Reason, "%v", s.Modules[0].Err)
			if c.want == ReasonStale {
				require.ErrorContains(t, s.Modules[0].Err, "the file that was mapped")
			}
		})
	}
}
