package siteview

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Survival is a table of cohorts at the ends of parts:
//
//	in use at snapshot        #6       #11       #16
//	before #6           1.63 MiB  1.50 MiB  1.50 MiB
//	from #6 to #11                2.19 MiB  2.19 MiB
//	from #11 to #16                         2.01 MiB
//
// If a width in columns, 0 for no limit, has no room for all parts, some are joined. There is no table of one part.
func Survival(ends []int, cohorts []ages.Cohorts, width int) []string {
	const title, cell = "in use at snapshot", 9
	if width > 0 {
		most := (width - len(title)) / (cell + 1)
		if most < 2 {
			return nil
		}
		ends, cohorts = joined(ends, cohorts, most)
	}
	head := strings.Builder{}
	for _, index := range ends {
		fmt.Fprintf(&head, " %*s", cell, fmt.Sprintf("#%d", index+1))
	}
	lines := []string{title + head.String()}
	for part, end := range ends {
		row, any := strings.Builder{}, false
		for _, c := range cohorts {
			any = any || c[part] > 0
			if !any {
				fmt.Fprintf(&row, " %*s", cell, "")
				continue
			}
			fmt.Fprintf(&row, " %*s", cell, units.Bytes(c[part]))
		}
		if any {
			born := fmt.Sprintf("before #%d", end+1)
			if part > 0 {
				born = fmt.Sprintf("from #%d to #%d", ends[part-1]+1, end+1)
			}
			lines = append(lines, text.Pad(born, len(title))+row.String())
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return lines
}

// joined returns the table with fewer parts. The last part ends with the last one.
func joined(ends []int, cohorts []ages.Cohorts, most int) (fewer []int, out []ages.Cohorts) {
	each := (len(ends) + most - 1) / most
	first := (len(ends) - 1) % each // the end of the first part
	for end := first; end < len(ends); end += each {
		fewer = append(fewer, ends[end])
		c := make(ages.Cohorts, (len(ends)-1-first)/each+1)
		for part, bytes := range cohorts[end] {
			c[(part-first+each-1)/each] += bytes
		}
		out = append(out, c)
	}
	return fewer, out
}
