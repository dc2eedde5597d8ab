package itanium

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAppend checks that any string is either demangled or rejected with an error, that the result
// is limited and does not depend on earlier names, and that dst is kept.
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
			checkAppend(t, &reused, name, mode)
		}
	})
}

func checkAppend(t *testing.T, reused *Demangler, name string, mode Mode) {
	const prefix = "at "
	out, err := reused.Append([]byte(prefix), name, mode)
	require.True(t, strings.HasPrefix(string(out), prefix), "%q", name)
	fresh, freshErr := new(Demangler).Append(nil, name, mode)
	require.Equal(t, string(fresh), string(out[len(prefix):]), "%q by a new demangler", name)
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
