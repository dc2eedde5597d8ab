//go:build linux

package collect

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// scripted is a shell script that writes snapshots, and their collector.
type scripted struct {
	*Collector
	watcher *Watcher
	cmd     *exec.Cmd
}

// collectFrom starts a script. In it, snap N writes the snapshot N.
func collectFrom(t *testing.T, script string) *scripted {
	t.Helper()
	return collectWith(t, Options{NoCompress: true}, script)
}

// collectWith starts a script, as collectFrom does, with options.
func collectWith(t *testing.T, o Options, script string) *scripted {
	t.Helper()
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "text"), string(heapText(4096)), 0o600)
	w, err := Watch(dir)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	out, err := manifest.Create(dir)
	require.NoError(t, err)
	cmd := exec.Command(testutil.Need(t, "sh"), "-c", "snap() { cat text > p_$$.000$1.heap; }; "+script)
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	o.Prefix, o.Shown, o.Root = filepath.Join(dir, "p"), dir, cmd.Process.Pid
	c := New(o, out)
	go c.Run(w)
	return &scripted{c, w, cmd}
}

// load returns the complete manifest.
func (s *scripted) load(t *testing.T) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Load(s.dir)
	require.NoError(t, err)
	return m
}

// files returns the names of the snapshots in the manifest. A later record of one replaces the earlier.
func (s *scripted) files(t *testing.T) (files []string) {
	t.Helper()
	for _, snapshot := range s.load(t).Snapshots {
		files = append(files, snapshot.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// ends returns how the process of the script ended, according to the manifest.
func (s *scripted) ends(t *testing.T) (ends []manifest.End) {
	t.Helper()
	for _, e := range s.load(t).Ends {
		if e.PID == s.o.Root {
			ends = append(ends, e)
		}
	}
	return ends
}

// TestFinish: the result and the manifest tell how the program ended. Snapshots without a file event
// are found.
func TestFinish(t *testing.T) {
	for _, c := range []struct {
		script         string
		status, signal int
		snapshots      int
		note           string
	}{
		{"snap 1; snap 2; exit 3", 3, 0, 2, ""},
		{"snap 1; kill -TERM $$", 128 + 15, 15, 1, ""},
		{"kill -TERM $$", 128 + 15, 15, 0, "no snapshots: SIGTERM ended the program before the first one was due"},
		{"snap 1; head -c 20 text > p_$$.0002.heap", 0, 0, 1, "1 snapshot truncated, not used"},
	} {
		s := collectFrom(t, c.script)
		_ = s.cmd.Wait() // its status is that of the script
		s.Stop()
		cpu := int64(7)
		r := s.Finish(Exit{State: s.cmd.ProcessState, Time: time.Now(), CPU: &cpu})
		want := Result{Status: c.status, Signal: c.signal, Snapshots: c.snapshots}
		if c.snapshots > 0 {
			want.Processes, want.Main = 1, s.o.Root
		}
		if c.note != "" {
			want.Notes = []string{c.note}
		}
		require.Equal(t, want, r, c.script)
		require.Len(t, s.files(t), c.snapshots, c.script)
		ends := s.ends(t)
		require.Len(t, ends, 1, c.script)
		require.Equal(t, cpu, *ends[0].CPU, c.script)
		if c.signal != 0 {
			require.Equal(t, "SIGTERM", ends[0].Signal, c.script)
		} else {
			require.Equal(t, c.status, *ends[0].Status, c.script)
		}
	}
}

// TestLeave: the process runs on, and the manifest does not tell that it ended.
func TestLeave(t *testing.T) {
	s := collectFrom(t, "snap 1; exec sleep 1000")
	defer func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() }()
	s.waitFor(t, 1)
	s.Stop()
	r := s.Leave(time.Time{})
	require.Equal(t, Result{Snapshots: 1, Processes: 1, Main: s.o.Root}, r)
	require.Empty(t, s.ends(t))
}

// waitFor waits until the process has written so many snapshots.
func (s *scripted) waitFor(t *testing.T, snapshots int) {
	t.Helper()
	require.Eventually(t, func() (done bool) {
		s.do(func() {
			p := s.procs[s.o.Root]
			done = p != nil && p.snapshots == snapshots
		})
		return done
	}, time.Minute, poll)
}

// TestRequestLast: the process has taken a snapshot when RequestLast returns. A process that does not
// handle the signal is not sent it, because that would end it.
func TestRequestLast(t *testing.T) {
	for script, snapshots := range map[string]int{
		"trap 'snap 2' USR1; snap 1; while :; do sleep 0.01; done": 2,
		"snap 1; while :; do sleep 0.01; done":                     1,
	} {
		s := collectFrom(t, script)
		s.waitFor(t, 1)
		s.RequestLast(int(unix.SIGUSR1))
		s.waitFor(t, snapshots)
		require.NoError(t, s.cmd.Process.Kill())
		_ = s.cmd.Wait() // it was killed
		s.Stop()
		r := s.Finish(Exit{State: s.cmd.ProcessState, Time: time.Now()})
		require.Equal(t, int(unix.SIGKILL), r.Signal, script)
		require.Equal(t, snapshots, r.Snapshots, script)
		m := s.load(t)
		require.Len(t, m.Snapshots, snapshots, script)
		if snapshots > 1 {
			require.Equal(t, fmt.Sprintf("p_%d.0002.heap", s.o.Root), m.Snapshots[1].File)
			require.Equal(t, written.TriggerManual, m.Snapshots[1].Trigger)
		}
	}
}

// TestRequestLastOnAStalledDisk: RequestLast returns although Run waits, and sends no signal later.
func TestRequestLastOnAStalledDisk(t *testing.T) {
	s := collectFrom(t, "trap 'snap 2' USR1; snap 1; while :; do sleep 0.01; done")
	s.waitFor(t, 1)
	waits, answer := make(chan struct{}), make(chan struct{})
	go s.do(func() { close(waits); <-answer })
	<-waits
	s.RequestLast(int(unix.SIGUSR1))
	close(answer)
	s.do(func() {}) // what was requested is done
	s.do(func() { require.Empty(t, s.requested) })
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
	s.Stop()
	require.Equal(t, 1, s.Finish(Exit{State: s.cmd.ProcessState, Time: time.Now()}).Snapshots)
}
