package growth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/pipeline"
)

// TestResident: where the resident memory was is told if the heap explains little of it, instead of what is likely.
func TestResident(t *testing.T) {
	const mib = 1 << 20
	seen := &rss.Result{PID: 7, Program: "server", Bytes: 100 * mib, Kernel: 100 * mib, Parts: []rss.Part{
		{Kind: rss.Blocks, Bytes: 40 * mib}, {Kind: rss.Anonymous, Bytes: 57 * mib},
		{Kind: rss.Stacks, Bytes: 2 * mib}, {Kind: rss.Code, Bytes: mib},
	}}
	grew := growth.Note{Kind: growth.NoteProcessGrew, Bytes: 60 * mib}
	looked := time.Date(2026, 11, 20, 14, 7, 5, 0, time.UTC)
	g := &Report{Judged: &pipeline.Judged{
		Series: &series.Series{Clock: series.Clock{Times: []time.Time{looked.Add(12 * time.Second)}}},
		Result: &growth.Result{LastHeap: 40 * mib, LastRSS: 100 * mib}, Resident: seen, Looked: looked,
	}}
	lines := g.resident(0)
	const when = "as of 2026-11-20 14:07:05 UTC, 12s before the last judged snapshot"
	assert.Equal(t, []string{
		"", "where the resident memory was when the recorder looked last, " + when + ":", "RSS 100 MiB of process 7 (server)",
	}, lines[:3])
	assert.Contains(t, lines[3], "40.0 MiB  40 %  blocks of malloc in use")
	assert.Contains(t, lines[5], "3.00 MiB   3 %  other", "small parts have no lines")
	assert.Len(t, lines, 6)
	assert.Contains(t, noteText(grew, len(g.resident(0)) > 0), "; see below where the resident memory was")
	assert.NotContains(t, noteText(grew, len(g.resident(0)) > 0), "likelihood")

	g.Result.LastRSS, g.Result.LastHeap = 15*mib, mib
	assert.Empty(t, g.resident(0), "it is too little to ask for")
	g.Result.Notes = []growth.Note{grew}
	assert.NotEmpty(t, g.resident(0), "a note refers to it")

	g.Result.LastRSS, g.Result.LastHeap = 100*mib, 61*mib
	assert.Empty(t, g.resident(0), "the heap is most of it")
	g.Result.LastHeap, g.Resident = 40*mib, nil
	assert.Empty(t, g.resident(0), "nobody has looked")
	assert.Contains(t, noteText(grew, len(g.resident(0)) > 0), "in order of likelihood")
}
