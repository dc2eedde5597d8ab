package rss

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSampleIsEvenlySpaced(t *testing.T) {
	var s sample
	for i := range uint64(100000) {
		s.add(i)
		step := uint64(1)
		if len(s.list) > 1 {
			step = s.list[1]
		}
		for j, got := range s.list {
			require.Equal(t, uint64(j)*step, got)
		}
	}
	assert.Greater(t, len(s.list), 60)
}

func TestAdvise(t *testing.T) {
	const all = 1000
	arenas := []Arena{{Main: true, Free: 60}, {Free: 100}, {Free: 90}, {Free: 60}}
	one := []Arena{{Main: true, Free: 400}, {Free: 100}, {Free: 100}, {Free: 60}}
	for name, c := range map[string]struct {
		result Result
		want   []Advice
	}{
		"nothing": {Result{Bytes: all}, []Advice{}},
		"empty":   {Result{}, []Advice{}},
		"a tenth": {Result{Bytes: all, Parts: []Part{{FreePages, 100}, {FreePinned, 99}}}, []Advice{{Trim, 100}}},
		"locked":  {Result{Bytes: all, Locked: true, Parts: []Part{{FreePages, 100}}}, []Advice{}},
		"arenas": {
			Result{Bytes: all, Parts: []Part{{FreePages, 300}}, Malloc: &Malloc{Arenas: arenas}},
			[]Advice{{Trim, 300}, {ArenaMax, 110}},
		},
		"ends": {
			Result{Bytes: 10 << 20, Parts: []Part{{FreeEnd, 4 << 20}}, Malloc: &Malloc{Arenas: make([]Arena, 9)}},
			[]Advice{{TrimThreshold, 3 << 20}},
		},
		"small ends": {
			Result{Bytes: 10 << 20, Parts: []Part{{FreeEnd, 1 << 20}}, Malloc: &Malloc{Arenas: make([]Arena, 9)}}, []Advice{},
		},
		"most in one": {Result{Bytes: all, Malloc: &Malloc{Arenas: one}}, []Advice{}},
		"two arenas":  {Result{Bytes: all, Malloc: &Malloc{Arenas: arenas[:2]}}, []Advice{}},
		"most first": {
			Result{Bytes: all, HugeZero: 300, Parts: []Part{{FreePages, 200}, {FreePinned, 250}, {PythonFree, 250}}},
			[]Advice{{SmallPages, 300}, {Allocator, 250}, {Trim, 200}},
		},
	} {
		assert.Equal(t, c.want, advise(&c.result), name)
	}
}
