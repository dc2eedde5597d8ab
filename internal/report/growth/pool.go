package growth

import (
	"fmt"

	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// elsewhere tells of sites that leak in other processes, and are not in the table of this one.
func (g *Report) elsewhere() (out []string) {
	const most = 3
	if len(g.Processes) < 2 { // describing all sites takes time
		return nil
	}
	told := map[processes.Key]bool{}
	for i := range g.Result.Sites {
		if s := &g.Result.Sites[i]; s.CanLeak {
			told[g.Key(s)] = true
		}
	}
	for i := range g.Processes {
		p := &g.Processes[i]
		if p.Shown || p.Result == nil {
			continue
		}
		for k := range p.Result.Sites {
			s := &p.Result.Sites[k]
			d, described := p.sites[s.Members[0]]
			if !described || !s.Label.IsLeak() || told[p.Key(s)] || len(out) == most {
				continue
			}
			told[p.Key(s)] = true
			name := text.Clean(p.Name())
			line := fmt.Sprintf("leaks in process %s: %s, %s, chance of a leak: %s; %s %[1]s shows it", name, d.heading,
				units.SignedBytes(float64(s.Gained)), text.Percent(s.Confidence), option.Process)
			out = append(out, line)
		}
	}
	return out
}
