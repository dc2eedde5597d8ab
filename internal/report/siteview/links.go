package siteview

import (
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Links are the places of all functions of some series, for a style that has links.
func Links(style text.Style, of ...*symbolize.Symbols) text.Links {
	links := text.NewLinks(style)
	if !links.Wanted() {
		return links
	}
	for _, symbols := range of {
		for i := range symbols.Locations {
			for _, f := range symbols.Locations[i].Frames {
				links.Add(f.File, f.Line)
				links.Add(f.File, f.StartLine)
			}
		}
	}
	return links
}
