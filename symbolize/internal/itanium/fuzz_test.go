package itanium

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAppend: any string is shown, or refused with a reason; the answer does not depend on what was
// shown before, keeps what dst held, and is bounded.
func FuzzAppend(f *testing.F) {
	data, err := os.ReadFile(casesFile)
	require.NoError(f, err)
	seeds := 0
	for line := range strings.Lines(string(data)) {
		if name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); strings.HasPrefix(name, "_") {
			f.Add(name)
			seeds++
		}
	}
	require.Greater(f, seeds, 400)
	var reused Demangler
	f.Fuzz(func(t *testing.T, name string) {
		for _, mode := range []Mode{Full, Simple} {
			checkLaws(t, &reused, name, mode)
		}
	})
}

func checkLaws(t *testing.T, reused *Demangler, name string, mode Mode) {
	const prefix = "at "
	out, err := reused.Append([]byte(prefix), name, mode)
	require.True(t, strings.HasPrefix(string(out), prefix), "%q", name)
	fresh, freshErr := new(Demangler).Append(nil, name, mode)
	require.Equal(t, string(fresh), string(out[len(prefix):]), "%q shown by a new demangler", name)
	require.Equal(t, freshErr, err, "%q", name)
	require.LessOrEqual(t, len(fresh), maxOutput(name))
	if err == nil {
		return
	}
	require.Empty(t, fresh)
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		require.LessOrEqual(t, syntax.Offset, len(name), "%q", name)
	} else {
		require.ErrorIs(t, err, ErrTooLarge)
	}
}
