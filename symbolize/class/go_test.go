package class

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestBlameInGo: in a recorded profile, each allocation is attributed to the first function of the
// program. Go writes the names beside the addresses.
func TestBlameInGo(t *testing.T) {
	text := testutil.Plain(t, testutil.Data(t, "blame", "go_profile", "go_profile.heap.gz"))
	function, ofProgram := regexp.MustCompile(`(?m)^#\t0x[0-9a-f]+\t(.*)\+0x`), regexp.MustCompile(`^main\.`)
	blamed := map[string]bool{}
	for row := range strings.SplitSeq(string(text), "\n\n") {
		var stack [][]string
		want := -1
		for _, m := range function.FindAllStringSubmatch(row, -1) {
			if want < 0 && ofProgram.MatchString(m[1]) {
				want = len(stack)
				blamed[m[1]] = true
			}
			stack = append(stack, []string{m[1]})
		}
		if len(stack) == 0 {
			continue // the header, or the statistics at the end
		}
		s, ids := stackOf(stack...)
		ref, ok := NewBlamer(s, nil).Blame(ids)
		require.True(t, ok)
		require.Equal(t, max(want, 0), ref.Position, row)
	}
	for _, f := range []string{"main.parseDocument", "main.readBody", "main.joinLine"} {
		require.Contains(t, blamed, f)
	}
}
