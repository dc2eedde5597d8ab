package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescribe: packages for all are helpers, and an arrow that others imply is left out.
func TestDescribe(t *testing.T) {
	text := describe(map[string][]string{
		"cmd/x":            {"diff/a", "heapfile", "internal/units"},
		"cmd/x/internal/y": nil,
		"diff/a":           {"diff/internal/b", "heapfile"},
		"diff/internal/b":  nil,
		"heapfile":         {"internal/units"},
		"internal/units":   nil,
	})
	require.Contains(t, text, `"cmd/x" -> "diff";`)
	require.Contains(t, text, "<b>cmd/x</b><br/>y&#160; >")
	require.Contains(t, text, `"diff" -> "heapfile";`)
	require.NotContains(t, text, `"cmd/x" -> "heapfile"`)
	require.Contains(t, text, "<b>diff</b><br/>a&#160; b&#160; >")
	require.Contains(t, text, "none of these:<br/>units")
	require.NotContains(t, text, `"internal/units"`)
}

// TestListIsOfTheProduct: it has no packages for tests, and no imports of other modules.
func TestListIsOfTheProduct(t *testing.T) {
	packages, err := list("../..")
	require.NoError(t, err)
	require.Contains(t, packages["cmd/heaplapse"], "cmd/heaplapse/internal/output")
	require.NotContains(t, packages, "internal/testutil")
	require.NotContains(t, packages["cmd/heaplapse"], "github.com/spf13/cobra")
}
