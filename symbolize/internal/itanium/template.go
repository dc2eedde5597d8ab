package itanium

// templateScopes is which template parameters T_, T0_, TL0__, … mean.
type templateScopes struct {
	params  []ref   // the arguments of all open lists, innermost last
	lambdas []span  // the lists of lambdas that are open, in params
	levels  []int32 // by level: outerList, noList, or an index into lambdas. Those below base belong to enclosing encodings
	base    int
	outer   span // the arguments of the name that is read, in params

	forward       []ref // references to arguments that follow: of conversion operators
	tryArgs       bool  // template arguments may follow a type: not so in conversion operators
	permitForward bool
	lambdaLevel   int // of the lambda whose parameters are read, or -1
	synthetic     [3]int32
}

const (
	outerList = -1
	noList    = -2
)

func (t *templateScopes) reset() {
	*t = templateScopes{
		params: t.params[:0], lambdas: t.lambdas[:0], levels: t.levels[:0], forward: t.forward[:0], tryArgs: true, lambdaLevel: -1,
	}
}

// savedScope is what leave goes back to.
type savedScope struct {
	base, params int
	outer        span
}

// enter hides all template parameters until leave.
func (t *templateScopes) enter() savedScope {
	saved := savedScope{t.base, len(t.params), t.outer}
	t.base, t.outer = len(t.levels), span{int32(len(t.params)), int32(len(t.params))}
	return saved
}

func (t *templateScopes) leave(saved savedScope) {
	t.levels, t.params = t.levels[:t.base], t.params[:saved.params]
	t.base, t.outer = saved.base, saved.outer
}

// clear forgets the levels, but not the arguments of the name that is read.
func (t *templateScopes) clear() { t.levels = t.levels[:t.base] }

// begin has the template arguments that follow be those of the name.
func (t *templateScopes) begin() {
	t.clear()
	t.params = t.params[:t.outer.lo]
	t.outer.hi = t.outer.lo
	t.levels = append(t.levels, outerList)
}

// add adds an argument of the name.
func (t *templateScopes) add(arg ref) {
	t.params = append(t.params[:t.outer.hi], arg)
	t.outer.hi++
}

// level is the list of a level, and whether there is one.
func (t *templateScopes) level(n int) (list span, ok bool) {
	if n >= len(t.levels)-t.base {
		return span{}, false
	}
	switch i := t.levels[t.base+n]; i {
	case outerList:
		return t.outer, true
	case noList:
		return span{}, false
	default:
		return t.lambdas[i], true
	}
}

// lambdaScope is what leaveLambda goes back to.
type lambdaScope struct {
	list, levels, lambdaLevel int
}

// enterLambda opens the list of a lambda's explicit template parameters.
func (t *templateScopes) enterLambda() lambdaScope {
	saved := lambdaScope{t.openList(), len(t.levels) - 1, t.lambdaLevel}
	t.lambdaLevel = saved.levels - t.base
	return saved
}

func (t *templateScopes) openList() int {
	t.levels = append(t.levels, int32(len(t.lambdas)))
	t.lambdas = append(t.lambdas, span{int32(len(t.params)), int32(len(t.params))})
	return len(t.lambdas) - 1
}

// dropLevel takes back the level of a lambda that has no explicit parameters.
func (t *templateScopes) dropLevel() { t.levels = t.levels[:len(t.levels)-1] }

func (t *templateScopes) leaveLambda(saved lambdaScope) {
	t.closeList(saved.list, saved.levels)
	t.lambdaLevel = saved.lambdaLevel
}

func (t *templateScopes) closeList(list, levels int) {
	t.params = t.params[:t.lambdas[list].lo]
	t.lambdas = t.lambdas[:list]
	if len(t.levels) > levels {
		t.levels = t.levels[:levels]
	}
}

// resolveForward finds the arguments that a conversion operator's type referred to before they came.
func (p *parser) resolveForward(from int) {
	list, ok := p.level(0)
	for _, f := range p.forward[min(from, len(p.forward)):] {
		index := int(p.nodes[f].count)
		if p.bad || !ok || index >= list.size() {
			p.fail()
			return
		}
		p.nodes[f].a = p.params[int(list.lo)+index]
	}
	p.forward = p.forward[:min(from, len(p.forward))]
}

// substitution reads
//
//	<substitution> ::= S [<seq-id>] _ | Sa | Sb | Ss | Si | So | Sd
//
// St is read by those who read names.
func (p *parser) substitution() ref {
	p.expect('S')
	if c := p.look(); c >= 'a' && c <= 'z' {
		return p.stdSubstitution(c)
	}
	index, numbered := p.sequence()
	if numbered {
		index++
	}
	p.expect('_')
	if p.bad || index >= len(p.subs) {
		return p.fail()
	}
	return p.subs[index]
}

// stdNames are what a letter behind S stands for: the name of the template, and the typedef of its instance for char.
var stdNames = [256]struct{ base, short, args string }{
	'a': {"allocator", "allocator", ""},
	'b': {"basic_string", "basic_string", ""},
	's': {"basic_string", "string", ", std::allocator<char>"},
	'i': {"basic_istream", "istream", ""},
	'o': {"basic_ostream", "ostream", ""},
	'd': {"basic_iostream", "iostream", ""},
}

func (p *parser) stdSubstitution(c byte) ref {
	if stdNames[c].base == "" {
		return p.fail()
	}
	p.pos++
	name := p.make(node{kind: kindStd, count: int32(c)})
	if p.look() != 'B' {
		return name
	}
	return p.remember(p.abiTags(name))
}

// templateParam reads
//
//	<template-param> ::= T [<number>] _ | TL <number> _ [<number>] _
func (p *parser) templateParam() ref {
	p.expect('T')
	level := 0
	if p.accept('L') {
		level = 1 + p.integer()
		p.expect('_')
	}
	index := 0
	if p.look() != '_' {
		index = 1 + p.integer()
	}
	p.expect('_')
	switch {
	case p.bad:
		return 0
	case p.permitForward && level == 0:
		f := p.make(node{kind: kindForward, count: int32(index)})
		p.forward = append(p.forward, f)
		return f
	}
	return p.argument(level, index)
}

// argument is what a template parameter stands for. The parameters of a generic lambda stand for auto.
func (p *parser) argument(level, index int) ref {
	list, ok := p.level(level)
	if ok && index < list.size() {
		return p.parameter(index, p.params[int(list.lo)+index])
	}
	if levels := len(p.levels) - p.base; p.lambdaLevel != level || level > levels {
		return p.fail()
	} else if level == levels {
		p.levels = append(p.levels, noList)
	}
	return p.make(node{kind: kindAuto, count: int32(index)})
}

// parameter is a template parameter that stands for arg. Where a back reference to it is the type of a lambda's parameter, that
// is auto, as any template parameter there is; LLVM shows the argument.
func (p *parser) parameter(index int, arg ref) ref {
	if p.mode == Full || p.nodes[arg].kind == kindSynthetic {
		return arg
	}
	return p.make(node{kind: kindArgument, count: int32(index), a: arg})
}

// isTemplateParamDecl says that <template-param-decl> follows.
func (p *parser) isTemplateParamDecl() bool {
	if p.look() != 'T' {
		return false
	}
	switch p.peek(1) {
	case 'y', 'p', 't', 'n':
		return true
	}
	return false
}

// templateParamDecl reads the declaration of a template parameter, for which it invents a name and which it adds to a list
// that is open:
//
//	<template-param-decl> ::= Ty | Tn <type> | Tt <template-param-decl>* E
//	                      ::= Tp <template-param-decl>
func (p *parser) templateParamDecl(list int) ref {
	p.enter()
	defer p.leave()
	c := p.peek(1)
	p.pos = min(p.pos+2, len(p.src))
	switch c {
	case 'y':
		return p.make(node{kind: kindTypeDecl, a: p.invent("$T", 0, list)})
	case 'n':
		name := p.invent("$N", 1, list)
		return p.make(node{kind: kindValueDecl, a: name, b: p.typ()})
	case 't':
		return p.templateTemplateDecl(p.invent("$TT", 2, list))
	case 'p':
		return p.make(node{kind: kindPackDecl, a: p.templateParamDecl(list)})
	}
	return p.fail()
}

// invent names a parameter of a lambda's template.
func (p *parser) invent(prefix string, sort, list int) ref {
	name := p.make(node{kind: kindSynthetic, text: prefix, count: p.synthetic[sort]})
	p.synthetic[sort]++
	p.params = append(p.params[:p.lambdas[list].hi], name)
	p.lambdas[list].hi++
	return name
}

func (p *parser) templateTemplateDecl(name ref) ref {
	levels := len(p.levels)
	list := p.openList()
	n := node{kind: kindTemplateDecl, a: name}
	mark := len(p.stack)
	for p.until('E') {
		p.push(p.templateParamDecl(list))
	}
	n.list = p.pop(mark)
	p.closeList(list, levels)
	return p.make(n)
}

// templateArgs reads <template-args> ::= I <template-arg>* E. If they are those of the name of an
// encoding, its template parameters stand for them.
func (p *parser) templateArgs(ofName bool) ref {
	p.expect('I')
	if ofName {
		p.begin()
	}
	n := node{kind: kindTemplateArgs}
	tryArgs := p.tryArgs
	p.tryArgs = true // inside the type of a conversion operator LLVM forgets that, and refuses the name
	mark := len(p.stack)
	for p.until('E') {
		p.push(p.nextArg(ofName))
	}
	n.list = p.pop(mark)
	p.tryArgs = tryArgs
	return p.make(n)
}

func (p *parser) nextArg(ofName bool) ref {
	if !ofName {
		return p.templateArg()
	}
	base := p.base
	p.base = len(p.levels) // hidden from the arguments
	arg := p.templateArg()
	p.levels, p.base = p.levels[:p.base], base
	p.add(p.asParam(arg))
	return arg
}

// asParam is what a parameter stands for whose argument is arg.
func (p *parser) asParam(arg ref) ref {
	if n := p.nodes[arg]; n.kind == kindArgPack {
		return p.make(node{kind: kindPack, list: n.list})
	}
	return arg
}

// templateArg reads
//
//	<template-arg> ::= <type> | X <expression> E | <expr-primary> | J <template-arg>* E | LZ <encoding> E
func (p *parser) templateArg() ref {
	p.enter()
	defer p.leave()
	switch p.look() {
	case 'X':
		p.pos++
		e := p.expr()
		p.expect('E')
		return e
	case 'J':
		p.pos++
		return p.make(node{kind: kindArgPack, list: p.list('E', (*parser).templateArg)})
	case 'L':
		if p.acceptString("LZ") {
			e := p.encoding(false)
			p.expect('E')
			return e
		}
		return p.primary()
	}
	return p.typ()
}
