package filename_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

func TestFileNames(t *testing.T) {
	type name = filename.Name
	for path, want := range map[string]name{
		// gperftools
		"/tmp/profile.0001.heap":             {Prefix: "/tmp/profile", Seq: 1},
		"profile.0001.heap":                  {Prefix: "profile", Seq: 1},
		"profile.0001.heap.gz":               {Prefix: "profile", Seq: 1},
		"profile.0001.heap.zst":              {Prefix: "profile", Seq: 1},
		"profile.9999.heap":                  {Prefix: "profile", Seq: 9999},
		"profile.10000.heap":                 {Prefix: "profile", Seq: 10000},
		"profile.1234567.heap":               {Prefix: "profile", Seq: 1234567},
		"profile_4711.0001.heap":             {Prefix: "profile_4711", PID: 4711, Seq: 1},
		"my_profile.0001.heap":               {Prefix: "my_profile", Seq: 1},
		"profile_007.0001.heap":              {Prefix: "profile_007", Seq: 1}, // no PID starts with 0
		"profile.rank-3.0001.heap":           {Prefix: "profile.rank-3", Seq: 1},
		"profile.rank-3_4711.0001.heap":      {Prefix: "profile.rank-3_4711", PID: 4711, Seq: 1},
		"profile.slurmid-12.0001.heap":       {Prefix: "profile.slurmid-12", Seq: 1},
		"/a.b/c.d.0001.heap":                 {Prefix: "/a.b/c.d", Seq: 1},
		"/tmp/checked.23093._main_-end.heap": {Prefix: "/tmp/checked.23093._main_-end", PID: 23093, Seq: -1, Trigger: filename.TriggerManual},
		"checked.23093.mycheck-beg.heap":     {Prefix: "checked.23093.mycheck-beg", PID: 23093, Seq: -1, Trigger: filename.TriggerManual},
		// jemalloc
		"/tmp/jeprof.4711.0.i0.heap": {Prefix: "/tmp/jeprof", PID: 4711, Seq: 0, Trigger: filename.TriggerAllocated, Jemalloc: true},
		"jeprof.4711.12.m3.heap.gz":  {Prefix: "jeprof", PID: 4711, Seq: 12, Trigger: filename.TriggerManual, Jemalloc: true},
		"jeprof.4711.13.u2.heap":     {Prefix: "jeprof", PID: 4711, Seq: 13, Trigger: filename.TriggerHighWater, Jemalloc: true},
		"jeprof.4711.14.f.heap":      {Prefix: "jeprof", PID: 4711, Seq: 14, Trigger: filename.TriggerExit, Jemalloc: true},
		"jeprof.1.4711.14.f.heap":    {Prefix: "jeprof.1", PID: 4711, Seq: 14, Trigger: filename.TriggerExit, Jemalloc: true},
		"je.prof.4711.14.f.heap":     {Prefix: "je.prof", PID: 4711, Seq: 14, Trigger: filename.TriggerExit, Jemalloc: true},
		// pprof
		"/tmp/heap.0001.pb.gz": {Prefix: "/tmp/heap", Seq: 1},
		"heap.10000.pb":        {Prefix: "heap", Seq: 10000},
		"pprof.server.alloc_objects.inuse_space.001.pb.gz": {Prefix: "pprof.server.alloc_objects.inuse_space", Seq: 1},
		"jeprof.4711.12.m3.pb.gz":                          {Prefix: "jeprof", PID: 4711, Seq: 12, Trigger: filename.TriggerManual, Jemalloc: true},
		"memprof.2026-01-02T03_04_05.678.2345678.pprof":    {Prefix: "memprof", Seq: -1, Trigger: filename.TriggerHighWater, Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		"/a.b/jeprof.2026-01-02T03_04_05.678.2.jeprof.gz":  {Prefix: "/a.b/jeprof", Seq: -1, Trigger: filename.TriggerHighWater, Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		"jeprof.2026-13-02T03_04_05.678.2345678.jeprof":    {Prefix: "jeprof.2026-13-02T03_04_05.678.2345678.jeprof", Seq: -1},
		"jeprof.2026-01-02T03_04_05.678..jeprof":           {Prefix: "jeprof.2026-01-02T03_04_05.678..jeprof", Seq: -1},
		"mem.20260102.prof":                                {Prefix: "mem.20260102.prof", Seq: -1},
		"heap.pprof":                                       {Prefix: "heap.pprof", Seq: -1},
		// neither
		"a.heap":                 {Prefix: "a.heap", Seq: -1},
		"a.b.heap":               {Prefix: "a.b.heap", Seq: -1},
		"a.0001.growth":          {Prefix: "a.0001.growth", Seq: -1},
		"a.x1.heap":              {Prefix: "a.x1.heap", Seq: -1},
		".heap":                  {Prefix: ".heap", Seq: -1},
		"":                       {Prefix: "", Seq: -1},
		"a.99999999999.heap":     {Prefix: "a.99999999999.heap", Seq: -1}, // too large for a counter
		"jeprof.4711.14.x1.heap": {Prefix: "jeprof.4711.14.x1.heap", Seq: -1},
	} {
		t.Run(path, func(t *testing.T) {
			require.Equal(t, want, filename.Parse(path))
		})
	}
}

func TestTriggersHaveStableNames(t *testing.T) {
	for trigger, want := range map[filename.Trigger]string{
		filename.TriggerUnknown: "unknown", filename.TriggerAllocated: "allocated", filename.TriggerHighWater: "high-water",
		filename.TriggerTime: "time", filename.TriggerManual: "manual", filename.TriggerExit: "exit",
	} {
		require.Equal(t, want, trigger.String())
	}
}

// FuzzFileName: the parts are those of the name, and compression does not change them.
func FuzzFileName(f *testing.F) {
	for _, path := range heaptest.Fixtures(f) {
		f.Add(path)
	}
	for _, name := range []string{"jeprof.1.4711.0.i0.heap", "p_4711.0001.heap", "checked.1._main_-end.heap", "memprof.2026-01-02T03_04_05.678.2.pprof", "a", ".heap", "..heap", "heap.0001.pb"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, path string) {
		n := filename.Parse(path)
		require.True(t, strings.HasPrefix(path, n.Prefix), "%q is no prefix", n.Prefix)
		require.GreaterOrEqual(t, n.Seq, -1)
		require.GreaterOrEqual(t, n.PID, 0)
		require.NotEmpty(t, n.Trigger.String())
		if n.Seq < 0 {
			return
		}
		base := filepath.Base(path)
		require.Contains(t, base, fmt.Sprint(n.Seq))
		if n.PID != 0 {
			require.Contains(t, base, fmt.Sprint(n.PID))
		}
		if filename.TrimCompression(path) == path {
			require.Equal(t, n, filename.Parse(path+".gz"))
			require.Equal(t, n, filename.Parse(path+".zst"))
		}
	})
}
