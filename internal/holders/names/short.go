package names

import "strings"

// Short returns a type of C++ or Rust without what says nothing to its reader: allocators, hashes, comparisons,
// traits of characters, inline namespaces, and the modules of Rust's standard library.
//
//	std::map<int, Session*, std::less<int>, std::allocator<std::pair<int const, Session*> > >
//	is std::map<int, Session*>
//	alloc::vec::Vec<app::Session, alloc::alloc::Global>                                        is  Vec<app::Session>
func Short(name string) string {
	p := typeParser{rest: name}
	short, ok := p.list("")
	if !ok {
		return name
	}
	return strings.Join(short, ", ")
}

// typeParser reads names of types.
type typeParser struct {
	rest  string
	depth int
}

// maxTypeDepth limits templates within each other.
const maxTypeDepth = 100

// list reads types that are separated by commas, up to a closing bracket, which it consumes, or to the end if
// closing is "".
func (p *typeParser) list(closing string) (list []string, ok bool) {
	if p.depth++; p.depth > maxTypeDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	for {
		one, ok := p.one()
		if !ok {
			return nil, false
		}
		list = append(list, one)
		switch {
		case p.rest == "":
			return list, closing == ""
		case p.rest[0] == ',':
			p.rest = strings.TrimLeft(p.rest[1:], " ")
		case closing != "" && p.rest[:1] == closing:
			p.rest = p.rest[1:]
			return list, true
		default:
			return nil, false
		}
	}
}

// one reads a type: "std::vector<int>::iterator const*". It may have several templates.
func (p *typeParser) one() (string, bool) {
	var b strings.Builder
	for {
		n := strings.IndexAny(p.rest, "<>(),[]{}")
		if n < 0 {
			n = len(p.rest)
		}
		text := p.rest[:n]
		p.rest = p.rest[n:]
		open := p.rest
		if open == "" || strings.ContainsAny(open[:1], ",>)]}") {
			b.WriteString(shortName(text))
			return strings.TrimRight(b.String(), " "), true
		}
		closing := map[byte]string{'<': ">", '(': ")", '[': "]", '{': "}"}[open[0]]
		p.rest = p.rest[1:]
		if closing != ">" && strings.HasPrefix(p.rest, closing) { // "()"
			p.rest = p.rest[1:]
			b.WriteString(shortName(text) + open[:2])
			continue
		}
		args, ok := p.list(closing)
		if !ok {
			return "", false
		}
		if closing != ">" {
			b.WriteString(shortName(text) + open[:1] + strings.Join(args, ", ") + closing)
			continue
		}
		b.WriteString(shortTemplate(text, args))
	}
}

// inline lists namespaces that programs do not write, and names that only compilers write.
var inline = strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::", "std::__ndk1::", "std::")

// shortName returns a name without inline namespaces and Rust's modules. It may have several words.
func shortName(name string) string {
	words := strings.Split(inline.Replace(name), " ")
	for i, word := range words {
		path := strings.TrimLeft(word, "&*")
		last := path[strings.LastIndex(path, ":")+1:]
		if isRustStd(path) && last != "" && last[0] >= 'A' && last[0] <= 'Z' {
			words[i] = word[:len(word)-len(path)] + last
		}
	}
	return strings.Join(words, " ")
}

func isRustStd(path string) bool {
	for _, crate := range []string{"alloc::", "core::", "std::", "hashbrown::"} {
		if strings.HasPrefix(path, crate) {
			return true
		}
	}
	return false
}

// defaults lists types that are left out at the end of the arguments of a template.
var defaults = map[string]bool{
	"std::allocator": true, "std::pmr::polymorphic_allocator": true, "std::less": true, "std::hash": true,
	"std::equal_to": true, "std::char_traits": true, "std::default_delete": true, "Global": true,
	"RandomState": true, "DefaultHashBuilder": true, "(__gnu_cxx::_Lock_policy)2": true,
	"(__gnu_cxx::_Lock_policy)1": true,
}

// adapters have a container as their second argument.
var adapters = map[string]string{
	"std::queue": "std::deque", "std::stack": "std::deque", "std::priority_queue": "std::vector",
}

// aliases are names of templates for one type.
var aliases = map[string]string{
	"std::basic_string<char>": "std::string", "std::basic_string<wchar_t>": "std::wstring",
	"std::basic_string<char8_t>": "std::u8string", "std::basic_string<char16_t>": "std::u16string",
	"std::basic_string<char32_t>": "std::u32string", "std::basic_string_view<char>": "std::string_view",
	"std::basic_string_view<wchar_t>": "std::wstring_view",
}

// templates are what has other names for those who write programs.
var templates = map[string]string{"std::thread::_State_impl": "std::thread"}

// spaces removes differences between compilers in the arguments of templates. clang writes "Session *" and "void ()",
// gcc "Session*" and "void()".
var spaces = strings.NewReplacer(
	" (*", " (*", " (anonymous", " (anonymous", " *", "*", " &", "&", " [", "[", " (", "(",
)

// shortTemplate returns a template with arguments, which are short.
func shortTemplate(text string, args []string) string {
	name := shortName(text)
	if alias, ok := templates[name]; ok {
		return alias
	}
	kept := args
	for i, a := range kept {
		kept[i] = spaces.Replace(a)
		if number := strings.TrimRight(a, "UL"); number != "" && strings.Trim(number, "0123456789") == "" {
			kept[i] = number
		}
	}
	for len(kept) > 1 && defaults[templateOf(kept[len(kept)-1])] {
		kept = kept[:len(kept)-1]
	}
	if of := adapters[name]; len(kept) == 2 && of != "" && kept[1] == of+"<"+kept[0]+">" {
		kept = kept[:1]
	}
	start := strings.LastIndex(name, " ") + 1
	whole := name[start:] + "<" + strings.Join(kept, ", ") + ">"
	if alias, ok := aliases[whole]; ok {
		whole = alias
	}
	return name[:start] + whole
}

// templateOf returns the name of a template without its arguments.
func templateOf(name string) string {
	before, _, _ := strings.Cut(name, "<")
	return strings.TrimRight(before, " ")
}
