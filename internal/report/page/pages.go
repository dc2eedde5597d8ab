package page

import growthreport "github.com/heaplapse/heaplapse/internal/report/growth"

// MaxProcesses is the largest number of processes that can be opened on a page. They share its
// room.
const MaxProcesses = 24

// Pages makes the models of several processes, one after another.
type Pages struct {
	Options
	models []*Model
}

// Add makes the model of a process. The worst is the first. The report may be closed after that.
func (p *Pages) Add(g *growthreport.Report) error {
	o := p.Options
	o.Growth = g
	m, err := Build(o)
	if err != nil {
		return err
	}
	p.models = append(p.models, m)
	return nil
}

// SourceElsewhere returns the source file of the worst site if it is on this machine, but not below the directory whose
// files may be shown; else "".
func (p *Pages) SourceElsewhere() string {
	if list := p.models[0].Sites; len(list) > 0 {
		return list[0].elsewhere
	}
	return ""
}

// Document returns the page of all processes.
func (p *Pages) Document() *Document {
	p.models[0].Pooled = pool(p.models)
	return &Document{p.models, max(p.Processes-len(p.models), 0)}
}
