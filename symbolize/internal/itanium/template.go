package itanium

import "github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"

// templateScopes resolves the template parameters T_, T0_, TL0__, ….
type templateScopes struct {
	params  []ast.Ref  // the arguments of all open lists, innermost last
	lambdas []ast.Span // the open lists of lambdas, in params
	levels  []int32    // by level: outerList, noList or an index into lambdas; those below base are of enclosing encodings
	base    int
	outer   ast.Span // the arguments of the name that is being read, in params

	forward       []ast.Ref // references, in conversion operators, to arguments that follow
	tryArgs       bool      // template arguments may follow a type; not so in conversion operators
	permitForward bool
	lambdaLevel   int // the level of the lambda whose parameters are being read, or -1
	synthetic     [3]int32
}

const (
	outerList = -1
	noList    = -2
)

func (t *templateScopes) reset() {
	*t = templateScopes{
		params: t.params[:0], lambdas: t.lambdas[:0], levels: t.levels[:0],
		forward: t.forward[:0], tryArgs: true, lambdaLevel: -1,
	}
}

// savedScope is the state that leave restores.
type savedScope struct {
	base, params int
	outer        ast.Span
}

// enter hides all template parameters until leave is called.
func (t *templateScopes) enter() savedScope {
	saved := savedScope{t.base, len(t.params), t.outer}
	t.base, t.outer = len(t.levels), t.emptyList()
	return saved
}

func (t *templateScopes) leave(saved savedScope) {
	t.levels, t.params = t.levels[:t.base], t.params[:saved.params]
	t.base, t.outer = saved.base, saved.outer
}

// emptyList returns a list at the end of params.
func (t *templateScopes) emptyList() ast.Span {
	end := int32(len(t.params))
	return ast.Span{Lo: end, Hi: end}
}

// clear removes the levels, but not the arguments of the name that is being read.
func (t *templateScopes) clear() { t.levels = t.levels[:t.base] }

// begin starts the template arguments of the name.
func (t *templateScopes) begin() {
	t.clear()
	t.params = t.params[:t.outer.Lo]
	t.outer.Hi = t.outer.Lo
	t.levels = append(t.levels, outerList)
}

// add adds a template argument of the name.
func (t *templateScopes) add(arg ast.Ref) {
	t.params = append(t.params[:t.outer.Hi], arg)
	t.outer.Hi++
}

// level returns the list of a level, and reports whether there is one.
func (t *templateScopes) level(n int) (list ast.Span, ok bool) {
	if n >= len(t.levels)-t.base {
		return ast.Span{}, false
	}
	switch i := t.levels[t.base+n]; i {
	case outerList:
		return t.outer, true
	case noList:
		return ast.Span{}, false
	default:
		return t.lambdas[i], true
	}
}

// lambdaScope is the state that leaveLambda restores.
type lambdaScope struct {
	list, levels, lambdaLevel int
}

// enterLambda opens the list of the explicit template parameters of a lambda.
func (t *templateScopes) enterLambda() lambdaScope {
	saved := lambdaScope{t.openList(), len(t.levels) - 1, t.lambdaLevel}
	t.lambdaLevel = saved.levels - t.base
	return saved
}

func (t *templateScopes) openList() int {
	t.levels = append(t.levels, int32(len(t.lambdas)))
	t.lambdas = append(t.lambdas, t.emptyList())
	return len(t.lambdas) - 1
}

// dropLevel removes the level of a lambda without explicit template parameters.
func (t *templateScopes) dropLevel() { t.levels = t.levels[:len(t.levels)-1] }

func (t *templateScopes) leaveLambda(saved lambdaScope) {
	t.closeList(saved.list, saved.levels)
	t.lambdaLevel = saved.lambdaLevel
}

func (t *templateScopes) closeList(list, levels int) {
	t.params = t.params[:t.lambdas[list].Lo]
	t.lambdas = t.lambdas[:list]
	if len(t.levels) > levels {
		t.levels = t.levels[:levels]
	}
}

// resolveForward sets the targets of the forward references from an index on, which are those of a
// conversion operator.
func (p *parser) resolveForward(from int) {
	list, ok := p.level(0)
	for _, f := range p.forward[min(from, len(p.forward)):] {
		index := int(p.Nodes[f].Count)
		if p.bad || !ok || index >= list.Size() {
			p.fail()
			return
		}
		p.Nodes[f].A = p.params[int(list.Lo)+index]
	}
	p.forward = p.forward[:min(from, len(p.forward))]
}

// substitution reads
//
//	<substitution> ::= S [<seq-id>] _ | Sa | Sb | Ss | Si | So | Sd
//
// St is not part of this rule.
func (p *parser) substitution() ast.Ref {
	p.expect('S')
	if c := p.look(); c >= 'a' && c <= 'z' {
		return p.stdSubstitution(c)
	}
	index := p.backReference()
	p.expect('_')
	if p.bad || index >= len(p.subs) {
		return p.fail()
	}
	return p.subs[index].Ref
}

// backReference reads [<seq-id>] and returns the index of the target.
func (p *parser) backReference() int {
	index, numbered := p.sequence()
	if numbered {
		index++
	}
	return index
}

func (p *parser) stdSubstitution(c byte) ast.Ref {
	if !ast.IsStd(c) {
		return p.fail()
	}
	p.pos++
	name := p.Make(ast.Node{Kind: ast.Std, Count: int32(c)})
	if p.look() != 'B' {
		return name
	}
	return p.remember(p.abiTags(name))
}

// templateParam reads
//
//	<template-param> ::= T [<number>] _ | TL <number> _ [<number>] _
func (p *parser) templateParam() ast.Ref {
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
		f := p.Make(ast.Node{Kind: ast.Forward, Count: int32(index)})
		p.forward = append(p.forward, f)
		return f
	}
	return p.argument(level, index)
}

// argument returns the argument of a template parameter, which is auto for parameters of a generic
// lambda.
func (p *parser) argument(level, index int) ast.Ref {
	list, ok := p.level(level)
	if ok && index < list.Size() {
		return p.parameter(index, p.params[int(list.Lo)+index])
	}
	if levels := len(p.levels) - p.base; p.lambdaLevel != level || level > levels {
		return p.fail()
	} else if level == levels {
		p.levels = append(p.levels, noList)
	}
	return p.Make(ast.Node{Kind: ast.Auto, Count: int32(index)})
}

// parameter returns a reference to a template parameter whose argument is arg. In the parameters of
// a lambda, the GNU style prints it as auto, and LLVM prints the argument.
func (p *parser) parameter(index int, arg ast.Ref) ast.Ref {
	if p.mode == Full || p.Nodes[arg].Kind == ast.Synthetic {
		return arg
	}
	return p.Make(ast.Node{Kind: ast.Argument, Count: int32(index), A: arg})
}

// isTemplateParamDecl reports whether <template-param-decl> is next.
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

// templateParamDecl reads the declaration of a template parameter, and adds it to an open list. The
// declaration has no name in the mangling, so the parser invents one.
//
//	<template-param-decl> ::= Ty | Tn <type> | Tt <template-param-decl>* E
//	                      ::= Tp <template-param-decl>
func (p *parser) templateParamDecl(list int) ast.Ref {
	p.enter()
	defer p.leave()
	c := p.peek(1)
	p.pos = min(p.pos+2, len(p.src))
	switch c {
	case 'y':
		return p.Make(ast.Node{Kind: ast.TypeDecl, A: p.invent("$T", 0, list)})
	case 'n':
		name := p.invent("$N", 1, list)
		return p.Make(ast.Node{Kind: ast.ValueDecl, A: name, B: p.typ()})
	case 't':
		return p.templateTemplateDecl(p.invent("$TT", 2, list))
	case 'p':
		return p.Make(ast.Node{Kind: ast.PackDecl, A: p.templateParamDecl(list)})
	}
	return p.fail()
}

// invent makes a name for a template parameter and adds it to an open list.
func (p *parser) invent(prefix string, sort, list int) ast.Ref {
	name := p.Make(ast.Node{Kind: ast.Synthetic, Text: prefix, Count: p.synthetic[sort]})
	p.synthetic[sort]++
	p.params = append(p.params[:p.lambdas[list].Hi], name)
	p.lambdas[list].Hi++
	return name
}

func (p *parser) templateTemplateDecl(name ast.Ref) ast.Ref {
	levels := len(p.levels)
	list := p.openList()
	n := ast.Node{Kind: ast.TemplateDecl, A: name}
	mark := len(p.stack)
	for p.until('E') {
		p.push(p.templateParamDecl(list))
	}
	n.List = p.pop(mark)
	p.closeList(list, levels)
	return p.Make(n)
}

// templateArgs reads <template-args> ::= I <template-arg>* E. With ofName they are the arguments of
// the name of an encoding, and the template parameters of the encoding refer to them.
func (p *parser) templateArgs(ofName bool) ast.Ref {
	p.expect('I')
	if ofName {
		p.begin()
	}
	n := ast.Node{Kind: ast.TemplateArgs}
	tryArgs := p.tryArgs
	p.tryArgs = true // LLVM does not, and rejects such names in the types of conversion operators
	mark := len(p.stack)
	for p.until('E') {
		p.push(p.nextArg(ofName))
	}
	n.List = p.pop(mark)
	p.tryArgs = tryArgs
	return p.Make(n)
}

func (p *parser) nextArg(ofName bool) ast.Ref {
	if !ofName {
		return p.templateArg()
	}
	base := p.base
	p.base = len(p.levels) // hides the list from its own elements
	arg := p.templateArg()
	p.levels, p.base = p.levels[:p.base], base
	p.add(p.asParam(arg))
	return arg
}

// asParam returns what a template parameter with the argument arg is replaced by.
func (p *parser) asParam(arg ast.Ref) ast.Ref {
	if n := p.Nodes[arg]; n.Kind == ast.ArgPack {
		return p.Make(ast.Node{Kind: ast.Pack, List: n.List})
	}
	return arg
}

// templateArg reads
//
//	<template-arg> ::= <type> | X <expression> E | <expr-primary> | J <template-arg>* E
//	                 | LZ <encoding> E
func (p *parser) templateArg() ast.Ref {
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
		return p.Make(ast.Node{Kind: ast.ArgPack, List: p.list('E', (*parser).templateArg)})
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
