package option_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/option"
)

func TestFlags(t *testing.T) {
	f := option.Flags{option.Top: "--top"}
	require.Equal(t, "--top", f.Of(option.Top))
	require.Equal(t, ": --top 30 shows them", f.If(option.Top, ": %s %d shows them", 30))
	require.Equal(t, "a system root", f.Of(option.Sysroot))
	require.Empty(t, f.If(option.Sysroot, ": %s %d shows them", 30))
	require.Empty(t, option.Flags(nil).If(option.Top, ": %s %d shows them", 30))
}

// TestEveryOptionHasWords: MaxSize is the last option.
func TestEveryOptionHasWords(t *testing.T) {
	for o := range option.MaxSize + 1 {
		require.NotEmpty(t, option.Flags(nil).Of(o), "option %d", o)
	}
}
