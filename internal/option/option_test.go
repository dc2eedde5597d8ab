package option_test

import (
	"errors"
	"fmt"
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

// TestErrors: cmd words the option of an error, also if the error is wrapped.
func TestErrors(t *testing.T) {
	short := errors.New("the minimum is 1s")
	err := fmt.Errorf("scrape: %w", &option.Error{Option: option.Every, Value: "5ms", Err: short})
	require.ErrorIs(t, err, short)
	require.Equal(t, "scrape: the interval 5ms: the minimum is 1s", err.Error())
	f := option.Flags{option.Every: "--every", option.CACert: "--cacert"}
	require.Equal(t, "scrape: --every 5ms: the minimum is 1s", f.Reword(err))
	require.Equal(t, "--cacert: the minimum is 1s", f.Reword(&option.Error{Option: option.CACert, Err: short}))
	require.Equal(t, "the minimum is 1s", f.Reword(short))
}
