package class

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize"
)

// TestClasses: the default rules classify functions.
func TestClasses(t *testing.T) {
	rules := DefaultRules()
	for class, functions := range map[Class][]string{
		Allocator: {
			"malloc", "calloc", "__libc_malloc", "__interceptor_malloc", "___interceptor_realloc", "__interceptor_strdup", "posix_memalign", "strdup", "__strdup", "xmalloc", "operator new", "operator new[]",
			"std::allocator_traits<std::allocator<int> >::allocate", "std::__new_allocator<char>::allocate",
			"__gnu_cxx::new_allocator<int>::allocate", "__rust_alloc", "alloc::raw_vec::finish_grow", "g_malloc", "CRYPTO_malloc",
			"PyObject_Malloc", "_PyObject_GC_NewVar", "PyType_GenericAlloc", "npy_alloc_cache", "node::UncheckedMalloc",
			"runtime.mallocgc", "runtime.mallocgcSmallNoscan", "runtime.makeslice", "runtime.mapassign_faststr", "runtime.gopark", "runtime.chanrecv1",
			"internal/runtime/maps.(*Map).growToTable", "internal/runtime/maps.newarray", "reflect.growslice",
			"Eigen::internal::aligned_malloc", "c10::alloc_cpu", "tsl::port::AlignedMalloc",
			"tensorflow::Tensor::FromProto", "tensorflow::(anonymous namespace)::FromProtoField<float>", "tensorflow::core::Arena::Arena",
			"tensorflow::OpKernelContext::allocate_output", "tensorflow::ThreadPoolDevice::MakeTensorFromProto",
			"os::malloc", "jdk.internal.misc.Unsafe.allocateMemory0",
			"_upb_Arena_SlowMalloc_dont_copy_me__upb_internal_use_only",
			"__rustc::__rust_alloc", "<alloc::raw_vec::RawVec<u8>>::grow_one", "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc",
		},
		Runtime: {
			"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone3", "_dl_init",
			"std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>", "std::__cxx11::basic_string<char>::_M_create",
			"void std::__introsort_loop<int*, long>", "core::ops::function::FnOnce::call_once", "hashbrown::raw::RawTable<T,A>::reserve_rehash",
			"__GI__dl_catch_exception", "_dl_open", "dl_open_worker", "___dlopen", "dlopen_doit", "_dlfo_mappings_segment_allocate", "__pthread_create_2_1",
			"allocate_dtv", "__GI__dl_allocate_tls", "builtin___import___impl", "insertion_resize", "v8::internal::(anonymous namespace)::ConstructBuffer",
			"PyObject_Call", "_PyObject_MakeTpCall", "ffi_call", "Builtins_InterpreterEntryTrampoline",
			"v8::internal::Builtin_HandleApiCall", "uv_run", "node::Buffer::New", "tp_new_wrapper",
			"google::protobuf::MessageLite::CopyConstruct", "tensorflow::TensorProto::MergeImpl", "tensorflow::NodeDef::NodeDef", "shop::Order::MergeImpl",
			"tokio::runtime::task::core::Cell<T,S>::new", "lru::LruCache<K,V>::put", "runtime.malg", "runtime.main", "net.(*conn).Read", "syscall.Accept4", "log/slog.(*Logger).Info", "google.golang.org/protobuf/proto.Unmarshal", "internal/sync.(*HashTrieMap[...]).Swap", "strings.(*Builder).grow", "bytes.growSlice", "encoding/json.Unmarshal", "maps.Copy[...]",
			"java.util.zip.Deflater.init", "jdk.internal.ref.Cleaner.create", "Java_java_util_zip_Deflater_init",
			"tensorflow::AttrValue_ListValue::CopyFrom", "upb_strtable_insert", "_upb_Map_New", "_upb_Decoder_DecodeMessage", "upb_Decode", "pybind11::cpp_function::dispatcher", "pybind11::detail::argument_loader<int>::call<void>",
		},
		Interpreter: {
			"net/http.HandlerFunc.ServeHTTP", "net/http.(*ServeMux).ServeHTTP", "net/http.(*conn).serve", "net/http.(*Server).Serve", "net/http.(*http2serverConn).runHandler", "net/http.serverHandler.ServeHTTP",
			"github.com/go-chi/chi/v5.(*Mux).routeHTTP", "github.com/gin-gonic/gin.(*Context).Next", "google.golang.org/grpc.(*Server).processUnaryRPC",
			"tokio::runtime::park::CachedParkThread::block_on", "<tokio::runtime::task::harness::Harness<F,S>>::poll",
			"_PyEval_EvalFrameDefault", "_PyEval_EvalFrame", "_PyEval_Vector", "PyEval_EvalFrameEx", "vm_exec_core", "Perl_runops_standard",
		},
		Profiler: {"tcmalloc::allocate_full_malloc_oom", "MallocHook::InvokeNewHookSlow", "_rjem_je_prof_backtrace", "_rjem_malloc", "prof_backtrace", "je_prof_tctx_create", "tc_malloc", "do_rallocx", "mallocx"},
		Application: {
			"main", "Cache::insert", "(anonymous namespace)::leak", "mallocate", "my_malloc_pool", "operator new_thing", "stdlib::f",
			"app::std::f", "Vector::push_back", "PyInit_mymodule", "tensorflow::NodeDefBuilder::Finalize", "tensorflow::TensorArray::Read",
			"tensorflow::ConstantOp::ConstantOp", "google::protobuf::DescriptorPool::FindFileByName", "net/http.(*Transport).dialConn", "net/http.(*ServeMux).HandleFunc", "shop.(*Handler).ServeHTTP", "runtimes.mallocgc", "tokios::runtime::run", "lrus::put", "github.com/gin-gonic/gin.New", "iofs", "shop/time.Parse", "strings",
			"java.cache.New", "sun.New", "javascript.Run", "shop.java.util.Cart.add",
			"MergeImpl", "PyUpb_Message_MergeFromString", "leakBuffers", "dl_cache_insert", "main.main", "myapp::operator new_cache",
		},
	} {
		for _, f := range functions {
			require.Equal(t, class, rules.Class(Names{Function: f, Module: "program"}), "%s", f)
		}
	}
}

// TestRuntimes: frames of runtimes are folded, those of the application and of packages are not.
func TestRuntimes(t *testing.T) {
	for runtime, frames := range map[string][]Names{
		"CPython": {
			{Function: "_PyEval_EvalFrameDefault", Module: "/usr/bin/python3.11"}, {Function: "Py_BytesMain", Module: "/usr/bin/python3.11"}, {Module: "/usr/bin/python3.11"},
			{Function: "ffi_call", Module: "/lib/libffi.so.8"}, {Module: "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"},
			{Function: "loads", File: "/usr/lib/python3.11/json/__init__.py", Script: true}, {Function: "<module>", File: "<frozen importlib._bootstrap>", Script: true},
			{Function: "run_forever", File: "/usr/lib/python3.11/asyncio/base_events.py", Script: true},
		},
		"Node.js":        {{Function: "uv_run"}, {Function: "node::SpinEventLoop"}, {Function: "Builtins_JSEntry"}, {Function: "other", Module: "/usr/bin/node"}, {Function: "other", Module: "/opt/node/bin/node"}, {Function: "f", File: "node:fs"}},
		"Go libraries":   {{Function: "runtime.mallocgc"}, {Function: "runtime.main"}, {Function: "net/http.(*conn).serve"}, {Function: "bytes.growSlice"}},
		"Rust libraries": {{Function: "alloc::raw_vec::finish_grow"}, {Function: "std::rt::lang_start"}, {Function: "tokio::runtime::task::core::Cell<T,S>::new"}},
		"Ruby":           {{Function: "vm_exec_core"}}, "Perl": {{Function: "Perl_runops_standard"}},
		"C++ libraries": {{Function: "operator new"}, {Function: "std::vector<int>::push_back"}}, "the C library": {{Function: "_start"}, {Function: "start_thread"}},
		"": {
			{Function: "main"}, {Function: "xmalloc"}, {Function: "handle", File: "/srv/app.py", Script: true}, {Function: "f", File: "/srv/node_modules/x/index.js"},
			{Function: "f", File: "/usr/lib/python3/dist-packages/flask/app.py", Script: true}, {Function: "f", Module: "/usr/lib/libxml2.so.2"}, {Function: "[truncated]"},
		},
	} {
		for _, f := range frames {
			require.Equal(t, runtime, DefaultRules().Role(f).Runtime, "%+v", f)
		}
	}
	r, err := ParseRules("of My  VM\nruntime function ^vm_\nof\nruntime function ^x_", "rules")
	require.NoError(t, err)
	require.Equal(t, Role{Runtime, "My VM"}, r.Role(Names{Function: "vm_run"}))
	require.Equal(t, Role{Runtime, ""}, r.Role(Names{Function: "x_run"}))
}

// TestRuleNames: rules match names without parameters, and the name that a recording of another tool has
// for an address is no name.
func TestRuleNames(t *testing.T) {
	for name, want := range map[[2]string]string{
		{"operator new(unsigned long)", "/lib/libstdc++.so.6"}:     "operator new",
		{"libstdc++.so.6@0x7fdf440d44a2", "/lib/libstdc++.so.6"}:   "",
		{"libstdc++.so.6@0x7fdf440d44a2", "/lib/libstdc++.so.6.0"}: "libstdc++.so.6@0x7fdf440d44a2",
		{"f", ""}: "f",
	} {
		require.Equal(t, want, ruleName(name[0], name[1]), name)
	}
}

// TestClassesByFile: line tables have the names of functions without their namespaces.
func TestClassesByFile(t *testing.T) {
	rules := DefaultRules()
	for frame, want := range map[[2]string]Class{
		{"alloc", "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/alloc.rs"}:                    Allocator,
		{"grow_one<u64>", "/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/raw_vec/mod.rs"}: Allocator,
		{"allocate", "/usr/include/c++/12/bits/new_allocator.h"}:                                                   Runtime,
		{"make_unique<Page>", "/usr/lib/llvm-14/bin/../include/c++/v1/memory"}:                                     Runtime,
		{"push<u64>", "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/vec/mod.rs"}:              Runtime,
		{"insert<u64>", "/rust/deps/hashbrown-0.15.5/src/map.rs"}:                                                  Runtime,
		// As recorded from tikv-jemallocator 0.6.1 and Rust 1.95 with line tables only.
		{"alloc", "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tikv-jemallocator-0.6.1/src/lib.rs"}:           Allocator,
		{"prof_alloc_prep_more", "/b/tikv-jemalloc-sys-dadb9534c218a8ca/out/build/include/jemalloc/internal/prof_inlines.h"}: Profiler,
		{"__rust_alloc", "/srv/shop/src/main.rs"}: Allocator,
		{"alloc", "/srv/shop/src/alloc.rs"}:       Application,
		{"put<u64, String>", "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/lru-0.16.0/src/lib.rs"}:             Runtime,
		{"block_on", "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tokio-1.48.0/src/runtime/scheduler/mod.rs"}: Runtime,
		{"shop.(*Order).Unmarshal", "/src/shop/order.pb.go"}:                                                                 Runtime,
		{"cloneDeep", "/srv/shop/node_modules/lodash/lodash.js"}:                                                             Runtime,
		{"createUnsafeBuffer", "node:internal/buffer"}:                                                                       Runtime,
		{"createUnsafeBuffer", "/srv/node:app.js"}:                                                                           Application,
	} {
		require.Equal(t, want, rules.Class(Names{Function: frame[0], File: frame[1]}), "%s", frame)
	}
}

// TestClassesOfUnnamedFrames: without a function the module decides.
func TestClassesOfUnnamedFrames(t *testing.T) {
	rules := DefaultRules()
	for module, want := range map[string]Class{
		"/lib/libtcmalloc.so.4": Profiler, "/lib/x86_64-linux-gnu/libasan.so.8": Allocator, "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so": Allocator, "libjemalloc.so.2": Profiler, "/lib/libc.so.6": Runtime, "libstdc++.so.6.0.30": Runtime,
		"/usr/bin/python3.11": Runtime, "libffi.so.8": Runtime, "/srv/program": Application, "": Application,
		"/srv/libcurl.so.4": Application, "/usr/lib/x86_64-linux-gnu/libcurl.so.4": Library,
	} {
		require.Equal(t, want, rules.Class(Names{Module: module}), "%s", module)
	}
	require.Equal(t, Application, rules.Class(Names{Function: "qsort_r", Module: "libc.so.6"}), "a function takes precedence over its module")
	require.Equal(t, Library, rules.Class(Names{Function: "scanstring_unicode", Module: "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"}))
	require.Equal(t, Library, rules.Class(Names{Function: "builtin_map", Module: "/root/.pyenv/versions/3.13.0/lib/libpython3.13.so.1.0"}))
	require.Equal(t, Mmap, rules.Class(Names{Function: "[mmap]"}))
	require.Equal(t, Profiler, rules.Class(Names{Function: "anything", Module: "libtcmalloc_minimal.so.4"}), "except in the module of the profiler")
}

func TestParseRulesErrors(t *testing.T) {
	for line, msg := range map[string]string{
		"allocator":                 "want CLASS function|file|module|unnamed|path|script REGEXP",
		"allocator function":        "want CLASS function|file|module|unnamed|path|script REGEXP",
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

func TestFirstMatchingRuleApplies(t *testing.T) {
	rules, err := ParseRules("application function ^malloc_of_mine$\nallocator function ^malloc\n  runtime\tmodule ^lib a b$", "r")
	require.NoError(t, err)
	require.Equal(t, Application, rules.Class(Names{Function: "malloc_of_mine"}))
	require.Equal(t, Allocator, rules.Class(Names{Function: "malloc"}))
	require.Equal(t, Runtime, rules.Class(Names{Function: "f", Module: "lib a b"}), "an expression may contain spaces")
}

// stackOf returns the symbols of one stack. Each location is a list of functions, innermost first,
// nil for an unnamed one.
func stackOf(locations ...[]string) (*symbolize.Symbols, []symbolize.LocationID) {
	s := &symbolize.Symbols{Modules: []symbolize.Module{{Path: "/bin/program"}, {Path: "/lib/libc.so.6"}}}
	var stack []symbolize.LocationID
	for i, functions := range locations {
		l := symbolize.Location{Module: 0}
		if functions == nil {
			l.Module = 1
		}
		for _, f := range functions {
			l.Frames = append(l.Frames, symbolize.Frame{Function: f})
		}
		s.Locations = append(s.Locations, l)
		stack = append(stack, symbolize.LocationID(i))
	}
	return s, stack
}

func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		stack [][]string
		want  FrameRef
	}{
		"the caller of malloc":         {[][]string{{"malloc"}, {"leak"}, {"main"}}, FrameRef{1, 0}},
		"above containers":             {[][]string{{"operator new"}, {"std::vector<int>::push_back"}, {"leak"}, {"main"}}, FrameRef{2, 0}},
		"an inlined function":          {[][]string{{"malloc"}, {"std::allocator<int>::allocate", "std::vector<int>::push_back", "Cache::add", "main"}}, FrameRef{1, 2}},
		"unnamed code of the libc":     {[][]string{{"malloc"}, nil, {"leak"}}, FrameRef{2, 0}},
		"runtime, without application": {[][]string{{"malloc"}, {"std::thread::thread"}, {"start_thread"}}, FrameRef{1, 0}},
		"unnamed runtime":              {[][]string{{"malloc"}, nil}, FrameRef{1, -1}},
		"only allocators: the leaf":    {[][]string{{"malloc", "calloc"}, {"operator new"}}, FrameRef{0, 0}},
		"only the profiler: the leaf":  {[][]string{{"tc_malloc"}}, FrameRef{0, 0}},
		"the profiler is skipped":      {[][]string{{"MallocHook::InvokeNewHook"}, {"tc_malloc"}, {"leak"}}, FrameRef{2, 0}},
		"opening a plugin":             {[][]string{{"calloc"}, {"_dl_new_object"}, {"dl_open_worker"}, {"__GI__dl_catch_exception"}, {"___dlopen"}, {"loadPlugin"}, {"main"}}, FrameRef{5, 0}},
		"starting a thread":            {[][]string{{"calloc"}, {"allocate_dtv"}, {"__GI__dl_allocate_tls"}, {"allocate_stack"}, {"__pthread_create_2_1"}, {"startWorker"}}, FrameRef{5, 0}},
		// An asyncio task, which is C, runs Python code that fills a list. The task is not blamed.
		"Python below C": {[][]string{{"realloc"}, {"list_resize"}, {"list_append"}, {"_PyEval_EvalFrameDefault"}, {"_PyEval_Vector"}, {"task_step_impl"}, {"main"}}, FrameRef{1, 0}},
		"an import":      {[][]string{{"malloc"}, {"PyUnicode_New"}, {"_PyEval_EvalFrameDefault"}, {"PyImport_ImportModuleLevelObject"}, {"builtin___import___impl"}}, FrameRef{1, 0}},
		"C below Python": {[][]string{{"malloc"}, {"array_new"}, {"type_call"}, {"_PyEval_EvalFrameDefault"}, {"main"}}, FrameRef{1, 0}},
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
	s.Locations[2].Module, s.Locations[2].Reason = symbolize.NoModule, symbolize.ReasonAnonymous
	ref, _ := NewBlamer(s, nil).Blame(stack)
	require.Equal(t, FrameRef{1, 0}, ref, "the nearest named frame below unnamed generated code")
	ref, _ = NewBlamer(s, nil).Blame([]symbolize.LocationID{0, 2, 3})
	require.Equal(t, FrameRef{1, -1}, ref, "unnamed generated code, if there is none")
	s, _ = stackOf()
	_, ok := NewBlamer(s, nil).Blame(nil)
	require.False(t, ok, "an empty stack")
}

// TestStableNames: each class has a name of its own.
func TestStableNames(t *testing.T) {
	classes := map[string]bool{}
	for c := range Class(len(names)) {
		require.NotEmpty(t, c.String())
		classes[c.String()] = true
	}
	require.Len(t, classes, len(names))
}

// FuzzRules: ParseRules returns an error with file and line, or rules that classify any frame.
func FuzzRules(f *testing.F) {
	f.Add(rulesText, "std::vector<int>::push_back", "/usr/include/c++/12/vector", "libc.so.6")
	f.Add("allocator function ^(a|b)*$\n# comment\n\nruntime module .\n", "ab", "", "")
	f.Add("allocator function (", "f", "f.c", "m")
	f.Fuzz(func(t *testing.T, text, function, file, module string) {
		rules, err := ParseRules(text, "my.rules")
		if err != nil {
			require.Nil(t, rules)
			require.Regexp(t, `^my\.rules:[1-9][0-9]*: `, err.Error())
			return
		}
		class := rules.Class(Names{Function: function, File: file, Module: module})
		require.Less(t, int(class), len(names))
		if len(rules.list) == 0 || function+file+module == "" {
			require.Equal(t, Application, class)
		}
	})
}

// TestClassesOfScripts: the file decides; only the function tells what a loop is.
func TestClassesOfScripts(t *testing.T) {
	rules := DefaultRules()
	for class, lines := range map[Class][]string{
		Application: {
			"/srv/app.py handle", "/srv/app.py malloc", "/srv/lib/tools.py run", "<stdin> <module>", "/srv/bin/app.py <module>",
			"/home/me/python/app.py main", "/srv/asyncio/app.py run2",
			"/srv/app.rb block in remember", "leak.pl main::remember", "-e <main>", "(eval 3) <eval>", "/srv/perl/App.pm App::run",
			"/srv/src/Cache.php Cache::remember", "/srv/vendor.php run", "/srv/gems/app.rb run",
		},
		Library: {
			"/usr/lib/python3/dist-packages/requests/api.py get", "/srv/venv/lib/python3.12/site-packages/numpy/__init__.py ones",
			"/opt/conda/lib/python3.11/site-packages/flask/app.py Flask.dispatch_request", "<string> leaky_sum",
			"/usr/share/perl5/JSON.pm JSON::decode", "/usr/local/share/perl/5.36.0/Mojo/Base.pm Mojo::Base::new",
			"/home/me/perl5/lib/perl5/Moo.pm Moo::import", "/srv/vendor/symfony/http-kernel/Kernel.php Kernel::handle",
			"/var/lib/gems/3.1.0/gems/rack-3.0.8/lib/rack/builder.rb call", "/usr/lib/ruby/vendor_ruby/rack.rb run",
			"/usr/share/rubygems-integration/all/gems/rake-13.0.6/lib/rake.rb run",
		},
		Runtime: {
			"/usr/lib/python3.11/json/decoder.py JSONDecoder.decode", "/root/.pyenv/versions/3.13.0/lib/python3.13t/threading.py Thread.run",
			"<frozen importlib._bootstrap> _find_and_load", "<string> __create_fn__.<locals>.__init__", "/srv/venv/bin/gunicorn <module>",
			"/usr/lib/python312.zip/json/decoder.py decode", "/usr/lib/python3.11/asyncio/base_events.py BaseEventLoop.call_later",
			"/usr/share/perl/5.36/Carp.pm Carp::croak", "/usr/lib/x86_64-linux-gnu/perl/5.36/List/Util.pm List::Util::import",
			"/usr/lib/x86_64-linux-gnu/perl-base/POSIX.pm POSIX::import", "/usr/share/php/PEAR.php PEAR::raise",
			"/usr/lib/ruby/3.1.0/json/common.rb parse", "<internal:kernel> tap", "/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb require",
		},
		Interpreter: {
			"/usr/lib/python3.11/asyncio/base_events.py BaseEventLoop.run_forever", "/usr/lib/python3.8/asyncio/base_events.py _run_once",
			"/usr/lib/python3.11/socketserver.py BaseServer.serve_forever", "/srv/venv/lib/python3.12/site-packages/uvicorn/server.py Server.run",
		},
	} {
		for _, line := range lines {
			file, function, _ := strings.Cut(line, " ") // a space in the file makes no difference
			require.Equal(t, class, rules.Class(Names{Function: function, File: file, Script: true}), "%s", line)
		}
	}
}

// scriptStack returns the symbols of one stack, as stackOf. A line of a script is "FILE FUNCTION".
func scriptStack(t *testing.T, frames ...string) (*symbolize.Symbols, []symbolize.LocationID) {
	t.Helper()
	s := &symbolize.Symbols{Modules: []symbolize.Module{
		{Path: "/srv/ops.so"}, {Path: "/usr/lib/python3.11/lib-dynload/_json.so"}, {Path: "/usr/bin/python3.11"},
		{Path: "/srv/venv/lib/python3.11/site-packages/numpy/_core.so"},
	}}
	var stack []symbolize.LocationID
	for i, text := range frames {
		space := strings.LastIndex(text, " ")
		require.Positive(t, space)
		where, function := text[:space], text[space+1:]
		l := symbolize.Location{Module: symbolize.NoModule, Frames: []symbolize.Frame{{Function: function}}}
		switch module := strings.Index("ops.so|json|python|numpy", where); {
		case strings.HasSuffix(where, ".py"), strings.HasPrefix(where, "<"):
			l.Source, l.Frames[0].File, l.Frames[0].Line = symbolize.SourceFrames, where, 1
		case where == "mark":
			l.Source = symbolize.SourceFrames
		case where == "unnamed":
			l.Module, l.Frames = 0, nil
		default:
			l.Module = symbolize.ModuleID(strings.Count("ops.so|json|python|numpy"[:module], "|"))
		}
		s.Locations = append(s.Locations, l)
		stack = append(stack, symbolize.LocationID(i))
	}
	return s, stack
}

func TestBlameOfScripts(t *testing.T) {
	const (
		decoder  = "/usr/lib/python3.11/json/decoder.py raw_decode"
		handle   = "/srv/app.py handle"
		module   = "/srv/app.py <module>"
		requests = "/usr/lib/python3/dist-packages/requests/api.py get"
		loop     = "/usr/lib/python3.11/asyncio/base_events.py BaseEventLoop.run_forever"
	)
	for name, c := range map[string]struct {
		stack  []string
		want   int
		script int // the line that called it; 0 for none
	}{
		"the interpreter":                      {[]string{"python PyUnicode_New", "python unicode_concatenate", handle, module}, 2, 0},
		"an allocator":                         {[]string{"python new_arena", handle, module}, 1, 0},
		"an extension and the library":         {[]string{"python PyUnicode_New", "json scan_once", "python vectorcall", decoder, handle, module}, 4, 0},
		"an extension of a package":            {[]string{"numpy npy_alloc", "numpy array_zeros", handle, module}, 2, 0},
		"a package below the application":      {[]string{"json scan_once", decoder, requests, handle, module}, 3, 0},
		"a package without an application":     {[]string{"json scan_once", decoder, requests}, 2, 0},
		"the library alone":                    {[]string{"json scan_once", decoder}, 1, 0},
		"native code of the application":       {[]string{"ops.so malloc", "ops.so LeakyOp::Compute", "numpy call", handle, module}, 1, 3},
		"native code called by a package":      {[]string{"ops.so LeakyOp::Compute", requests, handle}, 0, 2},
		"native code without a name":           {[]string{"unnamed x", handle, module}, 1, 0},
		"a callback":                           {[]string{"python PyList_New", handle, "ops.so each", module}, 1, 0},
		"a program that embeds the library":    {[]string{"json scan_once", decoder, "ops.so Engine::run", "ops.so main"}, 1, 0},
		"a package below a loop":               {[]string{"json scan_once", decoder, requests, loop, "/srv/app.py main"}, 2, 0},
		"the application below a loop":         {[]string{"json scan_once", decoder, handle, loop, "/srv/app.py main"}, 2, 0},
		"the loop alone":                       {[]string{"python PyList_New", loop, "/srv/app.py main"}, 1, 0},
		"mapped memory":                        {[]string{"mark [mmap]", "python _PyObject_Arena", handle}, 2, 0},
		"native code, with nothing that calls": {[]string{"json scan_once", "python PyObject_Call"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, stack := scriptStack(t, c.stack...)
			b := NewBlamer(s, nil)
			ref, ok := b.Blame(stack)
			require.True(t, ok)
			require.Equal(t, c.want, ref.Position)
			require.Equal(t, strings.HasPrefix(c.stack[0], "mark [mmap]"), b.Mapped(stack))
			caller, ok := b.Script(stack, ref.Position)
			require.Equal(t, c.script != 0, ok)
			require.Equal(t, c.script, caller)
		})
	}
}

// TestOwn: what the user builds is known by its path.
func TestOwn(t *testing.T) {
	r := DefaultRules()
	for _, path := range []string{"/home/me/build/server", "/srv/app/lib/libapp.so.2", "/root/a.out", "/app/target/debug/orders"} {
		assert.True(t, r.IsOwn(path), path)
	}
	for _, path := range []string{
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/redis-server", "/usr/local/bin/python3.11",
		"/home/me/.pyenv/versions/3.11.7/bin/python3.11", "/home/me/v/lib/python3.11/site-packages/numpy/core/_multiarray.so",
		"/var/cache/heaplapse/preload/heaplapse-engine-cb02c586223d.so",
	} {
		assert.False(t, r.IsOwn(path), path)
	}
}
