package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"":                             "",
		"int":                          "int",
		"Session *":                    "Session *",
		"const char *[]":               "const char *[]",
		"void () *":                    "void () *",
		"long unsigned int":            "long unsigned int",
		"shop::Stack<int>":             "shop::Stack<int>",
		"(anonymous namespace)::Cache": "(anonymous namespace)::Cache",
		"main()::{lambda(int)#1}":      "main()::{lambda(int)#1}",
		// libstdc++
		"std::map<int, Session*, std::less<int>, std::allocator<std::pair<int const, Session*> > >": "std::map<int, Session*>",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >":           "std::string",
		"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >":  "std::wstring",
		"std::basic_string_view<char, std::char_traits<char> >":                                     "std::string_view",
		"std::__cxx11::string": "std::string",
		"std::unordered_map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, Session, " +
			"std::hash<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, " +
			"std::equal_to<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, " +
			"std::allocator<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, Session> > >": "std::unordered_map<std::string, Session>",
		"std::set<int, std::greater<int>, std::allocator<int> >":                                                        "std::set<int, std::greater<int>>",
		"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >": "std::vector<std::vector<int>>",
		"std::vector<Session*, Pool<Session*> >":                                                                        "std::vector<Session*, Pool<Session*>>",
		"std::unique_ptr<Order, std::default_delete<Order> >":                                                           "std::unique_ptr<Order>",
		"std::unique_ptr<_IO_FILE, int (*)(_IO_FILE*)>":                                                                 "std::unique_ptr<_IO_FILE, int (*)(_IO_FILE*)>",
		"std::__cxx11::list<int, std::allocator<int> >":                                                                 "std::list<int>",
		"std::queue<int, std::deque<int, std::allocator<int> > >":                                                       "std::queue<int>",
		"std::queue<int, std::__cxx11::list<int, std::allocator<int> > >":                                               "std::queue<int, std::list<int>>",
		"std::priority_queue<int, std::vector<int, std::allocator<int> >, std::less<int> >":                             "std::priority_queue<int>",
		"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::'lambda'()>>>":                                 "std::thread",
		"std::function<void (int, Session*)>":                                                                           "std::function<void(int, Session*)>",
		"std::pair<int const, std::shared_ptr<Session> >":                                                               "std::pair<int const, std::shared_ptr<Session>>",
		"std::__shared_ptr<Session, (__gnu_cxx::_Lock_policy)2>":                                                        "std::__shared_ptr<Session>",
		"std::array<int, 3UL>": "std::array<int, 3>",
		"std::unique_ptr<Order [], std::default_delete<Order []> >": "std::unique_ptr<Order[]>",
		"std::array<int, 3>":                               "std::array<int, 3>",
		"std::allocator<int>":                              "std::allocator<int>",
		"Wrap<std::less<int> >":                            "Wrap<std::less<int>>",
		"const std::vector<int, std::allocator<int> > &":   "const std::vector<int> &",
		"std::vector<int, std::allocator<int> >::iterator": "std::vector<int>::iterator",
		// libc++
		"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >":                                                        "std::string",
		"std::__1::vector<int, std::__1::allocator<int> >":                                                                                             "std::vector<int>",
		"std::__1::map<int, Session *, std::__1::less<int>, std::__1::allocator<std::__1::pair<const int, Session *> > >":                              "std::map<int, Session*>",
		"std::__1::unordered_map<int, Session, std::__1::hash<int>, std::__1::equal_to<int>, std::__1::allocator<std::__1::pair<const int, Session>>>": "std::unordered_map<int, Session>",
		"std::__1::unique_ptr<int, std::__1::default_delete<int> >":                                                                                    "std::unique_ptr<int>",
		"std::__ndk1::list<int, std::__ndk1::allocator<int>>":                                                                                          "std::list<int>",
		// Rust
		"alloc::vec::Vec<app::Session, alloc::alloc::Global>":                      "Vec<app::Session>",
		"alloc::string::String":                                                    "String",
		"alloc::boxed::Box<app::Session, alloc::alloc::Global>":                    "Box<app::Session>",
		"core::option::Option<alloc::boxed::Box<app::Node, alloc::alloc::Global>>": "Option<Box<app::Node>>",
		"std::collections::hash::map::HashMap<u64, alloc::vec::Vec<u8, alloc::alloc::Global>, std::hash::random::RandomState>": "HashMap<u64, Vec<u8>>",
		"alloc::collections::btree::map::BTreeMap<u32, alloc::string::String, alloc::alloc::Global>":                           "BTreeMap<u32, String>",
		"std::sync::poison::mutex::Mutex<alloc::vec::Vec<app::Session, alloc::alloc::Global>>":                                 "Mutex<Vec<app::Session>>",
		"alloc::sync::Arc<dyn app::Handler, alloc::alloc::Global>":                                                             "Arc<dyn app::Handler>",
		"alloc::boxed::Box<(dyn app::Handler + core::marker::Send + core::marker::Sync), alloc::alloc::Global>":                "Box<(dyn app::Handler + Send + Sync)>",
		"&[alloc::string::String]":     "&[String]",
		"*const app::Session":          "*const app::Session",
		"(u32, alloc::string::String)": "(u32, String)",
		// malformed
		"std::vector<int":   "std::vector<int",
		"std::vector<int>>": "std::vector<int>>",
		"a)(":               "a)(",
		"operator<":         "operator<",
	} {
		assert.Equal(t, want, Short(name))
	}
	deep := strings.Repeat("a<", 1000) + strings.Repeat(">", 1000)
	assert.Equal(t, deep, Short(deep))
}
