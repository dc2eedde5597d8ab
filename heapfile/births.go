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

// birthsPrefix begins the comment behind a row that tells when its memory was allocated. Its fields are BEFORE:OBJECTS:BYTES,
// the oldest first, with BEFORE in milliseconds of Unix time:
//
//	# births 1795676287463:31:4063232 1795676291970:8:1048576
//
// heaplapse's recorder writes it. Other readers of this format skip comments.
var birthsPrefix = []byte("# births ")

const (
	// maxBirths limits the fields of a row.
	maxBirths = 1 << 10
	// maxBefore is the time up to which BEFORE is accepted: the year 9999.
	maxBefore = 253402300799999
)

// births decodes a comment about the last row.
func (d *Decoder) births(line []byte) {
	if d.rowLine == 0 || d.rowLine != d.at-1 || d.row < 0 {
		return // the row was skipped or merged
	}
	list, ok := parseBirths(line[len(birthsPrefix):])
	var objects, size int64
	for _, b := range list {
		objects, size = objects+b.Objects, size+b.Bytes
	}
	if c := d.snap.Samples[d.row].Counts; !ok || objects != c.InuseObjects || size != c.InuseBytes {
		d.warn.add(WarnMalformedRow, d.at, "skipped %q: it does not agree with its row", clip(line))
		return
	}
	if d.snap.Births == nil {
		d.snap.Births = map[int][]Birth{}
	}
	d.snap.Births[d.row] = list
}

// parseBirths decodes fields whose times rise.
func parseBirths(text []byte) (list []Birth, ok bool) {
	last := int64(-1)
	for field := range bytes.FieldsSeq(text) {
		before, rest, _ := bytes.Cut(field, []byte(":"))
		objects, size, _ := bytes.Cut(rest, []byte(":"))
		at, ok1 := parseCount(before)
		n, ok2 := parseCount(objects)
		b, ok3 := parseCount(size)
		if !ok1 || !ok2 || !ok3 || at <= last || at > maxBefore || len(list) == maxBirths {
			return nil, false
		}
		last = at
		list = append(list, Birth{time.UnixMilli(at), n, b})
	}
	return list, len(list) > 0
}

// parseCount decodes a number of at most 15 digits: sums of them do not overflow.
func parseCount(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 10, 63)
	return int64(n), err == nil
}
