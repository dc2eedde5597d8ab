package holders

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
)

// Node is an object on the ways to the blocks of a site, in words. Ways that begin alike share their first nodes.
type Node struct {
	Text string `json:"text"`
	// Blocks is the number of blocks to which a way through the node leads.
	Blocks int     `json:"blocks"`
	Nodes  []*Node `json:"nodes,omitempty"`
	// Few reports whether the way leads to so few blocks that its beginning may be memory that was not cleared.
	Few bool `json:"few,omitempty"`
}

// Ways are the ways to the blocks of a site, the one to most blocks first.
func Ways(h answer.Held) []*Node {
	root := &Node{}
	for i := range h.By {
		first, way := words(&h.By[i])
		root.add(append([]string{first}, way...), h.By[i].Blocks)
	}
	root.sort()
	for _, n := range root.Nodes {
		n.Few = isFew(n.Blocks, h)
	}
	return root.Nodes
}

// sort puts the way to most blocks first.
func (n *Node) sort() {
	slices.SortStableFunc(n.Nodes, func(a, b *Node) int { return cmp.Compare(b.Blocks, a.Blocks) })
	for _, m := range n.Nodes {
		m.sort()
	}
}

// add adds a way below the node.
func (n *Node) add(way []string, blocks int) {
	n.Blocks += blocks
	if len(way) == 0 {
		return
	}
	i := slices.IndexFunc(n.Nodes, func(m *Node) bool { return m.Text == way[0] })
	if i < 0 {
		i = len(n.Nodes)
		n.Nodes = append(n.Nodes, &Node{Text: way[0]})
	}
	n.Nodes[i].add(way[1:], blocks)
}
