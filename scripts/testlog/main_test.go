package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// log is what go test -json writes about a package that fails, and about one that cannot be built.
const log = `{"Action":"start","Package":"x/a"}
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

// TestRun: the log is what go test prints without -json, and the slowest tests are listed with the time
// of their parts.
func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(log), &out, false))
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
}

func TestVerbose(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(log), &out, true))
	require.Contains(t, out.String(), "    a_test.go:3: a note\n")
}
