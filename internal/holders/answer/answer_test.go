package answer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	list := func(entries int64, name string) Holder {
		return Holder{
			Blocks: 1, Kind: Module, Name: name,
			Path: []Step{{Via: ".cache", Type: "dict", Length: entries}, {Type: "Node", Links: int(entries)}},
		}
	}
	lost := Holder{Blocks: 1, Kind: Lost}
	got := Merge([]Holder{lost, list(3, "app"), list(3, "app"), list(4, "other"), list(9, "other"), list(9, "other")})
	want := []Holder{list(0, "other"), list(3, "app"), lost}
	want[0].Blocks, want[1].Blocks = 3, 2
	want[0].Path[1].Links = 9
	assert.Equal(t, want, got)
	assert.Equal(t, 6, Held{By: got}.Total())
	assert.Empty(t, Merge(nil))
}

func TestRead(t *testing.T) {
	l := &Look{Schema: Schema, PID: 7, Sites: []Site{{Stack: []Address{0x7f, 0xffffffffffffffff}, Held: Held{Looked: 1, By: []Holder{{Blocks: 1, Kind: Lost}}}}}}
	var b bytes.Buffer
	require.NoError(t, Write(&b, l))
	require.NoError(t, Write(&b, l))
	assert.Contains(t, b.String(), `"stack":["0x7f","0xffffffffffffffff"]`)
	whole := b.String()
	looks, err := Read(strings.NewReader(whole), "f")
	require.NoError(t, err)
	assert.Equal(t, []*Look{l, l}, looks)

	looks, err = Read(strings.NewReader(whole[:len(whole)-5]), "f") // interrupted
	require.NoError(t, err)
	assert.Len(t, looks, 1)
	for text, want := range map[string]string{
		"{}\n":   `f: line 1: schema "": not heaplapse.holders/1`,
		"nope\n": "f: line 1: invalid character",
		`{"schema":"heaplapse.holders/1","sites":[{"stack":["12"]}]}` + "\n": `"12" is no address`,
	} {
		_, err := Read(strings.NewReader(text), "f")
		require.ErrorContains(t, err, want)
	}
}
