package siteview

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize"
)

// withLibrary returns a describer of stacks of a program, /srv/app, that calls a library of the system,
// libx.so.2. Functions of the program are those that begin with own. Those with unnamed in their names have none.
func withLibrary(t *testing.T, stacks ...string) (*Describer, []symbolize.SiteID) {
	t.Helper()
	addresses := map[string]string{}
	symbols := "--- symbol\nbinary=/srv/app\n"
	rows := "heap profile: 9: 99999 [9: 99999] @ heapprofile/131072\n"
	for _, stack := range stacks {
		rows += "1: 4096 [1: 4096] @"
		for _, name := range strings.Split(stack, " ← ") {
			if addresses[name] == "" {
				base := 0x501010
				if strings.HasPrefix(name, "own") {
					base = 0x401010
				}
				addresses[name] = fmt.Sprintf("%#x", base+16*len(addresses))
				if !strings.Contains(name, "unnamed") {
					symbols += fmt.Sprintf("%s %s\n", addresses[name], name)
				}
			}
			rows += " " + addresses[name]
		}
		rows += "\n"
	}
	text := symbols + "---\n--- heap\n" + rows + "\nMAPPED_LIBRARIES:\n400000-500000 r-xp 00000000 00:00 100 /srv/app\n" +
		"500000-600000 r-xp 00000000 00:00 101 /usr/lib/x86_64-linux-gnu/libx.so.2\n"
	return resolved(t, Options{}, filepath.Join(t.TempDir(), "app_7.0001.heap"), text, len(stacks))
}

// TestOwnCode: where a library allocates, the row also names the user's own code, and the function of the
// library that it called.
func TestOwnCode(t *testing.T) {
	const inner = "malloc ← grow ← add ← scan ← walk ← unnamed"
	d, ids := withLibrary(t,
		inner+" ← evaluate ← own_count ← own_main", inner+"2 ← unnamed3 ← evaluate ← own_count ← own_main",
		inner+" ← evaluate ← own_other", "malloc ← own_keep ← own_main", "malloc ← grow ← evaluate ← own_count")
	v := d.View(ids[:1])
	require.Equal(t, "grow libx.so.2", v.Heading())
	require.Equal(t, "own_count app → grow (libx)", v.Headline())
	require.Equal(t, &Line{Function: "own_count"}, v.Blame.Own)
	require.Equal(t, "← add libx.so.2 ← scan libx.so.2 ← … ← evaluate libx.so.2 ← own_count app", v.CallPath(0))
	require.Equal(t, "← add libx.so.2 ← … ← evaluate libx.so.2 ← own_count app", v.CallPath(70), "it is kept where there is less room")

	require.Equal(t, "← add libx.so.2 ← scan libx.so.2 ← … ← evaluate libx.so.2 ← own_count app  (2 call paths)",
		d.View(ids[:2]).CallPath(0), "the call paths differ before it")
	require.NotContains(t, d.View([]symbolize.SiteID{ids[0], ids[2]}).CallPath(0), "own_", "not all call paths have it")

	own := d.View(ids[3:4])
	require.Nil(t, own.Own)
	require.Equal(t, own.Heading(), own.Headline())
	require.Equal(t, "← evaluate libx.so.2 ← own_count app", d.View(ids[4:5]).CallPath(0), "it is near")
}

// TestAdviceOnOtherLists: a function of a C program has the name of one of CPython's.
func TestAdviceOnOtherLists(t *testing.T) {
	require.Equal(t, noAdvice, ranksOf("/srv/app", "list_append").container)
	require.NotEqual(t, noAdvice, ranksOf("/usr/lib/libpython3.11.so.1.0", "list_append").container)
	require.NotEqual(t, noAdvice, ranksOf("/usr/bin/python3.11", "list_append").container)
}

// TestHintsOnUnnamedFunctions: a hint claims only what the stack shows. Start-up code and a caller beyond a function
// of another module without a name are no hints.
func TestHintsOnUnnamedFunctions(t *testing.T) {
	for stack, want := range map[string]string{
		"own_unnamed ← own_serve":                                  "app+0x1010 (called by own_serve)",
		"own_unnamed ← own_unnamed2 ← own_serve":                   "app+0x1010 (called through own_serve)",
		"own_unnamed ← own_unnamed2 ← dispatch ← own_serve":        "app+0x1010 (called from dispatch in libx.so.2)",
		"own_unnamed ← unnamed ← dispatch":                         "app+0x1010",
		"own_unnamed ← own_unnamed2 ← __libc_start_call_main":      "app+0x1010",
		"own_unnamed ← _PyEval_EvalFrameDefault ← own_serve":       "app+0x1010",
		"own_unnamed ← start_thread ← clone3":                      "app+0x1010",
		"own_unnamed ← own_unnamed2 ← own_unnamed3 ← own_unnamed4": "app+0x1010",
	} {
		d, ids := withLibrary(t, stack)
		require.Equal(t, want, d.View(ids).Title(), stack)
	}
}
