package growth

import (
	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
)

// births tell when the memory that is in use at the end was allocated.
type births struct {
	ages *ages.Ages // may be nil
	all  heldOld    // of all call paths
}

// heldOld is what is in use at the end, and what of it was allocated in the first half of the window or before.
type heldOld struct{ bytes, old float64 }

// birthsOf adds up the call paths, of which there are n.
func birthsOf(a *ages.Ages, n int) births {
	b := births{ages: a}
	if a == nil {
		return b
	}
	for id := range n {
		b.all = b.all.plus(heldOldOf(a, []symbolize.SiteID{symbolize.SiteID(id)}))
	}
	return b
}

func heldOldOf(a *ages.Ages, ids []symbolize.SiteID) heldOld {
	bytes, old := a.Held(ids)
	return heldOld{float64(bytes), float64(old)}
}

func (h heldOld) plus(o heldOld) heldOld { return heldOld{h.bytes + o.bytes, h.old + o.old} }

// addTo adds the births of some call paths to their points, if they are known.
func (b *births) addTo(p *trend.Points, ids []symbolize.SiteID, w *window) {
	if b.ages == nil {
		return
	}
	first := w.series.Clock.Times[w.First]
	for _, birth := range b.ages.Births(ids) {
		p.Births = append(p.Births, trend.Birth{
			Before: w.time(w.First) + birth.Before.Sub(first).Seconds(), Objects: float64(birth.Objects), Bytes: float64(birth.Bytes),
		})
	}
	for _, after := range b.ages.Of(ids) {
		var inUse []float64
		for _, bytes := range after {
			inUse = append(inUse, float64(bytes))
		}
		p.Cohorts = append(p.Cohorts, inUse)
	}
	own := heldOldOf(b.ages, ids)
	if others := b.all.bytes - own.bytes; others > 0 {
		p.OthersOld = (b.all.old - own.old) / others
	}
}
