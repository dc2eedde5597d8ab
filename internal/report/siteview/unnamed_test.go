package siteview

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// unnamedOf is a completed count.
func unnamedOf(modules []symbolize.Module, total int64, rows ...class.UnnamedRow) Unnamed {
	u := Unnamed{&class.Unnamed{Total: total, Rows: rows, Symbols: &symbolize.Symbols{Modules: modules}}}
	for _, r := range rows {
		u.Bytes += r.Bytes
	}
	return u
}

func unnamedText(t *testing.T, u Unnamed) string {
	t.Helper()
	var b strings.Builder
	p := &text.Printer{W: &b}
	u.Text(p)
	require.NoError(t, p.Err)
	return b.String()
}

// TestUnnamedRemedies: each reason names the flag that helps. A server needs a build ID.
func TestUnnamedRemedies(t *testing.T) {
	modules := []symbolize.Module{
		{Path: "/lib/a.so", BuildID: "ab12"}, {Path: "/lib/b.so"},
		{Path: "/lib/c.so", Err: errors.New("/lib/c.so: section .symtab: damaged")},
		{Path: "/opt/app/bin/app", BuildID: "cd34"}, {Path: "/home/me/app"}, {Path: "/usr/bin/app"},
	}
	for want, row := range map[string]class.UnnamedRow{
		"a.so was not found: copy it .* --sysroot DIR .* --debuginfod URL\n":                                                        {Reason: symbolize.ReasonMissing, Modules: []symbolize.ModuleID{0}},
		"b.so was not found: copy it .* --sysroot DIR .*program\\)\n":                                                               {Reason: symbolize.ReasonMissing, Modules: []symbolize.ModuleID{1}},
		"not the one that was mapped in b.so and a.so: .*--binary FILE\n":                                                           {Reason: symbolize.ReasonStale, Modules: []symbolize.ModuleID{1, 0}},
		"not the one that was mapped in a.so: .*--binary FILE, or --debug-dir DIR or --debuginfod URL, which find them by build ID": {Reason: symbolize.ReasonStale, Modules: []symbolize.ModuleID{0}},
		"no segment of the file contains the address in b.so: .*--binary FILE\n":                                                    {Reason: symbolize.ReasonNoSegment, Modules: []symbolize.ModuleID{1}},
		"covers the address in a.so, b.so and 1 more file: .*dpkg -S '\\*/lib/a.so'.*debuginfod":                                    {Reason: symbolize.ReasonNoFunction, Modules: []symbolize.ModuleID{0, 1, 2}},
		"has no symbols in b.so: .*--debug-dir DIR\n":                                                                               {Reason: symbolize.ReasonNoSymbols, Modules: []symbolize.ModuleID{1}},
		"in app: pass the unstripped app, or .* with --debug-dir FILE [(]build ID cd34[)]\n":                                        {Reason: symbolize.ReasonNoSymbols, Modules: []symbolize.ModuleID{3}},
		"in app: app has no build ID: .* --binary FILE; else link it with -Wl,--build-id":                                           {Reason: symbolize.ReasonNoSymbols, Modules: []symbolize.ModuleID{4}},
		"in app: .*dpkg -S '\\*/bin/app'`\\) or pass the unstripped file, if it is your own, with --debug-dir FILE\n":               {Reason: symbolize.ReasonNoSymbols, Modules: []symbolize.ModuleID{5}},
		"in a.so and app: pass the unstripped app, .*; install debug symbols .Debian: ":                                             {Reason: symbolize.ReasonNoFunction, Modules: []symbolize.ModuleID{0, 3}},
		"is damaged in c.so: /lib/c.so: section .symtab: damaged\n":                                                                 {Reason: symbolize.ReasonMalformed, Modules: []symbolize.ModuleID{2}},
		"generated code without a perf map: .*--perf-map\n":                                                                         {Reason: symbolize.ReasonAnonymous},
		"no mapping contains the address: a library was loaded and unloaded between two snapshots":                                  {Reason: symbolize.ReasonNoMapping},
		"null address: .*TCMALLOC_STACKTRACE_METHOD":                                                                                {Reason: symbolize.ReasonNull},
	} {
		row.Bytes = 3 << 20
		text := unnamedText(t, unnamedOf(modules, 4<<20, row))
		require.Regexp(t, want, text)
		require.Contains(t, text, "unnamed: functions without a name allocated 3.00 MiB of the 4.00 MiB on recorded stacks\n")
		require.Equal(t, 3, strings.Count(text, "\n"), "a blank line, the sum, the reason")
	}
}

// TestUnnamedIsShort: less than a hundredth of the memory gets no line.
func TestUnnamedIsShort(t *testing.T) {
	row := func(r symbolize.Reason, bytes int64) class.UnnamedRow {
		return class.UnnamedRow{Reason: r, Bytes: bytes}
	}
	require.Empty(t, unnamedText(t, Unnamed{}))
	require.Empty(t, unnamedText(t, unnamedOf(nil, 0)))
	require.Empty(t, unnamedText(t, unnamedOf(nil, 1000, row(symbolize.ReasonNull, 9))))
	text := unnamedText(t, unnamedOf(nil, 1000, row(symbolize.ReasonNull, 500), row(symbolize.ReasonNoMapping, 9)))
	require.Contains(t, text, "509 B of the 0.98 KiB on recorded stacks")
	require.NotContains(t, text, "no mapping")
}
