package summary_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/summary"
)

// processRun is the run of a process of a program that lived from one second to another, and has one
// site besides its rest.
func processRun(program string, from, to int, site string, bytes, rest float64) *baseline.Run {
	return &baseline.Run{
		Meta: baseline.Meta{
			Program: program, Recorded: time.Unix(int64(to), 0), Span: float64(to - from), Snapshots: to - from + 1, HasAlloc: true,
		},
		Total: baseline.Level{Bytes: bytes + rest, AllocBytes: bytes + rest},
		Rest:  baseline.Level{Bytes: rest, AllocBytes: rest},
		Sites: []baseline.Site{{
			Level:    baseline.Level{Bytes: bytes, AllocBytes: bytes},
			Identity: identity.Site{Frames: []string{site, "main"}},
		}},
	}
}

// sum is the bytes in use of the sites of a name.
func sum(r *baseline.Run, name string) (bytes float64, n int) {
	for _, s := range r.Sites {
		if s.Identity.Frames[0] == name {
			bytes += s.Bytes
			n++
		}
	}
	return bytes, n
}

// TestPool: processes of one program that live at the same time add up, site by site. Programs stay
// apart. Sites and rest add up to the total.
func TestPool(t *testing.T) {
	r := summary.Pool([]*baseline.Run{
		processRun("server", 0, 100, "cache", 40, 1),
		processRun("server", 1, 100, "cache", 50, 2),
		processRun("helper", 0, 99, "cache", 7, 3),
		processRun("server", 0, 20, "setup", 1000, 1000), // over before the second half
	})
	require.Equal(t, 4, r.Meta.Processes)
	bytes, n := sum(r, "cache")
	require.Equal(t, 97.0, bytes)
	require.Equal(t, 2, n, "one of each program")
	bytes, _ = sum(r, "setup")
	require.Zero(t, bytes)
	require.Equal(t, 103.0, r.Total.Bytes)
	require.Equal(t, 6.0, r.Rest.Bytes)
	require.Equal(t, 2103.0, r.Total.AllocBytes, "cumulative counts are of all processes")
	require.Equal(t, 1006.0, r.Rest.AllocBytes)
}

// TestPoolOfReplacedWorkers: ten workers that replace one another hold as much memory as one.
func TestPoolOfReplacedWorkers(t *testing.T) {
	list := []*baseline.Run{processRun("server", 0, 1000, "cache", 40, 0)}
	for i := range 10 {
		list = append(list, processRun("server", 100*i, 100*i+99, "sessions", 500, 0))
	}
	r := summary.Pool(list)
	bytes, _ := sum(r, "sessions")
	require.InDelta(t, 500, bytes, 15)
	one := summary.Pool(list[:1])
	require.Zero(t, one.Meta.Processes, "one process stays as it is")
	require.Same(t, list[0], one)
}
