package growth

import (
	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/symbolize"
)

// births returns what tells when the memory of some call paths was allocated; nil if nothing does.
func (j *judgement) births(ids []symbolize.SiteID) func() *births.Births {
	if j.ages == nil {
		return nil
	}
	return func() *births.Births { return j.window.birthsOf(j.ages, ids) }
}

// birthsOf tells when the memory of some call paths was allocated.
func (w *window) birthsOf(a *ages.Ages, ids []symbolize.SiteID) *births.Births {
	var out births.Births
	first := w.series.Clock.Times[w.First]
	for _, b := range a.Births(ids) {
		at := w.time(w.First) + b.Before.Sub(first).Seconds()
		out.List = append(out.List, births.Birth{Before: at, Objects: float64(b.Objects), Bytes: float64(b.Bytes)})
	}
	for _, after := range a.Of(ids) {
		var inUse []float64
		for _, bytes := range after {
			inUse = append(inUse, float64(bytes))
		}
		out.Cohorts = append(out.Cohorts, inUse)
	}
	return &out
}
