package mappings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/mappings"
)

// TestMoved: another process image has its program or its loader elsewhere. Files of data come and go, also below the
// program, as classes.jsa of the JVM does.
func TestMoved(t *testing.T) {
	image := func(program heapfile.Addr, path string) []heapfile.Mapping {
		return []heapfile.Mapping{
			{Start: program, Limit: program + 0x1000, Perm: "r--p", Path: path},
			{Start: program + 0x1000, Limit: program + 0x2000, Offset: 0x1000, Perm: "r-xp", Path: path},
			{Start: 0x7fff0000, Limit: 0x7fff1000, Perm: "r--p", Path: "/lib64/ld-linux-x86-64.so.2"},
		}
	}
	java := image(0x5000000, "/usr/bin/java")
	data := heapfile.Mapping{Start: 0x1000, Limit: 0x2000, Perm: "rw-p", Path: "/usr/lib/jvm/classes.jsa"}
	assert.False(t, mappings.Moved(java, append([]heapfile.Mapping{data}, java...)))
	assert.True(t, mappings.Moved(java, image(0x6000000, "/usr/bin/java")))
	assert.True(t, mappings.Moved(java, image(0x5000000, "/usr/bin/sh")))
	assert.False(t, mappings.Moved(java, nil), "a snapshot without mappings")
}
