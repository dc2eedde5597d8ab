package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
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
