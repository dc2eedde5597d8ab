package heapfile

import (
	"bytes"
	"strconv"
	"time"
)

// Birth tells when some of what a row has in use was allocated: before a time, and after that of the Birth before it.
type Birth struct {
	Before         time.Time // of a snapshot, with milliseconds
	Objects, Bytes int64
}

// birthsPrefix begins the comment behind a row that tells when its memory was allocated. Its fields are
// BEFORE:OBJECTS:BYTES, the oldest first, with BEFORE in milliseconds of Unix time:
//
//	# births 1795676287463:31:4063232 1795676291970:8:1048576
//
// heaplapse's recorder writes it; other readers skip comments.
var birthsPrefix = []byte("# births ")

// births decodes a comment about the last row.
func (d *Decoder) births(line []byte) {
	if d.rowLine == 0 || d.rowLine != d.at-1 || d.row < 0 {
		return // the row was skipped or merged
	}
	list, sum, ok := parseBirths(line[len(birthsPrefix):])
	if c := d.snap.Samples[d.row].Counts; !ok || sum.Objects != c.InuseObjects || sum.Bytes != c.InuseBytes {
		d.warn.add(WarnBirths, d.at, "%q does not agree with its row", clip(line))
		return
	}
	if d.snap.Births == nil {
		d.snap.Births = map[int][]Birth{}
	}
	d.snap.Births[d.row] = list
}

// parseBirths decodes fields whose times rise. A number has at most 15 digits, so that sums do not overflow.
func parseBirths(text []byte) (list []Birth, sum Birth, ok bool) {
	const digits, most = 15, 1 << 10 // of a number, and the fields of a row
	for field := range bytes.FieldsSeq(text) {
		var n [3]int64
		for i := range n {
			number, rest, more := bytes.Cut(field, []byte(":"))
			v, err := strconv.ParseUint(string(number), 10, 63)
			if err != nil || len(number) > digits || more != (i < len(n)-1) {
				return nil, sum, false
			}
			n[i], field = int64(v), rest
		}
		b := Birth{time.UnixMilli(n[0]), n[1], n[2]}
		if len(list) == most || len(list) > 0 && !b.Before.After(list[len(list)-1].Before) {
			return nil, sum, false
		}
		list, sum = append(list, b), Birth{b.Before, sum.Objects + b.Objects, sum.Bytes + b.Bytes}
	}
	return list, sum, len(list) > 0
}
