package itanium

import (
	"sort"
	"strings"
)

// prec is how tightly an expression binds; the tightest is first.
type prec uint8

const (
	precPrimary prec = iota
	precPostfix
	precUnary
	precCast
	precPtrMem
	precMultiplicative
	precAdditive
	precShift
	precSpaceship
	precRelational
	precEquality
	precAnd
	precXor
	precOr
	precAndAnd
	precOrOr
	precConditional
	precAssign
	precComma
	precDefault
)

// form is which operands an operator has.
type form uint8

const (
	opPrefix      form = iota // @x
	opPostfix                 // x@, or @x behind a _
	opBinary                  // x @ y
	opIndex                   // x[y]
	opMember                  // x.y, x->y, x.*y
	opNew                     //
	opDelete                  //
	opCall                    // x(…)
	opCCast                   // (type)x
	opConditional             // x ? y : z
	opNameOnly                // only in names: operator co_await
	opNamedCast               // cast<type>(x)
	opOfType                  // sizeof (type)
	opOfExpr                  // sizeof (x)
)

// operator is an <operator-name>.
type operator struct {
	code   string
	form   form
	prec   prec
	symbol string
	name   string // as a function; empty if it cannot be one
}

// operators are ordered by code. That of / is LLVM's.
var operators = [...]operator{
	{"aN", opBinary, precAssign, "&=", "operator&="},
	{"aS", opBinary, precAssign, "=", "operator="},
	{"aa", opBinary, precAndAnd, "&&", "operator&&"},
	{"ad", opPrefix, precUnary, "&", "operator&"},
	{"an", opBinary, precAnd, "&", "operator&"},
	{"at", opOfType, precUnary, "alignof ", ""},
	{"aw", opNameOnly, precPrimary, "co_await", "operator co_await"},
	{"az", opOfExpr, precUnary, "alignof ", ""},
	{"cc", opNamedCast, precPostfix, "const_cast", ""},
	{"cl", opCall, precPostfix, "()", "operator()"},
	{"cm", opBinary, precComma, ",", "operator,"},
	{"co", opPrefix, precUnary, "~", "operator~"},
	{"cp", opCall, precPostfix, "()", "operator()"},
	{"cv", opCCast, precCast, "", ""},
	{"dV", opBinary, precAssign, "/=", "operator/="},
	{"da", opDelete, precUnary, "delete[]", "operator delete[]"},
	{"dc", opNamedCast, precPostfix, "dynamic_cast", ""},
	{"de", opPrefix, precUnary, "*", "operator*"},
	{"dl", opDelete, precUnary, "delete", "operator delete"},
	{"ds", opMember, precPtrMem, ".*", ""},
	{"dt", opMember, precPostfix, ".", ""},
	{"dv", opBinary, precAssign, "/", "operator/"},
	{"eO", opBinary, precAssign, "^=", "operator^="},
	{"eo", opBinary, precXor, "^", "operator^"},
	{"eq", opBinary, precEquality, "==", "operator=="},
	{"ge", opBinary, precRelational, ">=", "operator>="},
	{"gt", opBinary, precRelational, ">", "operator>"},
	{"ix", opIndex, precPostfix, "[]", "operator[]"},
	{"lS", opBinary, precAssign, "<<=", "operator<<="},
	{"le", opBinary, precRelational, "<=", "operator<="},
	{"ls", opBinary, precShift, "<<", "operator<<"},
	{"lt", opBinary, precRelational, "<", "operator<"},
	{"mI", opBinary, precAssign, "-=", "operator-="},
	{"mL", opBinary, precAssign, "*=", "operator*="},
	{"mi", opBinary, precAdditive, "-", "operator-"},
	{"ml", opBinary, precMultiplicative, "*", "operator*"},
	{"mm", opPostfix, precPostfix, "--", "operator--"},
	{"na", opNew, precUnary, "new[]", "operator new[]"},
	{"ne", opBinary, precEquality, "!=", "operator!="},
	{"ng", opPrefix, precUnary, "-", "operator-"},
	{"nt", opPrefix, precUnary, "!", "operator!"},
	{"nw", opNew, precUnary, "new", "operator new"},
	{"oR", opBinary, precAssign, "|=", "operator|="},
	{"oo", opBinary, precOrOr, "||", "operator||"},
	{"or", opBinary, precOr, "|", "operator|"},
	{"pL", opBinary, precAssign, "+=", "operator+="},
	{"pl", opBinary, precAdditive, "+", "operator+"},
	{"pm", opMember, precPtrMem, "->*", "operator->*"},
	{"pp", opPostfix, precPostfix, "++", "operator++"},
	{"ps", opPrefix, precUnary, "+", "operator+"},
	{"pt", opMember, precPostfix, "->", "operator->"},
	{"qu", opConditional, precConditional, "?", "operator?"},
	{"rM", opBinary, precAssign, "%=", "operator%="},
	{"rS", opBinary, precAssign, ">>=", "operator>>="},
	{"rc", opNamedCast, precPostfix, "reinterpret_cast", ""},
	{"rm", opBinary, precMultiplicative, "%", "operator%"},
	{"rs", opBinary, precShift, ">>", "operator>>"},
	{"sc", opNamedCast, precPostfix, "static_cast", ""},
	{"ss", opBinary, precSpaceship, "<=>", "operator<=>"},
	{"st", opOfType, precUnary, "sizeof ", ""},
	{"sz", opOfExpr, precUnary, "sizeof ", ""},
	{"te", opOfExpr, precPostfix, "typeid ", ""},
	{"ti", opOfType, precPostfix, "typeid ", ""},
}

// folds says that a fold expression can have the operator.
func (o *operator) folds() bool {
	return o.form == opBinary || o.form == opMember && strings.HasSuffix(o.symbol, "*")
}

// operator reads an operator's code, or nothing.
func (p *parser) operator() *operator {
	if len(p.src)-p.pos < 2 {
		return nil
	}
	code := p.src[p.pos : p.pos+2]
	i := sort.Search(len(operators), func(i int) bool { return operators[i].code >= code })
	if i == len(operators) || operators[i].code != code {
		return nil
	}
	p.pos += 2
	return &operators[i]
}

// operatorName reads
//
//	<operator-name> ::= <code> | cv <type> | li <source-name> | v <digit> <source-name>
func (p *parser) operatorName(state *nameState) ref {
	switch op := p.operator(); {
	case op != nil && op.form == opCCast:
		return p.conversion(state)
	case op != nil && op.name != "":
		if op.form == opNameOnly {
			p.needs22()
		}
		return p.name0(op.name)
	case op != nil:
		return p.fail()
	case p.acceptString("li"):
		return p.make(node{kind: kindLiteralOp, a: p.sourceName()})
	case p.look() == 'v' && isDigit(p.peek(1)):
		p.pos += 2
		return p.make(node{kind: kindConversion, a: p.sourceName()})
	}
	return p.fail()
}

// conversion reads the type of a conversion operator. Its template parameters stand for arguments that follow.
func (p *parser) conversion(state *nameState) ref {
	tryArgs, permit := p.tryArgs, p.permitForward
	p.tryArgs, p.permitForward = false, permit || state != nil
	typ := p.typ()
	p.tryArgs, p.permitForward = tryArgs, permit
	if state != nil {
		state.structor = true
	}
	return p.make(node{kind: kindConversion, a: typ})
}
