//go:build linux

package python

import "slices"

// module is a value of sys.modules.
type module struct {
	name    string // "" if it is no name of a module
	address uint64
}

// findModules finds sys.modules of all interpreters.
func (in *Interpreter) findModules() {
	const most = 1000 // interpreters
	n := 0
	for _, sys := range in.found.modules {
		if in.str(in.read.Word(sys+moduleName)) != "sys" {
			continue
		}
		if n++; n > most {
			break
		}
		if d, ok := in.lookup(in.read.Word(sys+moduleDict), "modules"); ok {
			in.addModules(d)
		}
	}
}

// addModules adds the values of sys.modules, the last one first: modules of the program come before those that they
// import. origin tells which module defines a variable.
func (in *Interpreter) addModules(d uint64) {
	if o, ok := in.object(d); !ok || o.kind != dictKind {
		return
	}
	seen := map[uint64]int{} // index
	for _, known := range in.modules {
		seen[known.address] = 0
	}
	var list []module
	for e := range in.dict(d) {
		if o, ok := in.object(e.Value); !ok || o.before == 0 {
			continue // None, for a module that must not be imported
		}
		m := module{address: e.Value}
		if name := in.str(e.Key); isModule(name) {
			m.name = name
		}
		i, known := seen[m.address]
		switch {
		case !known:
			seen[m.address] = len(list)
			list = append(list, m)
		case i < len(list) && m.name != "" && m.name == in.str(in.read.Word(m.address+moduleName)):
			list[i] = m // of several names, its own
		}
	}
	slices.Reverse(list)
	in.modules = append(in.modules, list...)
}
