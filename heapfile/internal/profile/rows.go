package profile

import (
	"errors"
	"fmt"
	"math/bits"
)

// Counts are the four numbers of a sample. Those that the profile does not have are 0.
type Counts struct{ InuseObjects, InuseBytes, AllocObjects, AllocBytes int64 }

// maxDepth is the largest number of locations on a stack. Producers keep at most some hundreds.
const maxDepth = 1 << 16

var (
	errValues   = errors.New("the number of values is not that of the sample types")
	errLocation = errors.New("there is no such location")
	errOverflow = errors.New("the sum of the values is larger than 2^63")
	errDepth    = fmt.Errorf("its stack has more than %d locations", maxDepth)
)

// errDifference is the error of negative values.
var errDifference = &RefusedError{"the difference of two profiles: it has negative values",
	"compare the two profiles themselves: heaplapse diff"}

// errMerged is the error of a profile with several snapshots.
var errMerged = &RefusedError{"several snapshots in one profile", "convert each snapshot to a file of its own, or read the snapshots"}

// Rows calls add with each sample that is not zero: its stack, innermost first, as positions of
// locations (see [Profile.Location]). The stack is valid only until add returns. An error of add
// ends the call and is returned.
func (p *Profile) Rows(add func(stack []uint32, c Counts) error) error {
	d := rowDecoder{p: p, merged: p.snapshotLabel()}
	rest := p.data[p.samples.begin:p.samples.end]
	for n := 0; len(rest) > 0; n++ {
		at := p.samples.end - len(rest)
		f, after, err := next(rest)
		if err != nil {
			return positionError(at, err)
		}
		rest = after
		if f.number != profileSample {
			continue
		}
		if err = d.row(f.bytes); err != nil {
			if refused := (*RefusedError)(nil); errors.As(err, &refused) {
				return err
			}
			return positionError(at, fmt.Errorf("a sample: %w", err))
		}
		if d.counts != (Counts{}) {
			p.addDepth(d.stack, d.counts.InuseBytes)
			err = add(d.stack, d.counts)
		}
		if err == nil && n%checkEvery == 0 && p.check != nil {
			err = p.check(0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Samples returns the number of samples.
func (p *Profile) Samples() int { return p.samples.count }

// snapshotLabel returns the number of the text that is the key of the labels of merged snapshots,
// or 0 if the profile has none.
func (p *Profile) snapshotLabel() uint64 {
	if p.Producer != Heaplapse {
		return 0
	}
	for i := range p.strings {
		if string(p.bytesOf(uint64(i))) == "snapshot" {
			return uint64(i)
		}
	}
	return 0
}

// rowDecoder decodes samples into the same memory.
type rowDecoder struct {
	p      *Profile
	merged uint64 // key of a label that is refused, or 0
	ids    []uint64
	values []uint64
	stack  []uint32
	counts Counts
	sum    Counts
}

func (d *rowDecoder) row(b []byte) error {
	d.ids, d.values, d.stack = d.ids[:0], d.values[:0], d.stack[:0]
	for len(b) > 0 {
		f, rest, err := next(b)
		if err == nil {
			err = d.field(&f)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	if len(d.ids) > maxDepth {
		return errDepth
	}
	for _, id := range d.ids {
		i := d.p.loc.find(id)
		if i < 0 {
			return fmt.Errorf("location %d: %w", id, errLocation)
		}
		d.stack = append(d.stack, uint32(i))
	}
	return d.count()
}

func (d *rowDecoder) field(f *field) (err error) {
	switch f.number {
	case sampleLocation:
		d.ids, err = f.appendNumbers(d.ids, d.p.check)
	case sampleValue:
		d.values, err = f.appendNumbers(d.values, d.p.check)
	case sampleLabel:
		if d.merged != 0 {
			return d.label(f.bytes)
		}
	}
	return err
}

// label refuses a label of merged snapshots.
func (d *rowDecoder) label(b []byte) (err error) {
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err == nil && f.number == labelKey && f.value == d.merged {
			err = errMerged
		}
	}
	return err
}

// count sets the counts of a sample and adds them to the sum.
func (d *rowDecoder) count() error {
	if len(d.values) != len(d.p.types) {
		return errValues
	}
	c := &d.p.columns
	d.counts = Counts{d.value(c.inuseObjects), d.value(c.inuseBytes), d.value(c.allocObjects), d.value(c.allocBytes)}
	if d.p.Goroutines {
		high, low := bits.Mul64(uint64(max(d.counts.InuseObjects, 0)), stackMin)
		if high != 0 || int64(low) < 0 {
			return errOverflow
		}
		d.counts.InuseBytes = int64(low)
	}
	for _, v := range []struct {
		value int64
		sum   *int64
	}{
		{d.counts.InuseObjects, &d.sum.InuseObjects}, {d.counts.InuseBytes, &d.sum.InuseBytes},
		{d.counts.AllocObjects, &d.sum.AllocObjects}, {d.counts.AllocBytes, &d.sum.AllocBytes},
	} {
		if v.value < 0 {
			return errDifference
		}
		if *v.sum += v.value; *v.sum < 0 {
			return errOverflow
		}
	}
	return nil
}

func (d *rowDecoder) value(column int) int64 {
	if column < 0 {
		return 0
	}
	return int64(d.values[column])
}
