package rustv0

// basicTypes maps a letter to its type.
var basicTypes = [...]string{
	'a': "i8", 'b': "bool", 'c': "char", 'd': "f64", 'e': "str", 'f': "f32",
	'h': "u8", 'i': "isize", 'j': "usize", 'l': "i32", 'm': "u32", 'n': "i128",
	'o': "u128", 'p': "_", 's': "i16", 't': "u16", 'u': "()", 'v': "...",
	'x': "i64", 'y': "u64", 'z': "!",
}

func basicType(c byte) string {
	if int(c) < len(basicTypes) {
		return basicTypes[c]
	}
	return ""
}

// typ reads <type>.
func (r *reader) typ() {
	defer r.leave()
	if !r.enter() {
		return
	}
	c := r.next()
	if name := basicType(c); name != "" {
		r.print(name)
		return
	}
	switch c {
	case 'A', 'S':
		r.array(c)
	case 'T':
		r.tuple()
	case 'R', 'Q':
		r.reference(c)
	case 'P':
		r.print("*const ")
		r.typ()
	case 'O':
		r.print("*mut ")
		r.typ()
	case 'F':
		r.bound(r.function)
	case 'D':
		r.bound(r.dyn)
		r.dynLifetime()
	case 'B':
		r.backref(r.typ)
	default:
		r.named()
	}
}

// named reads a type that is a path. Its first letter was read already.
func (r *reader) named() {
	if !r.failed {
		r.pos--
		r.path(true, false)
	}
}

func (r *reader) array(kind byte) {
	r.print("[")
	r.typ()
	if kind == 'A' {
		r.print("; ")
		r.constant()
	}
	r.print("]")
}

func (r *reader) tuple() {
	r.print("(")
	if r.list(", ", r.typ) == 1 {
		r.print(",")
	}
	r.print(")")
}

func (r *reader) reference(kind byte) {
	r.print("&")
	if r.accept('L') {
		if n := r.base62(); n > 0 {
			r.lifetime(n)
			r.print(" ")
		}
	}
	if kind == 'Q' {
		r.print("mut ")
	}
	r.typ()
}

// bound calls within, which may bind lifetimes by for<'a, 'b>, and ends their scope.
func (r *reader) bound(within func()) {
	outer := r.lifetimes
	within()
	r.lifetimes = outer
}

func (r *reader) binder() {
	n := r.tagged('G')
	if n == 0 {
		return
	}
	if n >= uint64(len(r.in)) { // real names refer to each lifetime
		r.fail()
		return
	}
	r.print("for<")
	for i := range n {
		r.lifetimes++
		if i > 0 {
			r.print(", ")
		}
		r.lifetime(1)
	}
	r.print("> ")
}

// function reads <fn-sig>.
func (r *reader) function() {
	r.binder()
	if r.accept('U') {
		r.print("unsafe ")
	}
	if r.accept('K') {
		r.print(`extern "` + r.abi() + `" `)
	}
	r.print("fn(")
	r.list(", ", r.typ)
	r.print(")")
	if !r.accept('u') {
		r.print(" -> ")
		r.typ()
	}
}

// abi reads the name of a calling convention. The mangling writes its hyphens as underscores.
func (r *reader) abi() string {
	if r.accept('C') {
		return "C"
	}
	name, punycode := r.bytes()
	if punycode {
		r.fail()
	}
	b := []byte(name)
	for i := range b {
		if b[i] == '_' {
			b[i] = '-'
		}
	}
	return string(b)
}

func (r *reader) dyn() {
	r.print("dyn ")
	r.binder()
	r.list(" + ", r.dynTrait)
}

func (r *reader) dynTrait() {
	open := r.path(true, true)
	for !r.failed && r.accept('p') {
		if open {
			r.print(", ")
		} else {
			r.print("<")
		}
		open = true
		r.print(r.identifier())
		r.print(" = ")
		r.typ()
	}
	if open {
		r.print(">")
	}
}

func (r *reader) dynLifetime() {
	if !r.accept('L') {
		r.fail()
		return
	}
	if n := r.base62(); n > 0 {
		r.print(" + ")
		r.lifetime(n)
	}
}
