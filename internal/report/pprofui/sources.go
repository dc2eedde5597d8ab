package pprofui

import (
	"fmt"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/internal/report/source"
)

// unusable makes a path that no system can open.
const unusable = "\x00"

// confine returns a profile whose functions name only files below a directory. pprof reads what
// they name. p may be nil.
func confine(p *profile.Profile, to *source.Dir) *profile.Profile {
	if p == nil {
		return nil
	}
	p = p.Copy()
	for _, f := range p.Function {
		if relative, ok := to.Find(f.Filename); ok {
			f.Filename = filepath.Join(to.Path(), relative)
		} else {
			f.Filename = fmt.Sprintf("%s, not found below %s%s", f.Filename, to.Path(), unusable)
		}
	}
	return p
}
