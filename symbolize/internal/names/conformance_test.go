package names

import (
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pair matches a line of libcxxabi's list: {"_Z1fv", "f()"},
var pair = regexp.MustCompile(`^\s*\{("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")\},?$`)

// knownDifferences is the number of names that differ: docs/conformance.md says how.
const knownDifferences = 39

// TestLibcxxabi compares the full names with the list of libcxxabi's tests.
func TestLibcxxabi(t *testing.T) {
	n, different := 0, []string{}
	for linkage, want := range libcxxabi(t) {
		n++
		if got := Demangle(linkage, Full); together(got) != together(want) {
			different = append(different, linkage+"\n\twant "+want+"\n\tgot  "+got)
		}
	}
	t.Logf("%d of %d names differ:\n%s", len(different), n, strings.Join(different, "\n"))
	require.Greater(t, n, 29_000)
	require.LessOrEqual(t, len(different), knownDifferences)
}

// libcxxabi yields the linkage names of libcxxabi's tests, and the names that they stand for. The
// module of github.com/ianlancetaylor/demangle contains the list.
func libcxxabi(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ianlancetaylor/demangle").Output()
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "DemangleTestCases.inc"))
	require.NoError(t, err)
	return func(yield func(linkage, name string) bool) {
		for line := range strings.Lines(string(list)) {
			m := pair.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			linkage, err := strconv.Unquote(m[1])
			require.NoError(t, err)
			name, err := strconv.Unquote(m[2])
			require.NoError(t, err)
			if !yield(linkage, name) {
				return
			}
		}
	}
}

// together removes the blanks between closing brackets, which LLVM prints up to version 14.
func together(name string) string {
	for strings.Contains(name, "> >") {
		name = strings.ReplaceAll(name, "> >", ">>")
	}
	return name
}
