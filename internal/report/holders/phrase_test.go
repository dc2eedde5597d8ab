package holders

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/pipeline"
)

func TestPhrase(t *testing.T) {
	for want, h := range map[string]answer.Holder{
		"held by g_sessions (server.cc:14, std::map<…>) → Session": {
			Kind: answer.Global, Name: "g_sessions", Type: "std::map<…>", File: "/src/server.cc", Line: 14,
			Path: []answer.Step{{Type: "Session"}},
		},
		"held by objects of JavaScript, or Node.js itself; a heap snapshot tells which objects (node --heapsnapshot-signal=SIGUSR2)": {
			Kind: answer.Global, Name: "node::per_process::v8_platform", Module: "node", Path: []answer.Step{{Type: "node::NodePlatform"}},
		},
		"held by objects of Perl, or perl itself": {
			Kind: answer.Global, Name: "PL_user_def_props", Module: "/usr/bin/perl5.36.0", Path: []answer.Step{{}},
		},
		"held by perl_pool (perlish.c:3)": {
			Kind: answer.Global, Name: "perl_pool", Module: "/usr/bin/perlish", File: "perlish.c", Line: 3,
		},
		"held by g_sessions_of_all_users_by_their_numbers (server.cc:14, std::map<std::pair<…>, std::shared_ptr<…>, " +
			"std::less<…>>) → Session": {
			Kind: answer.Global, Name: "g_sessions_of_all_users_by_their_numbers", File: "/src/server.cc", Line: 14,
			Type: "std::map<std::pair<std::string, unsigned long>, std::shared_ptr<Session>, std::less<std::string>>",
			Path: []answer.Step{{Type: "Session"}},
		},
		"held by the event loop._scheduled (list, 4,800 entries) → asyncio.events.TimerHandle._callback (method Payment.expire).__self__ (Payment)": {
			Kind: answer.Module, Name: "multidict._multidict", Path: []answer.Step{
				{Type: "asyncio.events.TimerHandle"}, {Via: "._loop", Type: "asyncio.unix_events._UnixSelectorEventLoop"},
				{Via: "._scheduled", Type: "list", Length: 4800}, {Via: "[…]", Type: "asyncio.events.TimerHandle"},
				{Via: "._callback", Type: "method Payment.expire"}, {Via: ".__self__", Type: "Payment"},
			},
		},
		"held by the event loop → coroutine local app of serve (ws.py:7) (dict, 1 entry) → set (4,000 entries)": {
			Kind: answer.Module, Name: "asyncio.events", Path: []answer.Step{
				{Via: "._loop", Type: "asyncio.unix_events._UnixSelectorEventLoop"}, {Via: "._ready", Type: "deque"},
				{Via: "[…]", Type: "_asyncio.Task"}, {Type: "coroutine"}, {Via: " local app of serve (ws.py:7)", Type: "dict", Length: 1},
				{Via: "[…]", Type: "set", Length: 4000},
			},
		},
		"held by jobs.QUEUE (Queue)._ready (list)": {
			Kind: answer.Module, Name: "jobs", Path: []answer.Step{{Via: ".QUEUE", Type: "Queue"}, {Via: "._ready", Type: "list"}},
		},
		"held by libfoo.so+0x4010": {Kind: answer.Global, Name: "libfoo.so+0x4010", Module: "libfoo.so"},
		"held by app.SESSIONS (dict, 41,203 entries) → Session.history (list) → str": {
			Kind: answer.Module, Name: "app", Path: []answer.Step{
				{Via: ".SESSIONS", Type: "dict", Length: 41203}, {Via: "[…]", Type: "Session"}, {Via: ".history", Type: "list"},
				{Via: "[…]", Type: "str"},
			},
		},
		"held by app.cache (functools._lru_cache_wrapper, a cache: 3,120 of at most 10,000 entries) → bytes": {
			Kind: answer.Module, Name: "app", Path: []answer.Step{
				{Via: ".cache", Type: "functools._lru_cache_wrapper", Length: 3120, Limit: 10000}, {Via: "[…]", Type: "bytes"},
			},
		},
		"held by running handle (app.py:12) local conn (Conn)": {
			Kind: answer.Frame, Name: "handle", File: "app.py", Line: 12, Path: []answer.Step{{Via: " local conn", Type: "Conn"}},
		},
		"held by first → Node.next … → Node": {
			Kind: answer.Global, Name: "first", Path: []answer.Step{{Type: "Node", Links: 100}, {Via: ".next", Type: "Node"}},
		},
		`held by thread "worker" (stack of handle_loop)`: {Kind: answer.Stack, Name: "worker", Function: "handle_loop"},
		"held by broker.queue (local variable of main, broker.cc:41, std::deque<Message*>) → Message": {
			Kind: answer.Stack, Name: "broker", Function: "main", Variable: "broker.queue", File: "/src/broker.cc", Line: 41,
			Type: "std::deque<Message*>", Path: []answer.Step{{Type: "Message"}},
		},
		"held by server (parameter of run, run.c:7, Server *) → Server": {
			Kind: answer.Stack, Name: "worker", Function: "run", Variable: "server", Parameter: true, File: "run.c", Line: 7,
			Type: "Server *", Path: []answer.Step{{Type: "Server"}},
		},
		`held by the stack of thread "worker"`:           {Kind: answer.Stack, Name: "worker"},
		`held by thread-local memory of thread "worker"`: {Kind: answer.TLS, Name: "worker", Function: "start_thread"},
		"held by memory whose content is not understood": {Kind: answer.Unknown},
		"held by memory shared with other processes":     {Kind: answer.Shared},
		"held by the kernel (epoll or a timer) → Conn":   {Kind: answer.Kernel, Path: []answer.Step{{Type: "Conn"}}},
		"lost: no pointer to it was found":               {Kind: answer.Lost},
		"lost: no pointer to it was found: Node → Leaf":  {Kind: answer.Lost, Path: []answer.Step{{Type: "Node"}, {Type: "Leaf"}}},
		"lost: a cycle of blocks that only they hold":    {Kind: answer.Cycle},
		"lost: a cycle of shared_ptr: Node.other → Node": {
			Kind: answer.Cycle, Type: "shared_ptr", Path: []answer.Step{{Type: "Node"}, {Via: ".other", Type: "Node"}},
		},
		"lost: a cycle of blocks that only they hold: Shop → Order.shop → Shop.stock → std::vector<int> (3 entries)": {
			Kind: answer.Cycle, Path: []answer.Step{
				{Type: "Shop"}, {Type: "Order"}, {Via: ".shop", Type: "Shop"}, {Via: ".stock", Type: "std::vector<int>", Length: 3},
			},
		},
		"held at most by stale memory":                             {Kind: answer.Doubtful},
		"not known: the block is in memory that is not understood": {Kind: answer.NotFound},
		"held by table → … → Session (1 entry)": {
			Kind: answer.Global, Name: "table", Path: []answer.Step{{}, {Type: "Session", Length: 1}},
		},
	} {
		assert.Equal(t, want, Phrase(&h))
	}
}

func TestLine(t *testing.T) {
	global, lost := answer.Holder{Blocks: 24, Kind: answer.Global, Name: "g"}, answer.Holder{Blocks: 2, Kind: answer.Lost}
	held := answer.Held{Looked: 30, By: []answer.Holder{global, lost}}
	assert.Equal(t, "held by g   24 of 30", Line(held))
	assert.Equal(t, []string{
		"what holds it, for 30 of its blocks from the first half of the recording:", "  24 of 30 held by g",
		"   2 of 30 lost: no pointer to it was found (so few may be memory that was not cleared)",
	}, Lines(held))
	held.By[0].Path = []answer.Step{{Type: "Session"}}
	held.By[1] = answer.Holder{Blocks: 6, Kind: answer.Global, Name: "g", Path: []answer.Step{{Type: "Session"}, {Via: ".data", Type: "std::string"}}}
	assert.Equal(t, "held by g → Session → …   30 of 30", Line(held))
	held.By[1].Path[0].Type = "Other"
	assert.Equal(t, "held by g → Session   24 of 30", Line(held))
	held.By[0].Blocks = 23
	assert.Equal(t, "held by g → …   29 of 30", Line(held))
	held.By[1].Name = "h"
	assert.Empty(t, Line(held), "less than four of five agree")
	assert.Empty(t, Line(answer.Held{}))
	assert.Empty(t, Lines(answer.Held{}))
	assert.Nil(t, JSONOf(answer.Held{}))
	assert.Equal(t, "held by g → Session", JSONOf(held).By[0].Text)
}

// TestLongLine: the line has the beginning and the end of a long way, and the explanation all of it.
func TestLongLine(t *testing.T) {
	path := []answer.Step{
		{Via: " local loss", Type: "Tensor"}, {Type: "Impl"}, {Type: "Meta"}, {Type: "Add", Links: 900}, {Type: "Add"}, {},
	}
	h := answer.Held{Looked: 30, By: []answer.Holder{{Blocks: 30, Kind: answer.Frame, Name: "train", Path: path}}}
	const beginning = "held by running train local loss (Tensor) → Impl → Meta → Add … → Add → …"
	assert.Equal(t, beginning+"   30 of 30", Line(h))
	path = append(path, []answer.Step{{Type: "Mean"}, {}, {Type: "Mul"}, {Type: "Impl"}, {Type: "Storage"}}...)
	h.By[0].Path = path
	assert.Equal(t, beginning+" → Mul → Impl → Storage   30 of 30", Line(h))
	assert.Contains(t, Lines(h)[1], "Add … → Add → … → Mean → … → Mul → Impl → Storage")
	h.By[0].Path = slices.Insert(path, 8, answer.Step{Type: "Pow"}, answer.Step{})
	assert.Equal(t, beginning+" → Mul → Impl → Storage   30 of 30", Line(h))
}

// TestEqualWords: ways that differ only in what is not told are one line.
func TestEqualWords(t *testing.T) {
	by := func(blocks int, via string) answer.Holder {
		return answer.Holder{Blocks: blocks, Kind: answer.Global, Name: "g", Path: []answer.Step{{Via: "[0]", Type: "T"}, {Via: via, Type: "U"}}}
	}
	assert.Equal(t, []string{
		"what holds it, for 30 of its blocks from the first half of the recording:", "  20 of 30 held by g → T → U", "  10 of 30 lost: no pointer to it was found",
	}, Lines(answer.Held{Looked: 30, By: []answer.Holder{by(12, "[1]"), {Blocks: 10, Kind: answer.Lost}, by(8, "[…]")}}))
}

func TestWhy(t *testing.T) {
	g := answer.Holder{Blocks: 9, Kind: answer.Global, Name: "g"}
	assert.Empty(t, Why(pipeline.HeldSite{Live: 20, Old: 9, Held: answer.Held{Looked: 9, By: []answer.Holder{g}}}))
	assert.Contains(t, Why(pipeline.HeldSite{}), "too few live samples when the recorder looked last")
	assert.Equal(t, "what holds it is not known: when the recorder looked last, 2 of its 30 live samples were from the first half of "+
		"the recording, and 8 are needed; a longer recording tells it", Why(pipeline.HeldSite{Live: 30, Old: 2}))
	assert.Equal(t, "what holds it differs from block to block", Why(pipeline.HeldSite{
		Live: 9, Old: 9, Held: answer.Held{Looked: 9, By: []answer.Holder{{Blocks: 5, Kind: answer.Lost}, {Blocks: 4, Kind: answer.Global, Name: "g"}}},
	}))
	five, lost := answer.Holder{Blocks: 5, Kind: answer.Global, Name: "g"}, answer.Holder{Blocks: 4, Kind: answer.Lost}
	half := pipeline.HeldSite{Live: 9, Old: 9, Held: answer.Held{Looked: 9, By: []answer.Holder{five, lost}}}
	assert.Equal(t, "what holds it differs from block to block: 5 of 9 are held by g", Why(half))
	few := answer.Held{Looked: 2, By: []answer.Holder{{Blocks: 2, Kind: answer.Global, Name: "g"}}}
	assert.NotEmpty(t, Why(pipeline.HeldSite{Live: 2, Old: 2, Held: few}))
	unanimous := answer.Held{Looked: 3, By: []answer.Holder{{Blocks: 3, Kind: answer.Global, Name: "g"}}}
	assert.Equal(t, "held by g   3 of 3 (few: a longer recording is surer)", Line(unanimous))
	assert.Empty(t, Why(pipeline.HeldSite{Live: 9, Old: 3, Held: unanimous}))
	unanimous.Looked = 4
	assert.Empty(t, Line(unanimous), "one of few is held by something else")
	four, one := answer.Holder{Blocks: 4, Kind: answer.Global, Name: "g"}, answer.Holder{Blocks: 1, Kind: answer.Lost}
	most := answer.Held{Looked: 5, By: []answer.Holder{four, one}}
	assert.Equal(t, "held by g   4 of 5 (few: a longer recording is surer)", Line(most))
	variable := func(blocks int, name string) answer.Holder {
		return answer.Holder{Blocks: blocks, Kind: answer.Module, Name: "app", Path: []answer.Step{{Via: "." + name, Type: "dict"}}}
	}
	helper := answer.Held{Looked: 30, By: []answer.Holder{variable(14, "SESSIONS"), variable(12, "CACHE"), variable(4, "LOG")}}
	assert.Empty(t, Line(helper), "a module has many variables")
	assert.Equal(t, "what holds it differs from block to block: 14 of 30 are held by app.SESSIONS (dict)",
		Why(pipeline.HeldSite{Live: 60, Old: 30, Held: helper}))
	few.All = true
	assert.Equal(t, "held by g   2 of 2", Line(few))
	assert.Empty(t, Why(pipeline.HeldSite{Live: 2, Old: 2, Held: few}))
}

func TestReport(t *testing.T) {
	by := func(n int, name string) answer.Holder {
		return answer.Holder{Blocks: n, Kind: answer.Global, Name: name}
	}
	r := Report{Look: &answer.Look{
		PID: 12, Program: "server", Bytes: 3 << 20, Blocks: 41203, Stopped: 4200 * time.Microsecond,
		Groups: []answer.Group{
			{Least: 49, Most: 64, Blocks: 41000, Bytes: 2 << 20, Held: answer.Held{Looked: 30, By: []answer.Holder{
				by(20, "a"), by(4, "b"), by(3, "c"), by(2, "d"), by(1, "e"),
			}}},
			{Type: "dict", Least: 64, Most: 64, Blocks: 1, Bytes: 64, Held: answer.Held{Looked: 1, By: []answer.Holder{by(1, "a")}}},
		},
		Doubts: []string{"a heap is corrupt"}, Recorded: true,
	}}
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	assert.Equal(t, `process 12 (server): 3.00 MiB in 41,203 blocks; its threads were stopped for 4.2ms

2.00 MiB in 41,000 blocks of 49 to 64 bytes
    20 of 30 held by a
     4 of 30 held by b
     3 of 30 held by c
     3 of 30 in 2 other ways

64 B in 1 dict
     1 of 1 held by a

Nothing is said to be lost, because not all memory is understood:
  a heap is corrupt

heaplapse has recorded this process: "heaplapse growth DIRECTORY", with the directory of that recording, tells what holds the memory of each line of code.
`, b.String())
	r.All = true
	b.Reset()
	require.NoError(t, r.Text(&b))
	assert.Contains(t, b.String(), "1 of 30 held by e")
}

// Files with variables that have no names are told once, that of most blocks first.
func TestReportOfFilesWithoutSymbols(t *testing.T) {
	held := func(n int, module, name string) answer.Held {
		return answer.Held{Looked: n, By: []answer.Holder{{Blocks: n, Kind: answer.Global, Name: name, Module: module}}}
	}
	r := Report{Look: &answer.Look{Groups: []answer.Group{
		{Held: held(2, "/usr/lib/libcrypto.so.3", "libcrypto.so.3+0x484808")},
		{Held: held(3, "/usr/sbin/nginx", "nginx+0x1534a8")},
		{Held: held(1, "/usr/sbin/nginx", "nginx+0x10")},
		{Held: held(9, "/usr/lib/libssl.so.3", "table")},
	}}}
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	assert.Contains(t, b.String(), "nginx, libcrypto.so.3 (Debian")
	r.Look.Groups = r.Look.Groups[3:]
	b.Reset()
	require.NoError(t, r.Text(&b))
	assert.NotContains(t, b.String(), "without a name")
}
