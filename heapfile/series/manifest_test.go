package series_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// recorded is a manifest of lines of JSON.
func recorded(lines ...string) string {
	return fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema) + strings.Join(append(lines, ""), "\n")
}

// wrote is the record of a snapshot.
func wrote(file string, pid, minute int) string {
	return fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-02T03:%02d:00Z","pid":%d,"rss_bytes":%d,"cpu_ns":%d}}`,
		file, minute, pid, (minute+1)<<20, minute*1000)
}

func ran(pid int, command string) string {
	return fmt.Sprintf(`{"process":{"pid":%d,"started":"2026-01-02T03:00:00Z","command":["%s"],"exe":"/bin/%s"}}`,
		pid, strings.ReplaceAll(command, " ", `","`), strings.Fields(command)[0])
}

func TestManifestSeparatesProcessesOfOnePrefix(t *testing.T) {
	files := serial(rising(5)...)
	files[manifest.Name] = recorded(wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 8, 1), wrote("p.0003.heap", 7, 2), wrote("p.0004.heap", 8, 3))
	dir := put(t, files)
	s := open(t, series.Options{Process: "7"}, dir)
	require.Equal(t, []string{"p.0001.heap", "p.0003.heap"}, names(s))
	require.Equal(t, series.ClockManifest, s.Clock.Source)
	s = open(t, series.Options{Process: "8"}, dir)
	require.Equal(t, []string{"p.0002.heap", "p.0004.heap", "p.0005.heap"}, names(s), "the last one has no record yet: it follows one of process 8")
	rss, ok := s.ResidentAt(1)
	require.True(t, ok)
	require.Equal(t, int64(4<<20), rss)
	_, ok = s.ResidentAt(2)
	require.False(t, ok)
	cpu, ok := s.ProcessorTimeAt(1)
	require.True(t, ok)
	require.Equal(t, 3*time.Microsecond, cpu)
	_, ok = s.ProcessorTimeAt(2)
	require.False(t, ok)
}

// TestLaterRecordAddsToAnEarlierOne: whether a snapshot was the last one is known only when the
// process has ended.
func TestLaterRecordAddsToAnEarlierOne(t *testing.T) {
	files := serial(rising(2)...)
	files[manifest.Name] = recorded(wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1),
		`{"snapshot":{"file":"p.0002.heap","time":"2026-01-02T03:01:00Z","pid":7,"trigger":"exit"}}`,
		`{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:00:30Z","pid":7,"trigger":"time"}}`)
	s := open(t, series.Options{}, put(t, files))
	require.Equal(t, []filename.Trigger{filename.TriggerTime, filename.TriggerExit}, s.Triggers)
	rss, ok := s.ResidentAt(1)
	require.True(t, ok)
	require.Equal(t, int64(2<<20), rss)
	cpu, ok := s.ProcessorTimeAt(1)
	require.True(t, ok)
	require.Equal(t, time.Microsecond, cpu)
	_, ok = s.ResidentAt(0)
	require.False(t, ok, "a later file of the same name replaced it")
	require.Equal(t, []float64{0, 30}, s.Clock.At)
}

func TestEndOfAProcessIsReported(t *testing.T) {
	const died, full = `{"end":{"pid":7,"time":"2026-01-02T03:09:00Z","signal":"SIGKILL"}}`, `{"end":{"time":"2026-01-02T03:10:00Z","error":"no space left on device"}}`
	files := serial(rising(2)...)
	files[manifest.Name] = recorded(ran(7, "server"), wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1), died, full)
	s := open(t, series.Options{}, put(t, files))
	end, of := s.Ended()
	require.Equal(t, "SIGKILL", end.Signal)
	require.Equal(t, 7, of)
	killed := heaptest.Find(t, s.Warnings, heapfile.WarnKilled)
	require.Contains(t, killed.Msg, "killed by SIGKILL at 2026-01-02T03:09:00Z; the kernel kills processes when memory runs out")
	require.True(t, killed.Harmless())
	lost := heaptest.Find(t, s.Warnings, heapfile.WarnRecording)
	require.Contains(t, lost.Msg, "no space left on device")
	require.False(t, lost.Harmless(), "snapshots are missing")

	files[manifest.Name] = recorded(wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1), `{"end":{"time":"2026-01-02T03:10:00Z","status":0}}`)
	s = open(t, series.Options{}, put(t, files))
	end, of = s.Ended()
	require.Equal(t, 0, *end.Status)
	require.Zero(t, of, "the recording's")
	require.Empty(t, s.Warnings)

	files[manifest.Name] = recorded(`{"process":{"pid":7,"parent":6,"started":"2026-01-02T03:00:00Z"}}`, wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1),
		`{"end":{"pid":6,"time":"2026-01-02T03:10:00Z","status":137}}`, `{"end":{"time":"2026-01-02T03:10:00Z"}}`)
	end, of = open(t, series.Options{}, put(t, files)).Ended()
	require.Equal(t, 137, *end.Status)
	require.Equal(t, 6, of, "the shell that waited for it")
}

// TestShutdown: a program that takes long to end is judged by what it did before.
func TestShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		end  string
		want time.Duration // from the first snapshot; 0 if it is unknown
	}{
		"asked":           {`"pid":7,"time":"2026-01-02T03:09:00Z","asked":"2026-01-02T03:05:00Z"`, 5 * time.Minute},
		"leaving":         {`"pid":7,"time":"2026-01-02T03:09:00Z","leaving":"2026-01-02T03:06:00Z"`, 6 * time.Minute},
		"asked first":     {`"pid":7,"time":"2026-01-02T03:09:00Z","asked":"2026-01-02T03:05:00Z","leaving":"2026-01-02T03:06:00Z"`, 5 * time.Minute},
		"went on":         {`"pid":7,"time":"2026-01-02T03:19:00Z","leaving":"2026-01-02T03:06:00Z"`, 0},
		"another process": {`"pid":6,"time":"2026-01-02T03:09:00Z","leaving":"2026-01-02T03:06:00Z"`, 0},
		"unknown":         {`"pid":7,"time":"2026-01-02T03:09:00Z"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			files := serial(rising(2)...)
			files[manifest.Name] = recorded(ran(7, "server"), wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1), `{"end":{`+c.end+`}}`)
			s := open(t, series.Options{}, put(t, files))
			began := s.Shutdown()
			require.Equal(t, c.want == 0, began.IsZero(), began)
			if c.want != 0 {
				require.Equal(t, c.want, began.Sub(s.Clock.Times[0]))
			}
		})
	}
}

func TestCommandLinesFitOnOneLine(t *testing.T) {
	p := series.Process{PID: 7, Command: []string{"python3", "-c", "import x\nwhile True:\n\tx.leak()\x1b[2J" + strings.Repeat("y", 500)}}
	require.Regexp(t, `^7 \(python3 -c import x while True:  x\.leak\(\) \[2Jy+…\)$`, p.Title())
	require.Less(t, len(p.Title()), 140)
}

// TestProblemsOfTheEngineAreWarnings of the process that has them. Those of processes without
// snapshots are in one.
func TestProblemsOfTheEngineAreWarnings(t *testing.T) {
	files := serial(rising(2)...)
	files[manifest.Name] = recorded(wrote("p.0001.heap", 7, 0), wrote("p.0002.heap", 7, 1),
		`{"problem":{"pid":7,"kind":"samples-dropped","count":9,"detail":"the table of samples is full"}}`,
		`{"problem":{"pid":7,"kind":"table-full","count":1}}`,
		`{"problem":{"pid":8,"kind":"disabled","count":1,"detail":"sandbox"}}`,
		`{"problem":{"pid":8,"kind":"names-full","count":1,"detail":"of a process that has no snapshots"}}`,
		`{"problem":{"pid":9,"kind":"disabled","count":2}}`)
	require.Equal(t, []string{
		"process 8 is not recorded: sandbox; process 9 is not recorded: disabled",
		"the built-in engine reports: the table of samples is full (9 times)",
		"the built-in engine reports: table-full",
	}, recordingWarnings(open(t, series.Options{}, put(t, files))))
}

func recordingWarnings(s *series.Series) (messages []string) {
	for _, w := range s.Warnings {
		if w.Kind == heapfile.WarnRecording {
			messages = append(messages, w.Msg)
		}
	}
	return messages
}

// TestRecordingsWithoutSnapshots: the error of a directory has what its manifest tells.
func TestRecordingsWithoutSnapshots(t *testing.T) {
	const none = "no heap snapshots in this directory (*.heap, *.pb, *.pprof, *.prof, *.jeprof; with .gz or .zst, too)"
	for _, c := range []struct {
		records []string
		want    string
	}{
		{nil, ""},
		{[]string{`{"end":{"time":"2026-01-02T03:04:05Z","status":0}}`}, ""},
		{[]string{`broken`}, ""},
		{[]string{`{"problem":{"pid":8,"kind":"disabled","detail":"sandbox"}}`}, ": process 8 is not recorded: sandbox"},
		{
			[]string{
				`{"problem":{"pid":8,"kind":"write-failed","count":4,"detail":"no place"}}`,
				`{"end":{"time":"2026-01-02T03:04:05Z","error":"out: disk full"}}`,
			},
			": process 8: no place (4 times); the recorder reports: out: disk full",
		},
		{
			[]string{
				`{"problem":{"pid":1,"kind":"a"}}`, `{"problem":{"pid":2,"kind":"a"}}`, `{"problem":{"pid":3,"kind":"a"}}`,
				`{"problem":{"pid":4,"kind":"a"}}`, `{"problem":{"pid":5,"kind":"a"}}`,
			},
			": process 1: a; process 2: a; process 3: a; and 2 more",
		},
	} {
		dir := put(t, map[string]string{manifest.Name: recorded(c.records...)})
		_, err := series.Open([]string{dir}, series.Options{})
		require.ErrorIs(t, err, series.ErrNoSnapshots)
		require.EqualError(t, err, dir+": "+none+c.want)
	}
}

func TestGapsAreWarnings(t *testing.T) {
	files := serial(rising(2)...)
	files[manifest.Name] = recorded(wrote("p.0001.heap", 0, 0), wrote("p.0002.heap", 0, 1),
		`{"gap":{"prefix":"p","from":"2026-01-02T03:00:10Z","to":"2026-01-02T03:00:50.04Z","reason":"refused"}}`,
		`{"gap":{"prefix":"q","from":"2026-01-02T03:00:10Z","reason":"of another service"}}`,
		`{"gap":{"prefix":"p","from":"2026-01-02T03:01:10Z","to":"2026-01-02T03:01:20Z","reason":"refused"}}`,
		`{"gap":{"prefix":"p","from":"2026-01-02T03:02:10Z","reason":"timeout"}}`,
		`{"gap":{"prefix":"p","from":"2026-01-02T03:03:10Z","reason":"timeout"}}`)
	require.Equal(t, []string{
		"no snapshots from 2026-01-02T03:00:10Z for 40s: refused", "no snapshots from 2026-01-02T03:01:10Z for 10s: refused",
		"no snapshots from 2026-01-02T03:02:10Z to the end: timeout", "further times without snapshots: 1",
	}, recordingWarnings(open(t, series.Options{}, put(t, files))))
}
