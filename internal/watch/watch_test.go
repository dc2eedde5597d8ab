package watch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	diffgrowth "github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/watch"
	"github.com/heaplapse/heaplapse/symbolize"
)

// watched is a directory that is watched, and what the watch says about it.
type watched struct {
	t   *testing.T
	dir string
	out bytes.Buffer

	mu       sync.Mutex
	reported []string
	statuses []string
}

func newWatched(t *testing.T) *watched {
	return &watched{t: t, dir: filepath.Join(t.TempDir(), "d")}
}

// add adds the first n snapshots of a recorded series.
func (w *watched) add(n int) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(w.dir, 0o700))
	files, err := filepath.Glob(testutil.Data(w.t, "leaky/*.heap.gz"))
	require.NoError(w.t, err)
	for _, f := range files[:n] {
		content, err := os.ReadFile(f)
		require.NoError(w.t, err)
		to := filepath.Join(w.dir, filepath.Base(f))
		require.NoError(w.t, os.WriteFile(to+".tmp", content, 0o600))
		require.NoError(w.t, os.Rename(to+".tmp", to))
	}
}

// judge opens and judges the series as commands do, without names.
func (w *watched) judge(ctx context.Context) (*growth.Report, error) {
	var columns sites.Collector
	s, err := series.Open([]string{w.dir}, series.Options{Visit: columns.Visit})
	if err != nil {
		return nil, err
	}
	symbols, err := symbolize.Resolve(ctx, s, symbolize.Options{Sysroot: testutil.Data(w.t, "leaky/sysroot")})
	if err != nil {
		return nil, err
	}
	return &growth.Report{Judged: &pipeline.Judged{
		Series: s, Symbols: symbols, Result: diffgrowth.Judge(s, symbols, &columns, diffgrowth.Options{}),
	}}, nil
}

// run watches until a result has n snapshots.
func (w *watched) run(n int, judge func(context.Context, string) (*growth.Report, []watch.Notice, error)) (watch.Result, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	return watch.Run(ctx, watch.Options{
		Path: w.dir, Judge: judge, Out: &w.out,
		Stop:   func(g *growth.Report) bool { return len(g.Series.Heads) == n },
		Tell:   func(n watch.Notice) { w.reported = append(w.reported, n.Text) },
		Status: func(text string) { w.mu.Lock(); w.statuses = append(w.statuses, text); w.mu.Unlock() },
	})
}

// TestNoticeIsReportedOnce: notices with the same key are one problem, even if their numbers
// change.
func TestNoticeIsReportedOnce(t *testing.T) {
	w := newWatched(t)
	w.add(2)
	calls := 0
	end, err := w.run(4, func(ctx context.Context, _ string) (*growth.Report, []watch.Notice, error) {
		calls++
		g, err := w.judge(ctx)
		notices := []watch.Notice{{Key: "truncated", Text: strings.Repeat("x", calls)}}
		if calls == 2 {
			notices = append(notices, watch.Notice{Key: "missing", Text: "another"})
		}
		w.add(2 + calls)
		return g, notices, err
	})
	require.NoError(t, err)
	require.True(t, end.Over)
	require.Len(t, end.Last.Series.Heads, 4)
	require.Equal(t, []string{"x", "another"}, w.reported)
	require.Equal(t, 3, strings.Count(w.out.String(), "\n"), w.out.String())
	require.Equal(t, []string{"waiting for snapshots in " + w.dir}, w.statuses)
}

// TestTheFirstSnapshotMayBeMalformed: it is still being written. Later, an error ends the watch.
func TestTheFirstSnapshotMayBeMalformed(t *testing.T) {
	w := newWatched(t)
	w.add(1)
	malformed := &heapfile.FormatError{}
	calls := 0
	_, err := w.run(100, func(ctx context.Context, _ string) (*growth.Report, []watch.Notice, error) {
		calls++
		w.add(1 + calls)
		if calls == 2 {
			g, err := w.judge(ctx)
			return g, nil, err
		}
		return nil, nil, malformed
	})
	require.ErrorIs(t, err, malformed)
	require.Equal(t, 3, calls)
	require.Empty(t, w.reported, "the file is complete now")
}

// TestSnapshotsThatAreGone: the watch waits for others.
func TestSnapshotsThatAreGone(t *testing.T) {
	w := newWatched(t)
	w.add(2)
	calls := 0
	end, err := w.run(3, func(ctx context.Context, _ string) (*growth.Report, []watch.Notice, error) {
		calls++
		g, err := w.judge(ctx)
		switch calls {
		case 1:
			require.NoError(t, os.RemoveAll(w.dir))
			require.NoError(t, os.Mkdir(w.dir, 0o700))
		case 2:
			require.ErrorIs(t, err, series.ErrNoSnapshots)
			w.add(3)
		}
		return g, nil, err
	})
	require.NoError(t, err)
	require.Len(t, end.Last.Series.Heads, 3)
	require.Equal(t, []string{"waiting for snapshots in " + w.dir, "the snapshots are gone: waiting for snapshots in " + w.dir}, w.statuses)
}

// TestCanceledContextIsNotAnError: ^C is how a watch ends.
func TestCanceledContextIsNotAnError(t *testing.T) {
	w := newWatched(t)
	w.add(1)
	ctx, cancel := context.WithCancel(t.Context())
	end, err := watch.Run(ctx, watch.Options{
		Path: w.dir, Out: &w.out, Tell: func(watch.Notice) {}, Status: func(string) {},
		Judge: func(ctx context.Context, _ string) (*growth.Report, []watch.Notice, error) {
			cancel()
			return nil, nil, errors.Join(errors.New("resolve"), ctx.Err())
		},
	})
	require.NoError(t, err)
	require.Nil(t, end.Last)
	require.False(t, end.Over)
}

// TestTheNextRecordingIsFollowed: a program that starts again has another directory. The end of the first
// recording does not end the watch, and the second is judged alone.
func TestTheNextRecordingIsFollowed(t *testing.T) {
	w := newWatched(t)
	parent := w.dir
	start := func(name string, minute int, text string) {
		w.dir = filepath.Join(parent, name)
		w.add(2)
		require.NoError(t, os.WriteFile(filepath.Join(w.dir, manifest.Name), fmt.Appendf(nil,
			"{\"schema\":%q}\n{\"recording\":{\"started\":\"2026-01-02T03:%02d:00Z\",\"command\":[\"server\"]}}\n%s",
			manifest.Schema, minute, text), 0o600))
	}
	start("2", 1, `{"end":{"time":"2026-01-02T03:09:00Z","status":0}}`+"\n")
	w.dir = parent
	var judged []string
	end, err := w.run(3, func(ctx context.Context, path string) (*growth.Report, []watch.Notice, error) {
		judged = append(judged, filepath.Base(path))
		w.dir = path
		g, err := w.judge(ctx)
		switch len(judged) {
		case 1:
			start("1", 10, "")
		case 2:
			w.add(3)
		}
		return g, nil, err
	})
	require.NoError(t, err)
	require.True(t, end.Over)
	require.Equal(t, []string{"2", "1", "1"}, judged)
	require.Len(t, end.Last.Series.Heads, 3)
	require.Equal(t, []string{
		"waiting for snapshots in " + parent, "watching " + filepath.Join(parent, "2"), "watching " + filepath.Join(parent, "1"),
	}, w.statuses)
}
