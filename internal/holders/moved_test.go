//go:build linux && amd64

package holders

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestMoved: what was an element of a container, which still has the pointer in its memory, is held by where it is now.
func TestMoved(t *testing.T) {
	for _, build := range []string{
		"g++ -O1 -g -std=c++20 testdata/moved.cc",
		"g++ -O2 -gdwarf-4 -std=c++20 testdata/moved.cc",
		"rustc -g -O --edition 2021 testdata/moved.rs",
		"rustc -g --edition 2021 testdata/moved.rs",
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			command := strings.Fields(build)
			if testutil.Need(t, command[0]); command[0] == "rustc" {
				needRust(t)
			}
			program := filepath.Join(t.TempDir(), "moved")
			run(t, command[0], append(command[1:], "-o", program)...)
			printed, got := askAbout(t, program, 2)
			wrong := map[string]int{}
			for i, want := range printed {
				if name := got[i].Name; name != want[0] {
					wrong[want[0]+" not "+name+" "+string(got[i].Kind)]++
				}
			}
			assert.Empty(t, wrong)
			assert.Greater(t, len(printed), 200)
		})
	}
}
