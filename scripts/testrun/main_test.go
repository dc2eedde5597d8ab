package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// log is what go test -json writes about a package that fails, and about one that cannot be built.
const told = `{"Action":"start","Package":"x/a"}
{"Action":"output","Package":"x/a","Test":"TestGood","Output":"    a_test.go:3: a note\n"}
{"Action":"pass","Package":"x/a","Test":"TestGood","Elapsed":3}
{"Action":"output","Package":"x/a","Test":"TestParts/docs/b.md","Output":"    --- FAIL: TestParts/docs/b.md (2.00s)\n"}
{"Action":"fail","Package":"x/a","Test":"TestParts/docs/b.md","Elapsed":2}
{"Action":"pass","Package":"x/a","Test":"TestParts/c","Elapsed":2.5}
{"Action":"output","Package":"x/a","Test":"TestParts","Output":"--- FAIL: TestParts (0.00s)\n"}
{"Action":"fail","Package":"x/a","Test":"TestParts","Elapsed":0}
{"Action":"output","Package":"x/a","Test":"TestCrash","Output":"panic: no\n"}
{"Action":"output","Package":"x/a","Output":"FAIL\tx/a\t7.5s\n"}
{"Action":"fail","Package":"x/a","Elapsed":7.5}
{"ImportPath":"x/b","Action":"build-output","Output":"b.go:1:1: expected 'package'\n"}
{"Action":"output","Package":"x/c","Output":"PASS\n"}
{"Action":"output","Package":"x/c","Output":"ok  \tx/c\t0.1s\n"}
{"Action":"pass","Package":"x/c","Elapsed":0.1}
not JSON
`

// TestLog: what is printed is what go test prints without -json, and the slowest tests are listed with the
// time of their parts.
func TestLog(t *testing.T) {
	var out strings.Builder
	l := newLog(false)
	require.NoError(t, l.read(strings.NewReader(told), &out))
	list(&out, l.seconds)
	require.Equal(t, `    --- FAIL: TestParts/docs/b.md (2.00s)
--- FAIL: TestParts (0.00s)
panic: no
FAIL	x/a	7.5s
b.go:1:1: expected 'package'
ok  	x/c	0.1s
not JSON
the slowest tests, in seconds:
     4.5  x/a TestParts
     3.0  x/a TestGood
`, out.String())
	require.Equal(t, []name{{"x/a", "TestParts/docs/b.md"}}, l.failed)
	require.True(t, l.broken, "a test has crashed")
}

func TestVerbose(t *testing.T) {
	var out strings.Builder
	require.NoError(t, newLog(true).read(strings.NewReader(told), &out))
	require.Contains(t, out.String(), "    a_test.go:3: a note\n")
}

// busy is a test with a part that fails the first time, as a test does that depends on the machine.
const busy = `package m

import ("os"; "testing")

func TestBusy(t *testing.T) {
	t.Run("a/b c", func(t *testing.T) {
		if f, err := os.OpenFile("ran", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = f.Close()
			t.Fatal("too slow")
		}
	})
	t.Run("other", func(*testing.T) {})
}
`

// runModule runs the tests of a module that consists of one file.
func runModule(t *testing.T, source string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/go.mod", []byte("module m\n"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/m_test.go", []byte(source), 0o600))
	var out strings.Builder
	err := suite{dirs: []string{dir}, packages: [][]string{{"./..."}}}.run(&out)
	return out.String(), err
}

// TestAgain: a test that fails and then passes alone is named, and is no failure.
func TestAgain(t *testing.T) {
	out, err := runModule(t, busy)
	require.NoError(t, err, out)
	require.Contains(t, out, "testrun: TestBusy/a/b_c of m failed beside other tests and passed alone: mend it\n")
}

func TestFailures(t *testing.T) {
	const one = "package m\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { %s }\n"
	for body, why := range map[string]string{
		`t.Error("wrong")`: "TestOne failed again",
		`panic("no")`:      "tests failed",
		`t.NoSuch()`:       "tests failed",
		`for _, n := range "abcdef" { t.Run(string(n), func(t *testing.T) { t.Error() }) }`: "6 tests failed",
	} {
		out, err := runModule(t, fmt.Sprintf(one, body))
		require.EqualError(t, err, why, out)
	}
	_, err := runModule(t, "package m\n")
	require.NoError(t, err)
}
