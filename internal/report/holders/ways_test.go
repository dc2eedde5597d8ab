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
