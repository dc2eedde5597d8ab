package growth

import (
	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
)

// addBirths adds to the points of some call paths when their memory was allocated, if that is known.
func (w *window) addBirths(p *trend.Points, a *ages.Ages, ids []symbolize.SiteID) {
	for _, b := range a.Births(ids) {
		since := b.Before.Sub(w.series.Clock.Times[w.First]).Seconds()
		p.Births = append(p.Births, trend.Birth{Before: w.time(w.First) + since, Objects: float64(b.Objects), Bytes: float64(b.Bytes)})
	}
	for _, after := range a.Of(ids) {
		var inUse []float64
		for _, bytes := range after {
			inUse = append(inUse, float64(bytes))
		}
		p.Cohorts = append(p.Cohorts, inUse)
	}
}
