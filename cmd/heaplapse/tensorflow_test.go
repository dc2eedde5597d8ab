package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestTensorFlow runs scripts/e2e-tensorflow.sh, which installs TensorFlow and records three loops:
// a full run only.
func TestTensorFlow(t *testing.T) {
	if !testutil.Full() {
		t.Skip("installs TensorFlow from PyPI and records it for minutes: HEAPLAPSE_FULL=1")
	}
	cmd := exec.Command(filepath.Join(testutil.Root(t), "scripts/e2e-tensorflow.sh"), t.TempDir())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skipf("%s", out)
	}
	require.NoError(t, err, "%s", out)
}
