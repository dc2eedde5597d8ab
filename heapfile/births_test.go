package heapfile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bornText = `heap profile: 60: 6000 [90: 9000] @ heapprofile/131072
39: 5112448 [39: 5112448] @ 0x10 0x20
# births 1795676287463:31:4063872 1795676291970:8:1048576
3: 30 [3: 30] @ 0x30
# births 5:1:10 4:2:20
7: 70 [7: 70] @ 0x40
# births 5:7:71
1: 1 [1: 1] @ 0x50
2: 20 [2: 20] @ 0x60
# births 9:2:20
# births 9:1:10 10:1:10
# births
MAPPED_LIBRARIES:
`

func decodeBirths(t *testing.T, text string) *Snapshot {
	t.Helper()
	d := Decoder{Merge: true, Births: true}
	s, err := d.decode(strings.NewReader(text), "x.heap")
	require.NoError(t, err)
	return s
}

// TestBirths: a comment behind a row counts if its times rise and its sums are those of the row.
func TestBirths(t *testing.T) {
	s := decodeBirths(t, bornText)
	assert.Equal(t, map[int][]Birth{
		0: {{time.UnixMilli(1795676287463), 31, 4063872}, {time.UnixMilli(1795676291970), 8, 1048576}},
		4: {{time.UnixMilli(9), 2, 20}},
	}, s.Births)
	require.Len(t, s.Warnings, 3, "%v", s.Warnings) // two comments, and the missing mappings
	assert.Contains(t, s.Warnings[0].Msg, "does not agree with its row")

	var without Decoder
	plain, err := without.decode(strings.NewReader(bornText), "x.heap")
	require.NoError(t, err)
	assert.Nil(t, plain.Births)
	assert.Equal(t, s.Samples, plain.Samples)
}

// TestBirthsOfMergedRows: rows of one stack that are added have no births.
func TestBirthsOfMergedRows(t *testing.T) {
	s := decodeBirths(t, "heap profile: 4: 40 [4: 40] @ heapprofile/1\n1: 10 [1: 10] @ 0x10\n# births 5:1:10\n3: 30 [3: 30] @ 0x10\n# births 5:3:30\nMAPPED_LIBRARIES:\n")
	require.Len(t, s.Samples, 1)
	assert.Empty(t, s.Births)
	require.Len(t, s.Warnings, 1) // the missing mappings
}

func FuzzBirths(f *testing.F) {
	f.Add(bornText)
	f.Fuzz(func(t *testing.T, text string) {
		d := Decoder{Merge: true, Births: true}
		s, err := d.decode(strings.NewReader(text), "x.heap")
		if err != nil {
			return
		}
		for row, list := range s.Births {
			var objects, size int64
			last := int64(-1)
			for _, b := range list {
				require.Greater(t, b.Before.UnixMilli(), last)
				last = b.Before.UnixMilli()
				objects, size = objects+b.Objects, size+b.Bytes
			}
			require.Equal(t, s.Samples[row].InuseObjects, objects)
			require.Equal(t, s.Samples[row].InuseBytes, size)
		}
	})
}
