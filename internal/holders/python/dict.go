//go:build linux

package python

import (
	"iter"

	"github.com/heaplapse/heaplapse/internal/holders/python/dicts"
)

func (in *Interpreter) dicts() dicts.Version { return dicts.Version(in.minor) }

// dict iterates over the entries of a dict.
func (in *Interpreter) dict(d uint64) iter.Seq[dicts.Entry] {
	return in.entriesOf(in.read.Word(d+dictKeys), in.read.Word(d+dictValues))
}

// entriesOf iterates over keys and values, as [dicts.Version.Entries] does.
func (in *Interpreter) entriesOf(keys, values uint64) iter.Seq[dicts.Entry] {
	return in.dicts().Entries(&in.read, keys, values)
}

// lookup returns the value of a key that is a str.
func (in *Interpreter) lookup(d uint64, name string) (uint64, bool) {
	const most = 1 << 12
	n := 0
	for e := range in.dict(d) {
		if n++; n > most {
			break
		}
		if in.str(e.Key) == name {
			return e.Value, true
		}
	}
	return 0, false
}
