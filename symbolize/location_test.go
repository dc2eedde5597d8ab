package symbolize

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStableNames: reasons and sources have names, each its own.
func TestStableNames(t *testing.T) {
	reasons := map[string]bool{}
	for r := range Reason(len(reasonNames)) {
		reasons[r.String()] = true
		require.Equal(t, r == ReasonNone, r.Explain() == "", "%s", r)
	}
	require.Len(t, reasons, int(ReasonMalformed)+1)
	require.Equal(t, []string{"dwarf", "symtab", "dynsym", "perf-map", "embedded", "jitdump"}, sourceNames[SourceDWARF:])
}
