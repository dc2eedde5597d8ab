package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// TestMarkdownNamesAFrameWithoutFunction by its module and offset.
func TestMarkdownNamesAFrameWithoutFunction(t *testing.T) {
	require.Equal(t, "libx.so+0x12", frameLine(siteview.FrameJSON{Address: "0x7f12", Module: "/usr/lib/libx.so", Offset: "0x12"}))
	require.Equal(t, "0x7f12", frameLine(siteview.FrameJSON{Address: "0x7f12"}))
	require.Equal(t, "f  a.cc:3", frameLine(siteview.FrameJSON{Function: "f", Module: "/usr/lib/libx.so", File: "/src/a.cc", Line: 3}))
	require.Equal(t, "f  libx.so", frameLine(siteview.FrameJSON{Function: "f", Module: "/usr/lib/libx.so"}))
}
