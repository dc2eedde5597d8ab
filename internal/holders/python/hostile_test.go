//go:build linux

package python

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// image is memory that counts how often it is read.
type image struct {
	data  []byte
	reads int
}

const (
	imageStart = 0x10000000
	dataSize   = 64 << 10 // types, then _PyRuntime
	heapStart  = imageStart + dataSize
	heapSize   = 192 << 10
	typeRoom   = 1 << 10
)

func (m *image) Read(address uint64, b []byte) error {
	m.reads++
	if address < imageStart || address-imageStart > uint64(len(m.data)) || uint64(len(m.data))-(address-imageStart) < uint64(len(b)) {
		return errors.New("no memory there")
	}
	copy(b, m.data[address-imageStart:])
	return nil
}

func (m *image) put(address, v uint64) { binary.LittleEndian.PutUint64(m.data[address-imageStart:], v) }

// interpreter returns an interpreter whose types are whole, and whose other memory has some bytes. Many words are made
// addresses of the image, and many of those the addresses of types.
func interpreter(t testing.TB, minor int, data []byte) (*Interpreter, *image) {
	t.Helper()
	m := &image{data: make([]byte, dataSize+heapSize)}
	rng := rand.New(rand.NewPCG(uint64(len(data)), uint64(minor)))
	for at := uint64(imageStart); at < heapStart+heapSize; at += 8 {
		var word [8]byte
		for i := range word {
			if len(data) > 0 {
				word[i] = data[rng.IntN(len(data))]
			}
		}
		v := binary.LittleEndian.Uint64(word[:])
		switch v % 5 {
		case 0, 1:
			v = imageStart + v/5%(dataSize+heapSize)&^7
		case 2:
			v = imageStart + v/5%uint64(len(exported))*typeRoom
		case 3:
			v = v / 5 % 100
		}
		m.put(at, v)
	}
	in, err := m.find(m.types(minor), heap(t, rng))
	require.NoError(t, err)
	in.runtime = target.Range{Start: imageStart + dataSize/2, End: heapStart}
	return in, m
}

// find finds the interpreter.
func (m *image) find(addresses map[string]uint64, heap *blocks.Set) (*Interpreter, error) {
	symbol := func(name string) target.Range {
		if at := addresses[name]; at != 0 {
			return target.Range{Start: at, End: at + 8}
		}
		return target.Range{}
	}
	return find(Process{Memory: m, Mappings: []target.Mapping{
		{Start: imageStart, End: heapStart, Permissions: "rw-p", Path: "/usr/bin/python3"},
	}, Blocks: heap}, symbol)
}

// types writes the exported types, and returns the addresses of symbols.
func (m *image) types(minor int) map[string]uint64 {
	addresses := map[string]uint64{}
	flags := map[kind]uint64{
		typeKind: typeSubclass, dictKind: dictSubclass, listKind: listSubclass, tupleKind: tupleSubclass, strKind: strSubclass,
	}
	const names = imageStart + dataSize/2 - 64
	copy(m.data[names-imageStart:], "type\x00thing\x00")
	for k, name := range exported {
		at := imageStart + uint64(k)*typeRoom
		addresses[name] = at
		basic, text := uint64(16+8*(int(k)%5)), uint64(names+5)
		if k == typeKind {
			basic, text = layouts[minor].typeSize, names
		}
		m.put(at+objectType, imageStart+uint64(typeKind)*typeRoom)
		m.put(at+typeName, text)
		m.put(at+typeBasicSize, basic)
		m.put(at+typeItemSize, uint64(k%2*8))
		m.put(at+typeFlags, ready|tracked|flags[k]|uint64(k%4)*managedWeakRef)
		m.put(at+typeMRO, 1)
	}
	for name, since := range map[string]int{"PyCode_NewWithPosOnlyArgs": 8, "PyFrame_GetCode": 9, "Py_NewRef": 10} {
		if since <= minor {
			addresses[name] = imageStart
		}
	}
	if minor >= 11 {
		addresses["Py_Version"] = names + 16
		m.put(names+16, 3<<24|uint64(minor)<<16)
	}
	return addresses
}

// heap returns blocks of random sizes.
func heap(t testing.TB, rng *rand.Rand) *blocks.Set {
	t.Helper()
	r, err := blocks.NewRegion(blocks.Range{Start: heapStart, End: heapStart + heapSize})
	require.NoError(t, err)
	for at := uint64(heapStart); at < heapStart+heapSize; {
		require.True(t, r.Add(at, rng.IntN(20) == 0))
		if at += uint64(1+rng.IntN(20)) * 16; rng.IntN(30) == 0 {
			at += 1024
		}
	}
	set := &blocks.Set{}
	require.NoError(t, set.Add(r))
	return set
}

// checkHostile does everything with an interpreter.
func checkHostile(t testing.TB, minor int, data []byte) {
	in, m := interpreter(t, minor, data)
	checked := checker{in, t}
	g, err := graph.Build(graph.Memory{Memory: m}, in.blocks, graph.Options{Content: checked})
	require.NoError(t, err)
	list := in.Roots()
	list = append(list, roots.Root{Root: graph.Root{
		Phase: roots.Global, Range: blocks.Range{Start: imageStart, End: heapStart},
	}})
	g.Mark(roots.Graph(list))
	n := 0
	for b := range in.blocks.Regions()[0].All() {
		if p, ok := g.Path(b.Start, 50); ok {
			root := roots.Root{}
			if p.Root >= 0 {
				root = list[p.Root]
			}
			_, steps := in.Describe(root, p)
			assert.LessOrEqual(t, len(steps), len(p.Blocks)+len(p.First))
			n++
		}
	}
	assert.Positive(t, n)
	assert.Less(t, m.reads, 1<<20)
}

// checker checks what an interpreter says of blocks.
type checker struct {
	*Interpreter
	t testing.TB
}

func (c checker) Object(b blocks.Range) (uint8, bool) {
	before, ok := c.Interpreter.Object(b)
	assert.Less(c.t, uint64(before), b.Size())
	return before, ok
}

func (c checker) Parts(b blocks.Range, list []graph.Part) []graph.Part {
	list = c.Interpreter.Parts(b, list)
	assert.LessOrEqual(c.t, len(list), 1000)
	for _, p := range list {
		assert.True(c.t, p.Start < p.End && p.End <= heapStart+heapSize)
	}
	return list
}

// FuzzHostile: any memory ends in a bounded number of reads.
func FuzzHostile(f *testing.F) {
	for minor := range layouts {
		rng := rand.New(rand.NewPCG(1, uint64(minor)))
		for range 4 {
			data := make([]byte, 1+rng.IntN(64))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			f.Add(minor, data)
		}
	}
	f.Fuzz(func(t *testing.T, minor int, data []byte) {
		if _, ok := layouts[minor]; ok {
			checkHostile(t, minor, data)
		}
	})
}

// TestUnknown refuses interpreters that are not understood.
func TestUnknown(t *testing.T) {
	const version, runtime = imageStart + dataSize/2 - 128, imageStart + dataSize/2
	for name, c := range map[string]struct {
		minor  int
		change func(m *image, symbols map[string]uint64)
		err    string
	}{
		"3.8":  {minor: 8},
		"3.9":  {minor: 9},
		"3.13": {minor: 13},
		"3.7": {minor: 8, change: func(_ *image, symbols map[string]uint64) {
			delete(symbols, "PyCode_NewWithPosOnlyArgs")
		}, err: "its version is not known"},
		"3.15": {minor: 13, change: func(m *image, symbols map[string]uint64) {
			symbols["Py_Version"] = version
			m.put(version, 3<<24|15<<16)
		}, err: "version 3.15"},
		"4.0": {minor: 13, change: func(m *image, symbols map[string]uint64) {
			symbols["Py_Version"] = version
			m.put(version, 4<<24)
		}, err: "its version is not known"},
		"free-threaded": {minor: 13, change: func(m *image, symbols map[string]uint64) {
			symbols["_PyRuntime"] = runtime
			m.put(runtime+16, 1)
		}, err: "it is a free-threaded build"},
		"layout": {minor: 12, change: func(m *image, symbols map[string]uint64) {
			m.put(symbols["PyType_Type"]+typeBasicSize, 936)
		}, err: "a build of 3.12 with another layout"},
		"no type": {minor: 12, change: func(m *image, symbols map[string]uint64) {
			m.put(symbols["PyType_Type"]+objectType, symbols["PyDict_Type"])
		}, err: "a build of 3.12 with another layout"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &image{data: make([]byte, dataSize+heapSize)}
			symbols := m.types(c.minor)
			if c.change != nil {
				c.change(m, symbols)
			}
			in, err := m.find(symbols, &blocks.Set{})
			if c.err == "" {
				require.NoError(t, err)
				assert.Equal(t, c.minor, in.minor)
				return
			}
			require.ErrorIs(t, err, ErrUnknown)
			require.ErrorContains(t, err, c.err)
		})
	}
	in, err := Find(Process{})
	require.NoError(t, err)
	assert.Nil(t, in)
}

// TestNamesThatAreData shortens names that are no identifiers.
func TestNamesThatAreData(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "_x1": true, "A_b": true, "": false, "1x": false, "a b": false, "a-b": false, "é": false, "a.b": false, "x\n": false,
	} {
		assert.Equal(t, want, isIdentifier(name), name)
	}
	for name, want := range map[string]bool{
		"app.Session": true, "make.<locals>.add": true, "<lambda>": true, "f.<locals>.<listcomp>": true,
		"a..b": false, "<>": false, "a b.c": false, "<a b>": false, "": false, ".": false,
	} {
		assert.Equal(t, want, isQualified(name), name)
		assert.Equal(t, want, isModule(name), name)
	}
	assert.True(t, isModule("plugins.my-plugin"))
	assert.False(t, isModule("a b"))
	for path, want := range map[string]string{
		"/srv/app.py": "app.py", "<string>": "<string>", "/srv/a key.py": "", "app-1.2.py": "app-1.2.py", "": "", "/": "",
	} {
		assert.Equal(t, want, fileName(path), path)
	}
}
