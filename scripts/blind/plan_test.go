// Package blind has the tests of the blind test's plan, which are written in Python.
package blind

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), testutil.Need(t, "python3"), "-B", "plan_test.py").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
