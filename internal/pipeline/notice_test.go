package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// TestDebugFilesOfTwoSides: a debug file is of one of two builds that are compared. It is reported only if
// neither uses it.
func TestDebugFilesOfTwoSides(t *testing.T) {
	var told []string
	p := (&Pipeline{Tell: func(n Notice) { told = append(told, n.Subject) }}).unusedByBoth()
	for _, side := range [][]string{{"new.debug", "other.debug"}, {"old.debug", "other.debug"}} {
		for _, path := range side {
			p.Tell(Notice{Kind: UnusedDebugFile, Subject: path})
		}
		p.Tell(Notice{Kind: UnusableModule, Subject: "libc.so.6"})
	}
	require.Equal(t, []string{"libc.so.6", "other.debug", "libc.so.6"}, told)
}

// TestGroupWarnings: those of files are one line for each kind, those of the series are all there.
func TestGroupWarnings(t *testing.T) {
	var got []string
	for _, g := range GroupWarnings([]heapfile.Warning{
		{Kind: heapfile.WarnRecording, Msg: "samples dropped"}, {Kind: heapfile.WarnRecording, Msg: "disk full"},
		{Kind: heapfile.WarnDepthLimit, File: "a", Msg: "cut"}, {Kind: heapfile.WarnDepthLimit, File: "b", Msg: "cut"},
		{Kind: heapfile.WarnDepthLimit, Msg: "all are cut"},
	}) {
		got = append(got, g.Text())
	}
	require.Equal(t, []string{"samples dropped", "disk full", "a: cut; and 1 more file", "all are cut"}, got)
}
