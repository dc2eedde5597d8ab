//go:build linux

package python

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"slices"
	"strings"
)

// role is what an object without a step of its own is for.
type role uint8

const (
	plain      role = iota
	namespace       // a dict of variables or attributes
	closure         // the tuple of the cells of a function
	frame           // the frame of a generator, up to 3.10
	cell            // a variable of a function that another one uses, too
	parameters      // the tuple or dict of default arguments
	elements        // what a container keeps its elements in
	perThread       // the dict of a thread-local object: it has a namespace for each thread
)

// walker names the objects on a path. at is the object whose block was the last one, which may have a role for the
// object of the last step. If the last block has no object, and is not part of one, at.typ is nil.
type walker struct {
	in    *Interpreter
	steps []names.Step
	types []*typ // of the steps
	at    object
	role  role
	code  code   // of a closure
	via   string // the name that the next step has
	sign  string // what is before the name of a variable: "." or " local " and so on
	// skipped says that blocks were left out, which belong to objects, and that the next object is not yet reached.
	skipped bool
	last    blocks.Range // the last block
	begins  object       // that of the first step, if the step is an object
}

// Describe tells what holds the last block of a path: the name of its root, if that is a module or a frame, and the
// objects on the way, before [names.Fold].
func (in *Interpreter) Describe(root roots.Root, p graph.Path) (name string, steps []names.Step) {
	w := walker{in: in}
	list, end, skipped := ends(p)
	isValue := p.Address < uint64(len(root.Values))
	switch {
	case root.Phase == roots.Module && isValue && p.Address < uint64(len(in.modules)):
		name = in.modules[p.Address].name
		list = w.begin(root.Values[p.Address], list)
	case root.Phase == roots.Frame && isValue:
		name = in.frameName(root.Values[p.Address] + frameObjectCode)
		list = w.begin(root.Values[p.Address], list)
	case (root.Phase == roots.Frame || root.Phase == roots.Temporary) && root.Range.Contains(p.Address):
		name = w.enterFrame(p.Address)
	}
	for _, b := range list {
		w.enter(b)
	}
	if root.Phase == roots.Module && isValue && w.begins.typ != nil && strings.HasPrefix(w.steps[0].Via, ".") {
		if h, ok := in.origin(w.begins); ok {
			name, w.steps[0].Via = in.modules[h.module].name, "."+h.name
		}
	}
	if n := len(w.steps); skipped > 0 {
		w.skip()
		for _, b := range end {
			w.enter(b)
		}
		if n < len(w.steps) {
			w.steps[n].Skipped = max(skipped*n/max(len(list), 1), 1)
		}
	}
	return name, w.steps
}

// ends returns the first and the last blocks of a path, and the number of those between them. Only chains have so
// many.
func ends(p graph.Path) (first, last []blocks.Range, skipped int) {
	const most = 100
	first, last, skipped = p.First, p.Blocks, p.Skipped
	if skipped == 0 {
		first = slices.Concat(p.First, p.Blocks)
		last = first
	}
	if len(first) > 2*most || skipped > 0 {
		n := max(0, len(last)-most)
		first = first[:min(len(first), most)]
		if skipped == 0 {
			n = max(n, len(first))
			skipped = n - len(first)
		} else {
			skipped += n
		}
		last = last[n:]
	}
	return first, last, skipped
}

// skip goes on behind blocks that are left out. They are of objects like those of the last steps.
func (w *walker) skip() {
	w.skipped = w.at.typ != nil
	w.at, w.role, w.via = object{}, plain, ""
}

const frameObjectCode, frameStack = 32, 64 // up to 3.10

// frameName returns the name of the function whose code is in a word of a frame, with file and line.
func (in *Interpreter) frameName(word uint64) string {
	if c, ok := in.codeAt(in.read.Word(word)); ok {
		return c.String()
	}
	return ""
}

// begin goes on to an object that has no step, because it is the root. Its block is the first of the path.
func (w *walker) begin(address uint64, list []blocks.Range) []blocks.Range {
	o, ok := w.in.object(address)
	if !ok || len(list) == 0 || !list[0].Contains(address) {
		return list
	}
	w.at, w.last = o, list[0]
	return list[1:]
}

// enterFrame begins at a word of a frame that runs. It returns the name of the function.
func (w *walker) enterFrame(address uint64) (name string) {
	in := w.in
	frame, codeWord, names, variables := in.frameAt(address), in.frameCode, in.frameNames, in.frameWords
	if in.minor <= 10 {
		frame, codeWord, names, variables = in.frameObjectAt(address), frameObjectCode, frameObjectNames, in.frameLocals
	}
	c, ok := in.codeAt(in.read.Word(frame + codeWord))
	switch {
	case frame == 0 || !ok:
		return ""
	case address == frame+names:
		w.role, w.sign = namespace, " local "
	case address >= frame+variables:
		w.via = " temporary"
		if name := c.variable((address - frame - variables) / 8); name != "" {
			w.via = " local " + name
		}
	}
	return c.String()
}

// enter goes on to the next block of the path.
func (w *walker) enter(b blocks.Range) {
	o, ok := w.in.objectIn(b, w.in.known)
	switch {
	case !ok || o.dead:
		w.enterRaw(b)
	case w.at.typ == nil:
		w.first(o, b)
	default:
		w.enterObject(o, b)
	}
	w.last = b
}

// known reads a word for objectIn.
func (in *Interpreter) known(address uint64) (uint64, bool) { return in.read.Word(address), true }

// enterRaw goes on to a block without an object.
func (w *walker) enterRaw(b blocks.Range) {
	if w.skipped || w.at.typ != nil && (w.at.kind.isContainer() || w.role != plain || w.isValues(b)) {
		w.extend(b)
		return
	}
	w.step(object{}, b, "")
}

// isValues reports whether a block has the values of the attributes of an object.
func (w *walker) isValues(b blocks.Range) bool {
	values := w.in.values(w.at)
	return values != 0 && b.Contains(values)
}

// first goes on to an object from the root, or from a block without one.
func (w *walker) first(o object, b blocks.Range) {
	switch {
	case w.role == namespace && o.kind == dictKind:
		w.become(o, namespace)
	case o.kind == cellKind && w.via != "":
		w.become(o, cell)
	default:
		w.step(o, b, w.via)
	}
}

// step adds a step for an object, or for a block without one.
func (w *walker) step(o object, b blocks.Range, via string) {
	s := names.Step{Block: b, Via: via, Length: -1, Limit: -1}
	if o.typ != nil {
		s.Type = w.in.typeText(o)
		s.Length, s.Limit = w.in.measure(o)
	}
	if len(w.steps) == 0 {
		w.begins = o
	}
	w.steps, w.types = append(w.steps, s), append(w.types, o.typ)
	w.at, w.role, w.via, w.sign, w.skipped = o, plain, "", "", false
}

// become goes on to an object that is part of that of the last step.
func (w *walker) become(o object, r role) { w.at, w.role = o, r }

// extend adds a block to the last step.
func (w *walker) extend(b blocks.Range) {
	if n := len(w.steps); n > 0 {
		w.steps[n-1].Block = b
	}
}

// enterObject goes on to an object that an object refers to.
func (w *walker) enterObject(o object, b blocks.Range) {
	if r, sign := w.part(o); r != plain {
		if sign != "" {
			w.sign = sign
		}
		w.extend(b)
		w.become(o, r)
		return
	}
	w.step(o, b, w.name(o))
}

// IsObject reports whether a step of [Interpreter.Describe] is an object of Python.
func IsObject(s names.Step) bool { return s.Type != "" }
