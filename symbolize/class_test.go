package symbolize

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClasses: what functions do in an allocation, by the embedded rules.
func TestClasses(t *testing.T) {
	rules := DefaultRules()
	for class, functions := range map[Class][]string{
		ClassAllocator: {
			"malloc", "calloc", "__libc_malloc", "posix_memalign", "strdup", "__strdup", "xmalloc", "operator new", "operator new[]",
			"std::allocator_traits<std::allocator<int> >::allocate", "std::__new_allocator<char>::allocate",
			"__gnu_cxx::new_allocator<int>::allocate", "__rust_alloc", "alloc::raw_vec::finish_grow", "g_malloc", "CRYPTO_malloc",
			"PyObject_Malloc", "_PyObject_GC_NewVar", "PyType_GenericAlloc", "npy_alloc_cache", "node::UncheckedMalloc",
			"Eigen::internal::aligned_malloc", "c10::alloc_cpu", "tsl::port::AlignedMalloc",
			"tensorflow::Tensor::FromProto", "tensorflow::(anonymous namespace)::FromProtoField<float>", "tensorflow::core::Arena::Arena",
			"tensorflow::OpKernelContext::allocate_output", "tensorflow::ThreadPoolDevice::MakeTensorFromProto",
			"_upb_Arena_SlowMalloc_dont_copy_me__upb_internal_use_only",
		},
		ClassRuntime: {
			"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone3", "_dl_init",
			"std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>", "std::__cxx11::basic_string<char>::_M_create",
			"void std::__introsort_loop<int*, long>", "core::ops::function::FnOnce::call_once", "hashbrown::raw::RawTable<T,A>::reserve_rehash",
			"__GI__dl_catch_exception", "_dl_open", "dl_open_worker", "___dlopen", "dlopen_doit", "_dlfo_mappings_segment_allocate", "__pthread_create_2_1",
			"allocate_dtv", "__GI__dl_allocate_tls", "builtin___import___impl", "insertion_resize", "v8::internal::(anonymous namespace)::ConstructBuffer",
			"PyObject_Call", "_PyObject_MakeTpCall", "ffi_call", "Builtins_InterpreterEntryTrampoline",
			"v8::internal::Builtin_HandleApiCall", "uv_run", "node::Buffer::New", "tp_new_wrapper",
			"google::protobuf::MessageLite::CopyConstruct", "tensorflow::TensorProto::MergeImpl", "tensorflow::NodeDef::NodeDef", "shop::Order::MergeImpl",
			"tensorflow::AttrValue_ListValue::CopyFrom", "upb_strtable_insert", "pybind11::cpp_function::dispatcher", "pybind11::detail::argument_loader<int>::call<void>",
		},
		ClassInterpreter: {"_PyEval_EvalFrameDefault", "_PyEval_EvalFrame", "_PyEval_Vector", "PyEval_EvalFrameEx", "vm_exec_core", "Perl_runops_standard"},
		ClassProfiler:    {"tcmalloc::allocate_full_malloc_oom", "MallocHook::InvokeNewHookSlow", "prof_backtrace", "je_prof_tctx_create", "tc_malloc"},
		ClassApplication: {
			"main", "Cache::insert", "(anonymous namespace)::leak", "mallocate", "my_malloc_pool", "operator new_thing", "stdlib::f",
			"app::std::f", "Vector::push_back", "PyInit_mymodule", "tensorflow::NodeDefBuilder::Finalize", "tensorflow::TensorArray::Read",
			"tensorflow::ConstantOp::ConstantOp", "google::protobuf::DescriptorPool::FindFileByName", "MergeImpl", "leakBuffers", "dl_cache_insert", "main.main", "myapp::operator new_cache",
		},
	} {
		for _, f := range functions {
			require.Equal(t, class, rules.classify(f, "program"), "%s", f)
		}
	}
}

// TestClassesOfNamelessFrames: without a function the module tells.
func TestClassesOfNamelessFrames(t *testing.T) {
	rules := DefaultRules()
	for module, want := range map[string]Class{
		"libtcmalloc.so.4": ClassProfiler, "libjemalloc.so.2": ClassProfiler, "libc.so.6": ClassRuntime, "libstdc++.so.6.0.30": ClassRuntime,
		"python3.11": ClassRuntime, "libffi.so.8": ClassRuntime, "program": ClassApplication, "libcurl.so.4": ClassApplication, "": ClassApplication,
	} {
		require.Equal(t, want, rules.classify("", module), "%s", module)
	}
	require.Equal(t, ClassApplication, rules.classify("qsort_r", "libc.so.6"), "a name goes before what its module is")
	require.Equal(t, ClassProfiler, rules.classify("anything", "libtcmalloc_minimal.so.4"), "but for the recording allocator's own")
}

func TestRulesThatAreRefused(t *testing.T) {
	for line, msg := range map[string]string{
		"allocator":                 "want CLASS function|module|unnamed REGEXP",
		"allocator function":        "want CLASS function|module|unnamed REGEXP",
		"allokator function ^f$":    `unknown class "allokator"`,
		"allocator fonction ^f$":    `cannot match "fonction"`,
		"allocator function ^(f":    "missing closing )",
		"allocator function ^f$ ++": "invalid nested repetition operator",
	} {
		rules, err := ParseRules("# comment\n\nruntime module ^libc\n"+line+"\n", "my.rules")
		require.Nil(t, rules)
		require.ErrorContains(t, err, "my.rules:4: ", "%q", line)
		require.ErrorContains(t, err, msg)
	}
}

func TestFirstRuleCounts(t *testing.T) {
	rules, err := ParseRules("application function ^malloc_of_mine$\nallocator function ^malloc\n  runtime\tmodule ^lib a b$", "r")
	require.NoError(t, err)
	require.Equal(t, ClassApplication, rules.classify("malloc_of_mine", ""))
	require.Equal(t, ClassAllocator, rules.classify("malloc", ""))
	require.Equal(t, ClassRuntime, rules.classify("f", "lib a b"), "an expression may hold blanks")
}

// stackOf makes symbols of one stack: of each location the functions, innermost first; none for a nameless one.
func stackOf(locations ...[]string) (*Symbols, []LocationID) {
	s := &Symbols{Modules: []Module{{Path: "/bin/program"}, {Path: "/lib/libc.so.6"}}}
	var stack []LocationID
	for i, functions := range locations {
		l := Location{Module: 0}
		if functions == nil {
			l.Module = 1
		}
		for _, f := range functions {
			l.Frames = append(l.Frames, Frame{Function: f})
		}
		s.Locations = append(s.Locations, l)
		stack = append(stack, LocationID(i))
	}
	return s, stack
}

func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		stack [][]string
		want  FrameRef
	}{
		"the caller of malloc":        {[][]string{{"malloc"}, {"leak"}, {"main"}}, FrameRef{1, 0}},
		"behind containers":           {[][]string{{"operator new"}, {"std::vector<int>::push_back"}, {"leak"}, {"main"}}, FrameRef{2, 0}},
		"an inlined function":         {[][]string{{"malloc"}, {"std::allocator<int>::allocate", "std::vector<int>::push_back", "Cache::add", "main"}}, FrameRef{1, 2}},
		"nameless code of the libc":   {[][]string{{"malloc"}, nil, {"leak"}}, FrameRef{2, 0}},
		"runtime, for want of others": {[][]string{{"malloc"}, {"std::thread::thread"}, {"start_thread"}}, FrameRef{1, 0}},
		"nameless runtime":            {[][]string{{"malloc"}, nil}, FrameRef{1, -1}},
		"only allocators: the leaf":   {[][]string{{"malloc", "calloc"}, {"operator new"}}, FrameRef{0, 0}},
		"only the profiler: the leaf": {[][]string{{"tc_malloc"}}, FrameRef{0, 0}},
		"the profiler is passed over": {[][]string{{"MallocHook::InvokeNewHook"}, {"tc_malloc"}, {"leak"}}, FrameRef{2, 0}},
		"a plugin that is opened":     {[][]string{{"calloc"}, {"_dl_new_object"}, {"dl_open_worker"}, {"__GI__dl_catch_exception"}, {"___dlopen"}, {"loadPlugin"}, {"main"}}, FrameRef{5, 0}},
		"a thread that is started":    {[][]string{{"calloc"}, {"allocate_dtv"}, {"__GI__dl_allocate_tls"}, {"allocate_stack"}, {"__pthread_create_2_1"}, {"startWorker"}}, FrameRef{5, 0}},
		// An asyncio task, which is C, runs Python code that fills a list: the task is not to blame.
		"Python below C":             {[][]string{{"realloc"}, {"list_resize"}, {"list_append"}, {"_PyEval_EvalFrameDefault"}, {"_PyEval_Vector"}, {"task_step_impl"}, {"main"}}, FrameRef{1, 0}},
		"an import, for want of any": {[][]string{{"malloc"}, {"PyUnicode_New"}, {"_PyEval_EvalFrameDefault"}, {"PyImport_ImportModuleLevelObject"}, {"builtin___import___impl"}}, FrameRef{1, 0}},
		"C below Python":             {[][]string{{"malloc"}, {"array_new"}, {"type_call"}, {"_PyEval_EvalFrameDefault"}, {"main"}}, FrameRef{1, 0}},
		// As recorded from TensorFlow 2.21 (scripts/e2e-tensorflow.sh).
		"a copied TensorFlow node": {[][]string{
			{"malloc"}, {"google::protobuf::internal::ArenaStringPtr::Set<>"}, {"tensorflow::TensorProto::MergeImpl"},
			{"google::protobuf::MessageLite::CopyConstruct"}, {"tensorflow::AttrValue::MergeImpl"}, {"tensorflow::NodeDef::NodeDef"},
			{"tensorflow::GraphExecutionState::Extend"}, {"tensorflow::DirectSession::ExtendLocked"},
		}, FrameRef{6, 0}},
		"a TensorFlow constant": {[][]string{
			{"posix_memalign"}, {"tsl::port::AlignedMalloc"}, {"tensorflow::(anonymous namespace)::FromProtoField<float>"},
			{"tensorflow::Tensor::FromProto"}, {"tensorflow::ThreadPoolDevice::MakeTensorFromProto"}, {"tensorflow::ConstantOp::ConstantOp"},
		}, FrameRef{5, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s, stack := stackOf(c.stack...)
			ref, ok := NewBlamer(s, nil).Blame(stack)
			require.True(t, ok)
			require.Equal(t, c.want, ref)
		})
	}
	s, stack := stackOf([]string{"calloc"}, []string{"v8::internal::Builtin_ArrayBufferConstructor"}, nil, []string{"embedder"})
	s.Locations[2].Module, s.Locations[2].Reason = NoModule, ReasonAnonymous
	ref, _ := NewBlamer(s, nil).Blame(stack)
	require.Equal(t, FrameRef{1, 0}, ref, "the nearest name below generated code without names")
	ref, _ = NewBlamer(s, nil).Blame([]LocationID{0, 2, 3})
	require.Equal(t, FrameRef{1, -1}, ref, "which is to blame if there is none")
	s, _ = stackOf()
	_, ok := NewBlamer(s, nil).Blame(nil)
	require.False(t, ok, "an empty stack")
}

func TestStableNames(t *testing.T) {
	classes := map[string]bool{}
	for c := range Class(len(classNames)) {
		require.NotEmpty(t, c.String())
		classes[c.String()] = true
	}
	require.Len(t, classes, len(classNames))
	reasons := map[string]bool{}
	for r := range Reason(len(reasonNames)) {
		reasons[r.String()] = true
		require.Equal(t, r == ReasonNone, r.Explain() == "", "%s", r)
	}
	require.Len(t, reasons, int(ReasonMalformed)+1)
	require.Equal(t, []string{"dwarf", "symtab", "dynsym", "perf-map", "embedded", "jitdump"}, sourceNames[SourceDWARF:])
}
