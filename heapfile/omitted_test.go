package heapfile_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestOmittedCallers: what a profile has on "(folded samples)" bounds what any absent stack has. As a
// caller it leaves the stack; alone it is no row.
func TestOmittedCallers(t *testing.T) {
	functions := []*profile.Function{{ID: 1, Name: "f"}, {ID: 2, Name: "(folded samples)"}}
	locations := []*profile.Location{
		{ID: 1, Line: []profile.Line{{Function: functions[0]}}}, {ID: 2, Line: []profile.Line{{Function: functions[1]}}},
	}
	p := profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		Sample: []*profile.Sample{
			{Location: locations[:1], Value: []int64{1, 100}},
			{Location: locations, Value: []int64{2, 20}},
			{Location: locations[1:], Value: []int64{3, 3}},
		},
		Function: functions, Location: locations,
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	s, err := heapfile.Read(&b, "test.pb.gz")
	require.NoError(t, err)
	require.Empty(t, s.Warnings)
	require.Len(t, s.Samples, 2)
	for _, row := range s.Samples {
		require.Len(t, s.Stacks.Addrs(row.Stack), 1)
	}
	require.Equal(t, heapfile.Counts{InuseObjects: 6, InuseBytes: 123}, s.Heap())
	require.Equal(t, heapfile.Counts{InuseObjects: 5, InuseBytes: 23}, s.Completeness.AbsentMax)
	require.True(t, s.Completeness.Truncated)
}

// TestUnpack reads through compression and calls the check.
func TestUnpack(t *testing.T) {
	const text = "any text\n"
	files := fstest.MapFS{"plain": {Data: []byte(text)}, "packed": {Data: testutil.Gzipped(t, text)}}
	for name := range files {
		u, err := heapfile.Unpack(files, name, "name", nil)
		require.NoError(t, err)
		require.Equal(t, text, string(u.Head))
		all, err := io.ReadAll(u)
		require.NoError(t, err)
		require.Equal(t, text, string(all))
		require.NoError(t, u.Close())

		enough := errors.New("that is enough")
		u, err = heapfile.Unpack(files, name, "name", func(int64) error { return enough })
		require.NoError(t, err)
		_, err = io.ReadAll(u)
		require.ErrorIs(t, err, enough)
		require.NoError(t, u.Close())
	}
	_, err := heapfile.Unpack(files, "absent", "name", nil)
	require.EqualError(t, err, "name: cannot be read: file does not exist")
}
