//go:build linux

package written

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const eventsHead = `{"schema":"heaplapse.events/1","pid":7,"image":%d,"start_ns":1}` + "\n" + `{"start":{"parent":1}}` + "\n"

func snapshotLine(seq int, rest string) string {
	return fmt.Sprintf(`{"snapshot":{"seq":%d,"time_ns":%d000000000,%s}}`+"\n", seq, seq, rest)
}

func snapshotNamed(seq int) *Snapshot {
	return &Snapshot{Path: fmt.Sprintf("/d/p_7.%04d.heap", seq), Name: Name{PID: 7, Seq: seq}}
}

// TestEventsOfSnapshots: events are read while their files grow, and a second process image has a
// file of its own.
func TestEventsOfSnapshots(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "p.7.events.jsonl"), filepath.Join(dir, "p.7.1.events.jsonl")
	f := NewEvents(filepath.Join(dir, "p"))
	require.Nil(t, f.Of(snapshotNamed(1)), "no file")

	text := fmt.Sprintf(eventsHead, 0) + snapshotLine(1, `"trigger":"time","rss":4096,"cpu_ns":5`)
	whole := text + snapshotLine(2, `"trigger":"exit","signal":15`)
	testutil.WriteFile(t, first, whole[:len(text)+20], 0o600)
	e := f.Of(snapshotNamed(1))
	require.NotNil(t, e)
	require.Equal(t, TriggerTime, e.TriggerName())
	require.Equal(t, int64(4096), *e.RSS)
	require.Equal(t, int64(5), *e.CPU)
	require.Equal(t, time.Second.Nanoseconds(), e.Time)
	require.Nil(t, f.Of(snapshotNamed(2)), "its line is not complete")

	testutil.WriteFile(t, first, whole, 0o600)
	require.Equal(t, TriggerManual, f.Of(snapshotNamed(2)).TriggerName(), "a signal ended the process before it freed its memory")
	text = fmt.Sprintf(eventsHead, 1) + snapshotLine(3, `"trigger":"signal"`) + snapshotLine(4, `"trigger":"exit"`)
	testutil.WriteFile(t, second, text, 0o600)
	e = f.Of(snapshotNamed(3))
	require.Equal(t, 1, e.Image)
	require.Equal(t, TriggerManual, e.TriggerName())
	require.Equal(t, TriggerExit, f.Of(snapshotNamed(4)).TriggerName())
}

// TestProblemsOfTheEngine: the last count of each kind is kept, for processes without snapshots, too,
// and the files are removed.
func TestProblemsOfTheEngine(t *testing.T) {
	dir := t.TempDir()
	problem := func(kind string, count int, detail string) string {
		return fmt.Sprintf(`{"problem":{"kind":%q,"count":%d,"detail":%q}}`+"\n", kind, count, detail)
	}
	head := fmt.Sprintf(eventsHead, 0)
	testutil.WriteFile(t, filepath.Join(dir, "p.7.events.jsonl"), head+
		problem("samples-dropped", 1, "the table is full")+problem("samples-dropped", 9, "the table is full")+
		problem("names-full", 1, ""), 0o600)
	testutil.WriteFile(t, filepath.Join(dir, "p.8.events.jsonl"), strings.Replace(head, `"pid":7`, `"pid":8`, 1)+
		problem("disabled", 1, "the program defines malloc itself"), 0o600)
	testutil.WriteFile(t, filepath.Join(dir, "other.7.events.jsonl"), head+problem("disabled", 1, ""), 0o600)
	problems, errs := NewEvents(filepath.Join(dir, "p")).Finish()
	require.Empty(t, errs)
	require.Equal(t, []manifest.Problem{
		{PID: 7, Kind: "names-full", Count: 1}, {PID: 7, Kind: "samples-dropped", Count: 9, Detail: "the table is full"},
		{PID: 8, Kind: "disabled", Count: 1, Detail: "the program defines malloc itself"},
	}, problems)
	for i, want := range []string{
		"process 7: names-full", "process 7: the table is full (9 times)", "process 8 is not recorded: the program defines malloc itself",
	} {
		require.Equal(t, want, ProblemText(problems[i]))
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "the file of another recording")
}

// TestErrorsOfTheEngine: the errors of system calls are returned.
func TestErrorsOfTheEngine(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "p")
	testutil.WriteFile(t, prefix+".7.events.jsonl", fmt.Sprintf(eventsHead, 0)+
		`{"problem":{"kind":"events","count":2}}`+"\n"+`{"problem":{"kind":"disk","count":1,"errno":28}}`+"\n", 0o600)
	problems, errs := NewEvents(prefix).Finish()
	require.Equal(t, []manifest.Problem{{PID: 7, Kind: "disk", Count: 1}, {PID: 7, Kind: "events", Count: 2}}, problems)
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], unix.ENOSPC)
}

// TestMalformedEvents: the recorder reads what it can and says where the file is wrong.
func TestMalformedEvents(t *testing.T) {
	for rule, c := range map[string]struct{ line, says string }{
		"not JSON":       {"hello\n", "invalid character 'h'"},
		"another type":   {`{"snapshot":[]}` + "\n", "cannot unmarshal array"},
		"another schema": {`{"schema":"heaplapse.events/9"}` + "\n", `schema "heaplapse.events/9", want "heaplapse.events/1"`},
		"a long line":    {strings.Repeat("a", maxEvents+1), "a line is too long"},
	} {
		t.Run(rule, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "p.7.events.jsonl")
			text := fmt.Sprintf(eventsHead, 0) + snapshotLine(1, `"trigger":"time"`) + c.line
			if strings.HasSuffix(c.line, "\n") {
				text += snapshotLine(2, `"trigger":"time"`)
			}
			testutil.WriteFile(t, path, text, 0o600)
			f := NewEvents(filepath.Join(dir, "p"))
			require.NotNil(t, f.Of(snapshotNamed(1)))
			require.Equal(t, strings.HasSuffix(c.line, "\n"), f.Of(snapshotNamed(2)) != nil)
			_, errs := f.Finish()
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs[0], path+": at byte ")
			require.ErrorContains(t, errs[0], c.says)
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "p.7.events.jsonl")))
	require.Nil(t, NewEvents(filepath.Join(dir, "p")).Of(snapshotNamed(1)), "a link is not followed")
}

func TestImageOf(t *testing.T) {
	for name, want := range map[string]int{
		"python3.11.4711.events.jsonl": 0, "python3.4711.2.events.jsonl": 2, "python3.11.47110.events.jsonl": -1,
		"python3.4711.frames.jsonl": -1, "python3.4711.x.events.jsonl": -1, "4711.12.events.jsonl": -1, "a.4711..events.jsonl": -1,
	} {
		image, ok := ImageOf(name, 4711, EventsSuffix)
		if assert.Equal(t, want >= 0, ok, name) && ok {
			assert.Equal(t, want, image, name)
		}
	}
}
