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
func Survival(ends []int, cohorts []ages.Cohorts) []string {
	const title, cell = "in use at snapshot", 9
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
