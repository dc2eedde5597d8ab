package evidence

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

func read(t *testing.T, name string) *Report {
	t.Helper()
	r, err := Read(testutil.Data(t, "evidence", name))
	require.NoError(t, err)
	return r
}

// functions are the lost bytes of a report by function.
func functions(x *Index) map[string]Loss {
	out := map[string]Loss{}
	for _, report := range x.Reports {
		for i := range report.Records {
			r := &report.Records[i]
			name := "?"
			if f := r.function(); f != nil {
				name = fmt.Sprintf("%s %s", f.Function, baseName(f.File))
			}
			loss := out[name]
			loss[r.Kind].Bytes += r.Bytes
			loss[r.Kind].Blocks += r.Blocks
			out[name] = loss
		}
	}
	return out
}

// TestMemcheckSums: the records sum up to what valgrind's own text says of the same program.
func TestMemcheckSums(t *testing.T) {
	text, err := os.ReadFile(testutil.Data(t, "evidence", "memcheck.txt"))
	require.NoError(t, err)
	all := read(t, "memcheck.xml")
	require.Equal(t, Memcheck, all.Tool)
	own := LossOf(records(all))
	require.Equal(t, own.Bytes(), all.Lost())
	for kind, name := range []string{"definitely lost", "indirectly lost", "possibly lost", "still reachable"} {
		m := regexp.MustCompile(name + `: ([0-9,]+) bytes in ([0-9,]+) blocks`).FindSubmatch(text)
		require.NotNil(t, m, name)
		require.Equal(t, []string{string(m[1]), string(m[2])}, []string{commas(own[kind].Bytes), commas(own[kind].Blocks)}, name)
	}
	require.Positive(t, own[Indirect].Bytes)

	byDefault := read(t, "memcheck-default.xml") // the indirect records are left out, but not their sum
	indirect := int64(0)
	for i := range byDefault.Records {
		require.NotEqual(t, Indirect, byDefault.Records[i].Kind)
		indirect += byDefault.Records[i].IndirectBytes
	}
	require.Equal(t, own[Indirect].Bytes, indirect)
	require.Equal(t, all.Lost(), byDefault.Lost())
}

// commas returns a number as valgrind's text has it: 1,234,567.
func commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// TestFunctions: all tools and compilers attribute the same losses to the same functions, with and
// without inlining and symbolizer.
func TestFunctions(t *testing.T) {
	const document, page, node = 1032, 3032, 72 // with the control blocks and the links of the containers
	want := map[string]int64{"fetch": 250 * 16384, "parse": 256 << 10, "open": 250 * (document + page)}
	for name, tool := range map[string]string{
		"memcheck.xml": Memcheck, "asan-gcc.txt": LeakSanitizer, "asan-gcc-raw.txt": LeakSanitizer,
		"lsan-gcc.txt": LeakSanitizer, "asan-clang.txt": LeakSanitizer,
	} {
		t.Run(name, func(t *testing.T) {
			report := read(t, name)
			require.Equal(t, tool, report.Tool)
			failed, err := Symbolize(context.Background(), []*Report{report}, symbolize.Options{Sysroot: testutil.Data(t, "evidence", "sysroot")})
			require.NoError(t, err)
			if name != "asan-gcc-raw.txt" {
				require.Empty(t, failed)
			}
			got := map[string]int64{}
			for function, loss := range functions(NewIndex([]*Report{report}, nil)) {
				if !strings.HasSuffix(function, " service.cc") { // the fast unwinder ends in libstdc++
					require.Contains(t, name, "asan-gcc")
					continue
				}
				require.Regexp(t, `^((Client::)?fetch|(Config::)?parse|(Editor::)?open|(Catalog::)?reload) `, function)
				got[lastPart(strings.Fields(function)[0])] += loss.Bytes() + loss[Possible].Bytes
			}
			for function, bytes := range want {
				require.Equal(t, bytes, got[function], function)
			}
			require.Greater(t, got["reload"], int64(247*80*node)) // a stale pointer may keep the last ones
		})
	}
}

// TestAt: a function is found by its name and its file, and an inlined one without its class by its
// line, too.
func TestAt(t *testing.T) {
	x := NewIndex([]*Report{read(t, "memcheck.xml")}, nil)
	for name, c := range map[string]struct {
		frame symbolize.Frame
		want  int64
	}{
		"inlined":             {symbolize.Frame{Function: "Client::fetch", File: "/src/evidence/service.cc", Line: 29}, 248 * 16384},
		"another directory":   {symbolize.Frame{Function: "Client::fetch", File: "service.cc", Line: 29}, 248 * 16384},
		"another line":        {symbolize.Frame{Function: "Client::fetch", File: "/src/evidence/service.cc", Line: 30}, 0},
		"another file":        {symbolize.Frame{Function: "Client::fetch", File: "/src/evidence/client.cc", Line: 29}, 0},
		"no file":             {symbolize.Frame{Function: "Client::fetch"}, 0},
		"its whole name":      {symbolize.Frame{Function: "Catalog::reload", File: "service.cc", Line: 1}, 1},
		"a name without file": {symbolize.Frame{Function: "Catalog::reload"}, 1},
		"another class":       {symbolize.Frame{Function: "Other::reload", File: "service.cc", Line: 49}, 0},
		"no name":             {symbolize.Frame{File: "service.cc", Line: 29}, 0},
	} {
		loss := LossOf(x.At(c.frame))
		if c.want == 1 {
			require.Greater(t, loss.Bytes(), int64(1<<20), name)
			continue
		}
		require.Equal(t, c.want, loss.Bytes(), name)
	}
	both := []symbolize.Frame{{Function: "Catalog::reload"}, {Function: "Catalog::reload", File: "service.cc"}}
	require.Equal(t, x.At(both[0]), x.At(both...), "each record once")
}

// TestProgram: the reports name the program, and an index may be of some reports only.
func TestProgram(t *testing.T) {
	memcheck, lsan := read(t, "memcheck.xml"), read(t, "lsan-gcc.txt")
	require.Equal(t, "/opt/evidence/bin/service", memcheck.Program)
	require.Equal(t, "/opt/evidence/bin/service-lsan", lsan.Program)
	all := NewIndex([]*Report{memcheck, lsan}, nil)
	fetch := symbolize.Frame{Function: "Client::fetch", File: "service.cc", Line: 29}
	tools := func(x *Index) map[string]bool {
		out := map[string]bool{}
		for _, r := range x.At(fetch) {
			out[r.Report.Tool] = true
		}
		return out
	}
	require.Equal(t, map[string]bool{Memcheck: true, LeakSanitizer: true}, tools(all))
	require.Equal(t, map[string]bool{Memcheck: true}, tools(all.Only(func(r *Report) bool { return r == memcheck })))
}

// TestFrames: the forms of a frame that compiler-rt's StackTracePrinter writes.
func TestFrames(t *testing.T) {
	for line, want := range map[string]ReportFrame{
		"    #0 0x7f79 in operator new(unsigned long) ../../src/asan/asan_new_delete.cpp:95": {Address: 0x7f79, Frame: symbolize.Frame{Function: "operator new", File: "../../src/asan/asan_new_delete.cpp", Line: 95}},
		"    #1 0x55f6 in Client::fetch(long) /src/my dir/service.cc:29:15":                  {Address: 0x55f6, Frame: symbolize.Frame{Function: "Client::fetch", File: "/src/my dir/service.cc", Line: 29}},
		"    #2 0x55f6 in serve (/opt/bin/service+0x4d3f) (BuildId: A0ff)":                   {Address: 0x55f6, BuildID: "a0ff", Frame: symbolize.Frame{Function: "serve", Module: "/opt/bin/service"}},
		"    #3 0x55f6  (/opt/bin/service+0x4d3f)":                                           {Address: 0x55f6, Offset: 0x4d3f, Frame: symbolize.Frame{Module: "/opt/bin/service"}},
		"    #4 0x55f6  (/opt/bin/service+0x4d3f) (BuildId: a0ff)":                           {Address: 0x55f6, Offset: 0x4d3f, BuildID: "a0ff", Frame: symbolize.Frame{Module: "/opt/bin/service"}},
		"    #5 0x55f6  (<unknown module>)":                                                  {Address: 0x55f6},
		"    #6 0x55f6 in f(int) <null>":                                                     {Address: 0x55f6, Frame: symbolize.Frame{Function: "f"}},
		"    #7 0x55f6 in main app.c":                                                        {Address: 0x55f6, Frame: symbolize.Frame{Function: "main", File: "app.c"}},
		"    #8 0x55f6 in _start":                                                            {Address: 0x55f6, Frame: symbolize.Frame{Function: "_start"}},
		"    #9 0x55f6":                                                                      {Address: 0x55f6},
	} {
		r, err := Parse(strings.NewReader("Direct leak of 7 byte(s) in 1 object(s) allocated from:\n"+line), "log")
		require.NoError(t, err, line)
		require.Equal(t, []ReportFrame{want}, r.Records[0].Frames, line)
	}
}

// TestChecks: a program may check for leaks several times, and a log may have several processes and
// other output.
func TestChecks(t *testing.T) {
	const leak = "Direct leak of %d byte(s) in 1 object(s) allocated from:\n    #0 0x1 in f a.c:1\n\n" +
		"SUMMARY: AddressSanitizer: 1 byte(s) leaked in 1 allocation(s).\n"
	text := "starting\n\x1b[1m==7==ERROR: LeakSanitizer: detected memory leaks\x1b[0m\n\n" + fmt.Sprintf(leak, 10) +
		"working\n==7==ERROR: LeakSanitizer: detected memory leaks\n\n" + fmt.Sprintf(leak, 30) +
		"==8==ERROR: LeakSanitizer: detected memory leaks\n\n" + strings.TrimSpace(fmt.Sprintf(leak, 500))
	r, err := Parse(strings.NewReader(text), "log")
	require.NoError(t, err)
	require.Len(t, r.Records, 2)
	require.Equal(t, int64(530), LossOf([]*Record{&r.Records[0], &r.Records[1]}).Bytes())
	require.Equal(t, 11, r.Records[0].Line)

	for _, text := range []string{"", "\n", "all is well\n", "==7==ERROR: AddressSanitizer: heap-use-after-free\n    #0 0x1 in f\n"} {
		r, err := Parse(strings.NewReader(text), "log")
		require.NoError(t, err)
		require.Empty(t, r.Records)
		require.Empty(t, r.Tool, "no report")
	}
}

// TestErrors: what is wrong, where, and what to do.
func TestErrors(t *testing.T) {
	whole, err := os.ReadFile(testutil.Data(t, "evidence", "memcheck.xml"))
	require.NoError(t, err)
	leak := func(element string) string {
		return "<valgrindoutput><protocolversion>4</protocolversion>\n<error><kind>Leak_DefinitelyLost</kind>" + element + "</error></valgrindoutput>"
	}
	for text, want := range map[string]string{
		string(whole[:len(whole)/2]): `log:\d+: the file ends in the middle`,
		"<html></html>":              `log:1: not a report of leaks: name a file that valgrind --xml=yes`,
		"<":                          `log:1: not a report of leaks`,
		"<valgrindoutput></valgrindoutput><valgrindoutput>":                            `log:1: not a report of leaks`,
		"<valgrindoutput><a></b>":                                                      `log:1: malformed XML: </b> closes nothing`,
		"<valgrindoutput>\n&nbsp;":                                                     `log:2: malformed XML`,
		"<valgrindoutput><protocolversion>3</protocolversion>":                         `version "3" of valgrind's XML: want 4 or 5`,
		"<valgrindoutput><protocoltool>helgrind</protocoltool>":                        `valgrind's tool "helgrind": only memcheck finds leaks`,
		`<?xml version="1.0" encoding="latin1"?><valgrindoutput>`:                      `log:1: cannot be read: .*latin1`,
		leak("<xwhat><leakedbytes>-1</leakedbytes></xwhat>"):                           `log:2: "-1" is not a number of bytes or blocks`,
		leak("<xwhat><leakedbytes>99999999999999999999</leakedbytes></xwhat>"):         `is not a number of bytes`,
		leak("<xwhat><leakedbytes>999999999999999999</leakedbytes></xwhat>"):           `log:2: not the size of a leak`,
		leak("<xwhat><text>9 (8 direct, 9 indirect) bytes in 1 blocks</text></xwhat>"): `log:2: not the size of a leak`,
		leak("<stack><frame><ip>zero</ip></frame></stack>"):                            `"zero" is not an address`,
		leak("<stack><frame><line>1e9</line></frame></stack>"):                         `"1e9" is not the number of a line`,
		"<valgrindoutput>" + strings.Repeat("<a>", 100):                                `too many elements within elements`,
		"<valgrindoutput>" + strings.Repeat("x", 3<<20):                                `longer than 1 MiB`,
		"<valgrindoutput><a " + strings.Repeat(`b="" `, 1<<18):                         `longer than 1 MiB`,
		"<valgrindoutput>" + strings.Repeat("x<!-- -->", 1<<20+1):                      `longer than 1 MiB`,
		"\x7fELF\x00": `log: a binary file, not a report of leaks`,
		"==1==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 1 byte(s) in 1 object(s) allocated from:\n": `log:4: the file ends in the middle of a report`,
		"==1== Memcheck, a memory error detector\n":                                                    `log:1: memcheck's report as text: name a file that valgrind --xml=yes`,
		"\nDirect leak of 99999999999999999999 byte(s) in 1 object(s) allocated from:":                 `log:2: not the size of a leak`,
		"\nDirect leak of 999999999999999999 byte(s) in 1 object(s) allocated from:":                   `log:2: not the size of a leak`,
		"Direct leak of 1 byte(s) in 1 object(s) allocated from:\n    #0 0xffffffffffffffffff in f a":  `log:2: not the address of a frame`,
		"Direct leak of 1 byte(s) in 1 object(s) allocated from:\n    #0 0x1 in f a:99999999999999999": `log:2: not the address of a frame`,
	} {
		r, err := Parse(strings.NewReader(text), "log")
		require.Nil(t, r)
		require.Regexp(t, want, err)
		var syntax *heapfile.SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
	_, err = Read("absent")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestLimits: hostile reports end in an error, and long stacks and lines are cut.
func TestLimits(t *testing.T) {
	const leak = "Direct leak of 1 byte(s) in 1 object(s) allocated from:\n"
	var many strings.Builder
	for i := range maxRecords + 1 {
		fmt.Fprintf(&many, "%s    #0 0x%x in f a.c:1\n", leak, i)
	}
	_, err := Parse(strings.NewReader(many.String()), "log")
	require.ErrorContains(t, err, "more than 50000 leaks")

	r, err := Parse(strings.NewReader(leak+strings.Repeat("    #0 0x1 in f a.c:1\n", 2*maxStack)), "log")
	require.NoError(t, err)
	require.Len(t, r.Records[0].Frames, maxStack)

	r, err = Parse(strings.NewReader(strings.Repeat("x", 3*maxLine)+"\n"+leak), "log")
	require.NoError(t, err)
	require.Equal(t, 2, r.Records[0].Line)
}

// TestOtherBuild: an address is named only from the build that was run.
func TestOtherBuild(t *testing.T) {
	const text = "Direct leak of 1 byte(s) in 1 object(s) allocated from:\n    #0 0x1  (/opt/evidence/bin/service+0x2000) (BuildId: 00ff)\n" +
		"    #1 0x2  (/opt/evidence/bin/absent+0x2000)\n"
	r, err := Parse(strings.NewReader(text), "log")
	require.NoError(t, err)
	failed, err := Symbolize(context.Background(), []*Report{r}, symbolize.Options{Sysroot: testutil.Data(t, "evidence", "sysroot")})
	require.NoError(t, err)
	require.Len(t, failed, 2)
	require.Equal(t, "/opt/evidence/bin/absent", failed[0].Module)
	require.ErrorIs(t, failed[0].Err, os.ErrNotExist)
	require.ErrorContains(t, failed[1].Err, "sysroot/opt/evidence/bin/service is another build")
	require.Empty(t, r.Records[0].Frames[0].Function)
}

// FuzzParse: an error has the position, and no report; a report has records whose sums do not
// overflow, and which the index finds again.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"memcheck.xml", "memcheck-default.xml", "asan-gcc.txt", "asan-gcc-raw.txt", "asan-clang.txt"} {
		text, err := os.ReadFile(testutil.Data(f, "evidence", name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("<valgrindoutput><error><kind>Leak_PossiblyLost</kind><stack><frame><fn>(</fn></frame></stack></error></valgrindoutput>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		report, err := Parse(strings.NewReader(string(text)), "log")
		if err != nil {
			require.Nil(t, report)
			require.Regexp(t, `^log(:[1-9][0-9]*)?: `, err.Error())
			return
		}
		x := NewIndex([]*Report{report}, nil)
		for i := range report.Records {
			r := &report.Records[i]
			require.GreaterOrEqual(t, r.Bytes, int64(0))
			require.GreaterOrEqual(t, r.IndirectBytes, int64(0))
			require.Less(t, r.Blame, len(r.Frames))
			require.LessOrEqual(t, len(r.Frames), maxStack)
			if f := r.function(); f != nil {
				require.Contains(t, x.At(r.Stack()[r.Blame]), r)
			}
			require.Equal(t, r.Report.Tool == Memcheck || r.Report.Tool == "", strings.HasPrefix(strings.TrimSpace(string(text)), "<"))
		}
		require.GreaterOrEqual(t, LossOf(records(report)).Bytes(), int64(0))
		if report.Tool == LeakSanitizer {
			requireNoMore(t, text, report)
		}
		again, err := Parse(bytes.NewReader(text), "log")
		require.NoError(t, err)
		NewIndex([]*Report{again}, nil)
		require.Equal(t, report, again)
	})
}

// requireNoMore checks that the records have no more bytes than the lines of a text. They may have less:
// the last of several checks for leaks replaces the ones before.
func requireNoMore(t *testing.T, text []byte, report *Report) {
	t.Helper()
	var lines, sum big.Int
	for _, m := range regexp.MustCompile(`leak of ([0-9]+) byte`).FindAllSubmatch(colors().ReplaceAll(text, nil), -1) {
		n, ok := new(big.Int).SetString(string(m[1]), 10)
		require.True(t, ok)
		lines.Add(&lines, n)
	}
	for i := range report.Records {
		sum.Add(&sum, big.NewInt(report.Records[i].Bytes))
	}
	require.LessOrEqual(t, sum.Cmp(&lines), 0, "%s in the records, %s in the lines", &sum, &lines)
}

func records(report *Report) (out []*Record) {
	for i := range report.Records {
		out = append(out, &report.Records[i])
	}
	return out
}
