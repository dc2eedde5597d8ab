package itanium

import (
	"sort"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// form is the syntax of an operator: its operands and their order.
type form uint8

const (
	opPrefix  form = iota // @x
	opPostfix             // x@, or @x after _
	opBinary              // x @ y
	opIndex               // x[y]
	opMember              // x.y, x->y, x.*y
	opNew
	opDelete
	opCall        // x(…)
	opCCast       // (type)x
	opConditional // x ? y : z
	opNameOnly    // only in the name of a function
	opNamedCast   // cast<type>(x)
	opOfType      // sizeof (type)
	opOfExpr      // sizeof (x)
)

// operator is an <operator-name>.
type operator struct {
	code   string
	form   form
	symbol string
	name   string // of the function, "" if there is none
}

// operators are sorted by code.
var operators = [...]operator{
	{"aN", opBinary, "&=", "operator&="},
	{"aS", opBinary, "=", "operator="},
	{"aa", opBinary, "&&", "operator&&"},
	{"ad", opPrefix, "&", "operator&"},
	{"an", opBinary, "&", "operator&"},
	{"at", opOfType, "alignof ", ""},
	{"az", opOfExpr, "alignof ", ""},
	{"cc", opNamedCast, "const_cast", ""},
	{"cl", opCall, "()", "operator()"},
	{"cm", opBinary, ",", "operator,"},
	{"co", opPrefix, "~", "operator~"},
	{"cv", opCCast, "", ""},
	{"dV", opBinary, "/=", "operator/="},
	{"da", opDelete, "delete[]", "operator delete[]"},
	{"dc", opNamedCast, "dynamic_cast", ""},
	{"de", opPrefix, "*", "operator*"},
	{"dl", opDelete, "delete", "operator delete"},
	{"ds", opMember, ".*", ""},
	{"dt", opMember, ".", ""},
	{"dv", opBinary, "/", "operator/"},
	{"eO", opBinary, "^=", "operator^="},
	{"eo", opBinary, "^", "operator^"},
	{"eq", opBinary, "==", "operator=="},
	{"ge", opBinary, ">=", "operator>="},
	{"gt", opBinary, ">", "operator>"},
	{"ix", opIndex, "[]", "operator[]"},
	{"lS", opBinary, "<<=", "operator<<="},
	{"le", opBinary, "<=", "operator<="},
	{"ls", opBinary, "<<", "operator<<"},
	{"lt", opBinary, "<", "operator<"},
	{"mI", opBinary, "-=", "operator-="},
	{"mL", opBinary, "*=", "operator*="},
	{"mi", opBinary, "-", "operator-"},
	{"ml", opBinary, "*", "operator*"},
	{"mm", opPostfix, "--", "operator--"},
	{"na", opNew, "new[]", "operator new[]"},
	{"ne", opBinary, "!=", "operator!="},
	{"ng", opPrefix, "-", "operator-"},
	{"nt", opPrefix, "!", "operator!"},
	{"nw", opNew, "new", "operator new"},
	{"oR", opBinary, "|=", "operator|="},
	{"oo", opBinary, "||", "operator||"},
	{"or", opBinary, "|", "operator|"},
	{"pL", opBinary, "+=", "operator+="},
	{"pl", opBinary, "+", "operator+"},
	{"pm", opMember, "->*", "operator->*"},
	{"pp", opPostfix, "++", "operator++"},
	{"ps", opPrefix, "+", "operator+"},
	{"pt", opMember, "->", "operator->"},
	{"qu", opConditional, "?", "operator?"},
	{"rM", opBinary, "%=", "operator%="},
	{"rS", opBinary, ">>=", "operator>>="},
	{"rc", opNamedCast, "reinterpret_cast", ""},
	{"rm", opBinary, "%", "operator%"},
	{"rs", opBinary, ">>", "operator>>"},
	{"sc", opNamedCast, "static_cast", ""},
	{"ss", opNameOnly, "<=>", "operator<=>"},
	{"st", opOfType, "sizeof ", ""},
	{"sz", opOfExpr, "sizeof ", ""},
	{"te", opOfExpr, "typeid ", ""},
	{"ti", opOfType, "typeid ", ""},
}

// folds reports whether a fold expression can have the operator.
func (o *operator) folds() bool {
	return o.form == opBinary || o.form == opMember && strings.HasSuffix(o.symbol, "*")
}

// operator reads the code of an operator. It returns nil, and reads nothing, if there is none.
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
func (p *parser) operatorName(state *nameState) ast.Ref {
	switch op := p.operator(); {
	case op != nil && op.form == opCCast:
		return p.conversion(state)
	case op != nil && op.name != "":
		return p.text(op.name)
	case op != nil:
		return p.fail()
	case p.acceptString("li"):
		return p.Make(ast.Node{Kind: ast.LiteralOp, A: p.sourceName()})
	case p.look() == 'v' && isDigit(p.peek(1)):
		p.pos += 2
		return p.Make(ast.Node{Kind: ast.Conversion, A: p.sourceName()})
	}
	return p.fail()
}

// conversion reads the type of a conversion operator. The type may refer to template arguments that
// follow it.
func (p *parser) conversion(state *nameState) ast.Ref {
	tryArgs, permit := p.tryArgs, p.permitForward
	p.tryArgs, p.permitForward = false, permit || state != nil
	typ := p.typ()
	p.tryArgs, p.permitForward = tryArgs, permit
	if state != nil {
		state.structor = true
	}
	return p.Make(ast.Node{Kind: ast.Conversion, A: typ})
}
