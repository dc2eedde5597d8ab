package names

import (
	"cmp"
	"strings"
)

// Simplify returns the [Simple] name for a full one that another tool has demangled: Cache::add<int>
// for "bool Cache::add<int>(char) const [clone .cold]", and <&T as Debug>::fmt for the
// "_$LT$$RF$T$u20$as$u20$Debug$GT$::fmt::h0123456789abcdef" that a demangler of C++ makes of a name of
// Rust.
func Simplify(full string) string {
	if name, ok := fromCDemangler(full); ok {
		return name
	}
	if strings.IndexByte(full, '(') < 0 && strings.IndexByte(full, ' ') < 0 {
		return Undecorated(full) // names of C, Go and of Simple
	}
	s := simplifier{in: full}
	for s.pos < len(full) && !s.done {
		s.step()
	}
	return cmp.Or(strings.TrimSpace(string(s.out)), full)
}

// simplifier copies the name of a function, without the return type before it and the parameters
// after it.
type simplifier struct {
	in   string
	pos  int
	out  []byte // what was copied since the last blank, which may end the return type
	done bool
}

// step handles the next part: a bracket with its content, an operator or a character.
func (s *simplifier) step() {
	rest := s.in[s.pos:]
	switch c := rest[0]; {
	case c == '(':
		s.parenthesis()
	case c == '<' || c == '[' || c == '{':
		s.copy(bracketLength(rest))
	case c == ' ':
		s.blank()
	case s.atOperator():
		s.operator()
	default:
		s.copy(1)
	}
}

func (s *simplifier) copy(n int) {
	s.out = append(s.out, s.in[s.pos:s.pos+n]...)
	s.pos += n
}

// parenthesis handles one outside other brackets. Most begin the parameters.
func (s *simplifier) parenthesis() {
	rest := s.in[s.pos:]
	n := bracketLength(rest)
	before := s.last()
	switch {
	case strings.HasPrefix(rest, "(anonymous namespace)") || strings.HasPrefix(rest, "(anonymous class)") ||
		before == '.': // a method of Go: main.(*T).Read
		s.copy(n)
	case before == 0 && (strings.HasPrefix(rest, "(*") || strings.HasPrefix(rest, "(&")):
		s.pos += len(rest) - len(strings.TrimLeft(rest, "(*&")) // it returns a pointer: void (*f(int))(char)
	case string(s.out) == "decltype" || string(s.out) == "auto":
		s.copy(n)
	default:
		s.pos += n
		qualifiers := qualifiersLength(s.in[s.pos:])
		if s.done = !strings.HasPrefix(s.in[s.pos+qualifiers:], "::"); !s.done {
			s.out = append(s.out, "()"...) // of a local entity: f() const::Local::g
			s.copy(qualifiers)
		}
	}
}

// blank handles a blank outside brackets, which ends the return type or begins a suffix.
func (s *simplifier) blank() {
	rest := s.in[s.pos:]
	if strings.HasPrefix(rest, " [clone ") || strings.HasPrefix(rest, " (.") {
		s.done = true
		return
	}
	s.out = s.out[:0]
	s.pos++
}

// last is the last character that was copied; 0 if there is none.
func (s *simplifier) last() byte {
	if len(s.out) == 0 {
		return 0
	}
	return s.out[len(s.out)-1]
}

// atOperator reports whether the next word is "operator".
func (s *simplifier) atOperator() bool {
	const word = "operator"
	rest := s.in[s.pos:]
	if !strings.HasPrefix(rest, word) || len(rest) == len(word) || isIdentifier(rest[len(word)]) {
		return false
	}
	return !isIdentifier(s.last())
}

// operator copies the name of an operator: up to its template arguments or its parameters.
func (s *simplifier) operator() {
	s.copy(len("operator"))
	rest := s.in[s.pos:]
	for _, symbol := range [...]string{"()", "<=>", "<<=", "<<", "<=", "<"} {
		if strings.HasPrefix(rest, symbol) {
			s.copy(len(symbol))
			if strings.HasPrefix(s.in[s.pos:], " <") { // operator< <int>
				s.copy(1)
			}
			return
		}
	}
	if strings.HasPrefix(rest, "->") {
		s.copy(2)
	}
	for s.pos < len(s.in) && s.in[s.pos] != '(' { // a conversion has a type: operator unsigned long
		s.copy(bracketLength(s.in[s.pos:]))
	}
}

func isIdentifier(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// qualifiersLength is the length of what may follow the parameters of a function.
func qualifiersLength(s string) int {
	n := 0
	for again := true; again; {
		again = false
		for _, q := range [...]string{" const", " volatile", " restrict", " &&", " &", " noexcept"} {
			if strings.HasPrefix(s[n:], q) {
				n, again = n+len(q), true
			}
		}
	}
	return n
}

// bracketLength is the length of a bracket at the beginning of s, with its content; 1 if s begins
// with something else, and all of s if the bracket is not closed. In template arguments, expressions
// with > are in parentheses.
func bracketLength(s string) int {
	var open []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			open = append(open, c)
		case '<':
			if i == 0 || open[len(open)-1] == '<' {
				open = append(open, c)
			}
		case ')', ']', '}', '>':
			if c == '>' && (len(open) == 0 || open[len(open)-1] != '<' || s[i-1] == '-') {
				break
			}
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		if len(open) == 0 {
			return i + 1
		}
	}
	return len(s)
}
