//go:build linux

package record

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

// agentSetting returns the variable that configures the agent. agent.c describes its format.
func agentSetting(o *Options, prefix string) Setting {
	part, children := 0, 0
	if o.Adaptive {
		part = DefaultPart
	}
	if o.FollowChildren {
		children = 1
	}
	return Setting{"HEAPLAPSE_RECORD", fmt.Sprintf("%d %d %d %07d %s", o.Every.Milliseconds(), part, children, 0, prefix)}
}

// storeAgent writes the agent to a directory from which it can be loaded.
func (p *Plan) storeAgent() (err error) {
	p.agentPath, err = preloadfile.Write(agent.Name, agent.For(p.Target.ABI().Machine), p.outputParent())
	return err
}
