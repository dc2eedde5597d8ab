package samples

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// image is memory from an address on.
type image []byte

const base = 0x10000

func (m image) Read(address uint64, b []byte) error {
	if address < base || address-base > uint64(len(m)) || uint64(len(m))-(address-base) < uint64(len(b)) {
		return errors.New("unreadable")
	}
	copy(b, m[address-base:])
	return nil
}

func (m image) put(at int, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(m[at+8*i:], w)
	}
}

// tables returns what the engine has: two sites and three samples, in a table of four places.
func tables() (image, Engine) {
	m := make(image, 0x2000)
	m.put(0x0, base+0x100, base+0x110, base+0x180, base+0x1c0) // heaplapse_live
	m.put(0x20, base+0x200, base+0x210)                        // heaplapse_sites
	m.put(0x100, base+0x120)                                   // current
	m.put(0x110, 9)                                            // numbers
	m.put(0x120, base+0x300, 3)                                // the table
	m.put(0x180, 0x7000, 0x1000, 0, 0, 0x9000, 0x2000, 0, 0)   // pages
	m.put(0x200, base+0x400)                                   // blocks
	m.put(0x210, 2)                                            // count
	sample := func(place int, address, size, site, number uint64) {
		m.put(0x300+24*place, address, size, number<<32|site)
	}
	sample(0, 0x5000, 100, 1, 8)
	sample(1, 0x6000, 200, 0, 3)
	sample(3, 0x6000, 200, 0, 3) // an entry that is being moved
	m.put(0x400, 1, base+0x600, 0)
	m.put(0x440, 2, base+0x600, 2)
	m.put(0x600, 0xabc, 0xdef)
	return m, Engine{base, base + 0x20}
}

func TestRead(t *testing.T) {
	m, e := tables()
	table, err := Read(m, e)
	require.NoError(t, err)
	assert.Equal(t, []Sample{{0x6000, 200, 0, 3}, {0x5000, 100, 1, 8}}, table.Live)
	assert.Equal(t, uint32(9), table.Newest)
	assert.Equal(t, []blocks.Range{{Start: 0x7000, End: 0x8000}, {Start: 0x9000, End: 0xb000}}, table.Own)
	assert.False(t, table.Full)
	stack, err := table.Stack(1, 0)
	require.NoError(t, err)
	assert.Equal(t, []uint64{0xabc, 0xdef}, stack)
	stack, err = table.Stack(0, 0)
	require.NoError(t, err)
	assert.Empty(t, stack)
	_, err = table.Stack(2, 0)
	require.ErrorIs(t, err, ErrMalformed)
}

// TestStackOfScript has a function of a script, whose address tells the process image in files.
func TestStackOfScript(t *testing.T) {
	m, e := tables()
	m.put(0x600, 1<<56+0xabc)
	table, err := Read(m, e)
	require.NoError(t, err)
	for image, want := range map[int]uint64{0: 1<<56 + 0xabc, 3: 1<<56 + 3<<40 + 0xabc} {
		stack, err := table.Stack(1, image)
		require.NoError(t, err)
		assert.Equal(t, []uint64{want, 0xdef}, stack)
	}
}

func TestReadMalformed(t *testing.T) {
	for name, change := range map[string]func(m image){
		"sites":  func(m image) { m.put(0x210, 1<<32-1) },
		"places": func(m image) { m.put(0x128, 1<<40) },
		"pages":  func(m image) { m.put(0x18, base) },
	} {
		m, e := tables()
		change(m)
		_, err := Read(m, e)
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	m, e := tables()
	m.put(0x450, 1<<31)
	table, err := Read(m, e)
	require.NoError(t, err)
	_, err = table.Stack(1, 0)
	require.ErrorIs(t, err, ErrMalformed)
	m.put(0x180, 1, 1, 2, 1, 3, 1, 4, 1)
	table, err = Read(m, e)
	require.NoError(t, err)
	assert.True(t, table.Full)
}

// FuzzRead: whatever the memory has, reading ends without a panic.
func FuzzRead(f *testing.F) {
	m, _ := tables()
	f.Add([]byte(m), uint32(1))
	f.Fuzz(func(_ *testing.T, b []byte, site uint32) {
		table, err := Read(image(b), Engine{base, base + 0x20})
		if err == nil {
			_, _ = table.Stack(site, 0)
		}
	})
}
