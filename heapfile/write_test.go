package heapfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// requireLaw checks read(write(x)) = x for an x that was read.
func requireLaw(t testing.TB, x *heapfile.Snapshot) {
	t.Helper()
	var b bytes.Buffer
	n, err := write(x, &b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	y, err := heapfile.Read(bytes.NewReader(b.Bytes()), textName)
	require.NoError(t, err, "%.2000s", b.String())
	require.Equal(t, show(x), show(y))
	require.Equal(t, content(x), content(y), "%.2000s", b.String())
}

// content returns the parts of a snapshot that write keeps, except for the stacks: see show.
func content(s *heapfile.Snapshot) heapfile.Snapshot {
	c := *s
	c.Path, c.Size = "", 0
	c.Recorded, c.Modified = time.Time{}, time.Time{}
	c.Stacks, c.Warnings = heapfile.Stacks{}, nil
	return c
}

func TestRoundTripOfFixtures(t *testing.T) {
	testutil.NoRace(t)
	accepted := 0
	for _, path := range append(heaptest.Fixtures(t), pprofFixtures(t)...) {
		s, err := heapfile.Read(bytes.NewReader(testutil.Plain(t, path)), path)
		if err != nil {
			var format *heapfile.FormatError
			require.ErrorAs(t, err, &format)
			continue
		}
		accepted++
		t.Run(path, func(t *testing.T) { requireLaw(t, s) })
	}
	require.Greater(t, accepted, 50)
}

func TestRoundTripOfTraps(t *testing.T) {
	for _, c := range append(traps, jemallocTraps...) {
		t.Run(c.rule, func(t *testing.T) { requireLaw(t, read(t, c.text)) })
	}
}

func TestRoundTripOfMappings(t *testing.T) {
	for _, c := range mappingTraps {
		t.Run(c.rule, func(t *testing.T) { requireLaw(t, read(t, heaptest.WithMaps(c.line))) })
	}
}

// Found by FuzzMapping: all steps of the parser must agree on what is a blank.
func TestRoundTripOfPathsWithControlCharacters(t *testing.T) {
	for _, c := range []string{"\r", "\v", "\f", "\u00a0"} {
		requireLaw(t, read(t, heaptest.WithMaps("400000-500000 "+c+"rw-p 00000000 00:00 0")))
	}
}

func TestRoundTripOfSymbols(t *testing.T) {
	for _, names := range []string{"f", "caller(int)--inlined", "operator--()", "a --b", "-- a", "a -- b ", ""} {
		t.Run(names, func(t *testing.T) {
			requireLaw(t, read(t, heaptest.Lines("--- symbol", "0x10 "+names, "0x11 g", "---", "--- heap")+heaptest.Exact("0: 0 [0: 0]")))
		})
	}
}

func TestRoundTripOfPeriods(t *testing.T) {
	for _, kind := range []string{"heap", "heap/1048576", "heap/1048577", "heap_v2/0", "heap_v2", "heapz_v2/524288", "growth", "growthz", "fragmentationz"} {
		t.Run(kind, func(t *testing.T) {
			requireLaw(t, read(t, heaptest.WithHeader("heap profile: 1: 2 [1: 2] @ "+kind, "1: 2 [1: 2] @ 0x1")))
		})
	}
}

func TestWriterReproducesTheAllocatorsText(t *testing.T) {
	text := heaptest.Lines("heap profile:      1:        2 [     3:        4] @ heapprofile",
		"     1:        2 [     3:        4] @ 0x00000001 0x7f0000000002", "", "MAPPED_LIBRARIES:",
		"00400000-00500000 r-xp 00001000 00:00 12345       /usr/bin/program (deleted)")
	var b strings.Builder
	_, err := write(read(t, text), &b)
	require.NoError(t, err)
	require.Equal(t, text, b.String())
}

func TestWritingReportsTheFirstError(t *testing.T) {
	full := errors.New("disk full")
	_, err := write(read(t, heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1")), failing{full})
	require.ErrorIs(t, err, full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
