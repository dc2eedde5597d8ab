package names

import (
	"bufio"
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
const knownDifferences = 79

// TestLibcxxabi compares the full names with the list of libcxxabi's tests, which the module of
// github.com/ianlancetaylor/demangle contains.
func TestLibcxxabi(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ianlancetaylor/demangle").Output()
	require.NoError(t, err)
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "DemangleTestCases.inc"))
	require.NoError(t, err)
	defer f.Close()
	n, different := 0, []string{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m := pair.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		linkage, err := strconv.Unquote(m[1])
		require.NoError(t, err)
		want, err := strconv.Unquote(m[2])
		require.NoError(t, err)
		n++
		if got := Demangle(linkage, Full); together(got) != together(want) {
			different = append(different, linkage+"\n\twant "+want+"\n\tgot  "+got)
		}
	}
	require.NoError(t, in.Err())
	t.Logf("%d of %d names differ:\n%s", len(different), n, strings.Join(different, "\n"))
	require.Greater(t, n, 29_000)
	require.LessOrEqual(t, len(different), knownDifferences)
}

// together removes the blanks between closing brackets, which LLVM prints up to version 14.
func together(name string) string {
	for strings.Contains(name, "> >") {
		name = strings.ReplaceAll(name, "> >", ">>")
	}
	return name
}
