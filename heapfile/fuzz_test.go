package heapfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// seedHead is the number of bytes of a fixture that are a seed: enough for rows of every kind.
const seedHead = 64 << 10

// seeds adds the beginning of each fixture and its mappings, and all traps. A
// pattern that matches no file fails in heaptest.Fixtures.
func seeds(f *testing.F, add func([]byte)) {
	for _, path := range append(heaptest.Fixtures(f), pprofFixtures(f)...) {
		data := testutil.Plain(f, path)
		add(data[:min(len(data), seedHead)])
	}
	for _, c := range append(traps, jemallocTraps...) {
		if len(c.text) <= seedHead {
			add([]byte(c.text))
		}
	}
	for _, c := range refusals(f) {
		add([]byte(c.content))
	}
}

// FuzzRead: an error means no snapshot and names the file; what was accepted
// can be written and read again.
func FuzzRead(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := heapfile.Read(bytes.NewReader(data), textName)
		if err != nil {
			require.Nil(t, s)
			require.True(t, strings.HasPrefix(err.Error(), textName+":"), err.Error())
			return
		}
		if s.Format.Profile() {
			requireProfileLaw(t, s)
			return
		}
		requireSound(t, s)
		requireLaw(t, s)
	})
}

// requireSound checks what holds for every snapshot.
func requireSound(t testing.TB, s *heapfile.Snapshot) {
	require.Equal(t, len(s.Samples), s.Rows)
	var rows heapfile.Counts
	for i, r := range s.Samples {
		rows = rows.Add(r.Counts)
		require.Less(t, int(r.Stack), s.Stacks.Len())
		require.False(t, r.Truncated && i < len(s.Samples)-1, "only the last row can be truncated")
	}
	require.Equal(t, rows, s.Completeness.Rows)
	require.False(t, s.Completeness.Unfinished && !s.Completeness.Truncated)
	require.GreaterOrEqual(t, s.Completeness.AbsentMax.InuseBytes, int64(0))
	for _, m := range s.Mappings {
		require.LessOrEqual(t, m.Start, m.Limit)
	}
	for _, w := range s.Warnings {
		require.Equal(t, textName, w.File)
		require.Positive(t, w.Count)
		require.NotEmpty(t, w.Msg)
	}
}

// FuzzMapping: any lines among the mappings leave the rows alone, and what
// was understood of them can be written and read again.
func FuzzMapping(f *testing.F) {
	for _, c := range mappingTraps {
		f.Add(c.line)
	}
	f.Add("build=/home/build/out\n40000-80000: $build/bin/a (@ff00) abc")
	for _, path := range heapFixtures(f) {
		if _, section, ok := strings.Cut(string(testutil.Plain(f, path)), "MAPPED_LIBRARIES:\n"); ok {
			f.Add(section[:min(len(section), 4<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, section string) {
		s := read(t, "heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [1: 2] @ 0x1\n\nMAPPED_LIBRARIES:\n"+section)
		require.Equal(t, []string{"1: 2 [1: 2] @ 0x1"}, show(s))
		require.False(t, s.Completeness.Truncated)
		requireSound(t, s)
		requireLaw(t, s)
	})
}
