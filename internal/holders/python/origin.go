//go:build linux

package python

// holding is a variable of a module, by the index of the module in Interpreter.modules, and its name.
type holding struct {
	module int
	name   string
}

// maxHoldings limits the variables of modules that are remembered.
const maxHoldings = 1 << 18

// origin returns the module that defines an object which several modules have as a variable, and the variable there. ok
// is false if none has it.
//
// A function is defined by the module whose variables it uses, and a class by the one that it names. Of others, it is
// the one whose code has ended first: what a module imports has run before its own code ends, but for circular
// imports. That is the order of sys.modules, to whose end importlib moves a module that is complete. It does not move
// __main__, from which others do not import.
func (in *Interpreter) origin(o object) (found holding, ok bool) {
	for _, h := range in.holdings(o.address) {
		if in.defines(in.modules[h.module], o) {
			return h, true
		}
		if !ok || in.modules[h.module].name != "__main__" {
			found, ok = h, true // the later ones of Interpreter.modules were complete earlier
		}
	}
	return found, ok
}

// holdings returns the variables of modules that have an object, in the order of Interpreter.modules.
func (in *Interpreter) holdings(address uint64) []holding {
	if in.byVariable == nil {
		in.readHoldings()
	}
	return in.byVariable[address]
}

func (in *Interpreter) readHoldings() {
	in.byVariable = map[uint64][]holding{}
	total := 0
	for i, m := range in.modules {
		n := 0
		for e := range in.dict(in.read.Word(m.address + moduleDict)) {
			if n++; n > maxVariables || total == maxHoldings || m.name == "" {
				break
			}
			total++
			known := in.byVariable[e.Value]
			twice := len(known) > 0 && known[len(known)-1].module == i
			if name := in.str(e.Key); !twice && isIdentifier(name) {
				in.byVariable[e.Value] = append(known, holding{i, name})
			}
		}
	}
}

// defines reports whether a module defines a function or a class.
func (in *Interpreter) defines(m module, o object) bool {
	switch o.kind {
	case functionKind:
		return in.read.Word(o.address+in.globals) == in.read.Word(m.address+moduleDict)
	case typeKind:
		name, ok := in.lookup(in.read.Word(o.address+typeDict), "__module__")
		return ok && m.name == in.str(name)
	}
	return false
}
