package holders

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
)

// TestWaysShareTheirBeginning checks the order of ways, what they share, and which lead to few blocks.
func TestWaysShareTheirBeginning(t *testing.T) {
	sessions := func(blocks int, last string) answer.Holder {
		return answer.Holder{Blocks: blocks, Kind: answer.Global, Name: "g_sessions", Path: []answer.Step{{Type: "Session"}, {Type: last}}}
	}
	held := answer.Held{Looked: 30, By: []answer.Holder{
		{Blocks: 12, Kind: answer.Stack, Name: "worker"}, sessions(9, "Buffer"), sessions(7, "Name"), {Blocks: 2, Kind: answer.Lost},
	}}
	assert.Equal(t, []*Node{
		{Text: "g_sessions", Blocks: 16, Nodes: []*Node{
			{Text: "Session", Blocks: 16, Nodes: []*Node{{Text: "Buffer", Blocks: 9}, {Text: "Name", Blocks: 7}}},
		}},
		{Text: `the stack of thread "worker"`, Blocks: 12},
		{Text: "lost: no pointer to it was found", Blocks: 2, Few: true},
	}, Ways(held))
	assert.Empty(t, Ways(answer.Held{}))
}

// TestVariable: a site has a variable if its blocks agree on one, whatever the ways behind it and its length.
func TestVariable(t *testing.T) {
	global := answer.Holder{Blocks: 30, Kind: answer.Global, Name: "g_sessions", Type: "std::map", File: "/a/server.cc", Line: 14}
	module := answer.Holder{Blocks: 29, Kind: answer.Module, Name: "app", Path: []answer.Step{
		{Via: ".CACHE", Type: "dict", Length: 12, Limit: 100}, {Type: "str"},
	}}
	for _, c := range []struct {
		want string
		by   answer.Holder
	}{
		{"g_sessions (server.cc:14, std::map)", global},
		{"app.CACHE (dict)", module},
		{"", answer.Holder{Blocks: 30, Kind: answer.Module, Name: "app"}},
		{"", answer.Holder{Blocks: 20, Kind: answer.Global, Name: "g_sessions"}},
		{"", answer.Holder{Blocks: 30, Kind: answer.Lost}},
		{"", answer.Holder{Blocks: 30, Kind: answer.Stack, Name: "worker"}},
	} {
		assert.Equal(t, c.want, Variable(answer.Held{Looked: 30, By: []answer.Holder{c.by}}))
	}
}
