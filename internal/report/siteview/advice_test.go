package siteview

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/symbolize"
)

func TestAdviceForKnownCauses(t *testing.T) {
	for function, want := range map[string]string{
		"TF_FinishOperation":                           "tf.Graph.finalize()",
		"tensorflow::Graph::AddNode":                   "tf.Graph.finalize()",
		"tensorflow::GraphExecutionState::Extend":      "tf.Graph.finalize()",
		"TF_ExtendSession":                             "tf.Graph.finalize()",
		"TF_SetAttrValueProto":                         "tf.Graph.finalize()",
		"tensorflow::DirectSessionFactory::NewSession": "sessions",
		"tensorflow::DirectSession::CreateExecutors":   "feed and fetch the same tensors, and call tf.Graph.finalize()",
		"tensorflow::VarHandleOp::Compute":             "variables",
		"at::native::empty_cpu":                        "tensors",
		"list_resize":                                  "Python list",
		"PyDict_SetItem":                               "Python dict",
		"dlopen":                                       "dlclose",
		"__GI__dl_open":                                "dlclose",
		"r_object":                                     "modules are imported",
		"_PyCode_New":                                  "modules are imported",
		"type_new_alloc":                               "classes are created",
		"insertion_resize":                             "Python dict",
		"__pthread_create_2_1":                         "threads",
		"tsl::BFCAllocator::Extend":                    "memory pool",
		"allocate_stack":                               "threads",
		"std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>": "container grows",
		"v8::internal::MemoryAllocator::AllocatePage":                           "heap snapshots",
		"node::Buffer::New":  "outside V8's heap",
		"(external)":         "does not show which functions",
		"runtime.malg":       "profiles of the goroutines",
		"runtime.gopark":     "goroutines wait here",
		"time.AfterFunc":     "call Stop",
		"context.WithCancel": "call the cancel function",
		"main":               "",
	} {
		got := OfRun(&baseline.Site{Frames: []symbolize.Frame{{Function: "std::allocate"}, {Function: function}}}, 1).Advice(true)
		if want == "" {
			require.Empty(t, got)
		}
		require.Contains(t, got, want, function)
	}
}

// TestAContainerGrowsMoreThanOnce: elements are added to a container more than once. A container that gets its size at
// once, by a constructor, reserve or resize, may be one of many.
func TestAContainerGrowsMoreThanOnce(t *testing.T) {
	advice := func(function string, resized bool) string {
		name := "std::vector<char, std::allocator<char> >::" + function
		return OfRun(&baseline.Site{Frames: []symbolize.Frame{{Function: name}}}, 1).Advice(resized)
	}
	require.Contains(t, advice("push_back", true), "container grows")
	require.Empty(t, advice("push_back", false))
	for _, sized := range []string{"reserve", "resize", "_M_default_append", "_M_fill_insert", "vector", "append"} {
		require.Empty(t, advice(sized, true), sized)
	}
}

// TestTheContainerGrowsNotItsElements: an element that a container makes has memory of its own.
func TestTheContainerGrowsNotItsElements(t *testing.T) {
	const emplace = "std::vector<Order, std::allocator<Order> >::emplace_back<int&>"
	for stack, grows := range map[string]bool{
		"operator new;" + emplace + ";handle": true,
		"operator new;std::__new_allocator<Order>::allocate;std::_Vector_base<Order>::_M_allocate;" + emplace:        true,
		"operator new;std::__cxx11::basic_string<char>::_M_create;std::__cxx11::basic_string<char>::push_back":       true,
		"operator new;std::__cxx11::basic_string<char, std::allocator<char> >::_M_construct;Order::Order;" + emplace: false,
		"operator new;Order::Order;std::allocator_traits<std::allocator<Order> >::construct<Order, int&>;" + emplace: false,
		"malloc;load;" + emplace: false,
	} {
		site := baseline.Site{}
		for function := range strings.SplitSeq(stack, ";") {
			site.Frames = append(site.Frames, symbolize.Frame{Function: function})
		}
		require.Equal(t, grows, strings.Contains(OfRun(&site, 1).Advice(true), "container grows"), stack)
	}
}

// TestGrowthBesideTheHeapHasAdvice, by the module of the process that allocates memory outside the
// heap.
func TestGrowthBesideTheHeapHasAdvice(t *testing.T) {
	for module, want := range map[string]string{
		"/usr/bin/python3.11": "built-in engine", "/usr/lib/libpython3.12.so.1.0": "built-in engine", "/usr/bin/node": "heap snapshots",
		"/usr/lib/jvm/lib/server/libjvm.so": "jcmd", "/opt/server": "",
	} {
		got := AdviceBeside(&symbolize.Symbols{Modules: []symbolize.Module{{Path: module}}}, false)
		if want == "" {
			require.Empty(t, got, module)
		}
		require.Contains(t, got, want, module)
	}
}

func TestEveryAdviceHasASource(t *testing.T) {
	for _, a := range advices() {
		require.True(t, strings.HasPrefix(a.source, "https://"), a.text)
		require.NotContains(t, withoutLines.ReplaceAllString(a.text, ""), "[")
	}
	_, err := parseAdvice("function a\ntext only\n")
	require.ErrorContains(t, err, "want a pattern, the advice and its source")
	_, err = parseAdvice("frame a\ntext\nhttps://x\n")
	require.ErrorContains(t, err, "want function, container, resized, module, beside or heap")
}

func TestOwnHeap(t *testing.T) {
	for module, want := range map[string]string{
		"/usr/bin/node": "V8's heap", "/usr/lib/libnode.so.115": "V8's heap", "/opt/jdk/lib/server/libjvm.so": "the heap of Java",
		"/usr/bin/nodewatch": "", "/usr/bin/python3.11": "",
	} {
		s := &symbolize.Symbols{Modules: []symbolize.Module{{Path: "/lib/libc.so.6"}, {Path: module}}}
		require.Equal(t, want, OwnHeap(s), module)
	}
}
