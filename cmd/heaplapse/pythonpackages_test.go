package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestPythonPackages runs the scripts that install TensorFlow, PyTorch and NumPy, and record loops: a
// full run only.
func TestPythonPackages(t *testing.T) {
	if !testutil.Full() {
		t.Skip("installs packages from PyPI and records them for minutes: HEAPLAPSE_FULL=1")
	}
	for _, script := range []string{"e2e-tensorflow.sh", "e2e-pytorch.sh"} {
		t.Run(script, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(testutil.Root(t), "scripts", script), t.TempDir())
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 77 {
				t.Skipf("%s", out)
			}
			require.NoError(t, err, "%s", out)
		})
	}
}
