package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTensorFlow runs scripts/e2e-tensorflow.sh, which installs TensorFlow and records three loops: a full run only.
func TestTensorFlow(t *testing.T) {
	if os.Getenv("HEAPLAPSE_FULL") != "1" {
		t.Skip("installs TensorFlow from PyPI and records it for minutes: HEAPLAPSE_FULL=1")
	}
	cmd := exec.Command("../../scripts/e2e-tensorflow.sh", t.TempDir())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skipf("%s", out)
	}
	require.NoError(t, err, "%s", out)
}
