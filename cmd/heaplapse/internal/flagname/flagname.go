// Package flagname has the flags and commands that texts of other packages advise.
package flagname

import "github.com/heaplapse/heaplapse/internal/option"

// All returns the words for each option.
func All() option.Flags {
	return option.Flags{
		option.Process:  "--process",
		option.Since:    "--since",
		option.Until:    "--until",
		option.Focus:    "--focus",
		option.Ignore:   "--ignore",
		option.GroupBy:  "--group-by",
		option.MinBytes: "--min-bytes",
		option.Top:      "--top",
		option.Explain:  "--explain",
		option.Verbose:  "-v",
		option.Symbols:  "--symbols",
		option.Markdown: "heaplapse report --format md",
		option.Evidence: "--evidence",

		option.Sysroot:    "--sysroot",
		option.Binary:     "--binary",
		option.DebugDir:   "--debug-dir",
		option.Debuginfod: "--debuginfod",
		option.PerfMap:    "--perf-map",
		option.SourceRoot: "--source-root",

		option.Work:            "--work",
		option.Workload:        "--workload",
		option.Force:           "--force",
		option.Regression:      "--bytes",
		option.RequireBaseline: "--require-baseline",
		option.TextOutput:      "-o text=-",

		option.Engine:         "--engine",
		option.Library:        "--library",
		option.Duration:       "--duration",
		option.FollowChildren: "--follow-children",
		option.MainOnly:       "--main-only",
		option.Wait:           "--wait",
		option.JIT:            "--jit",
		option.PythonMalloc:   "--python-malloc",
		option.Every:          "--every",
		option.EveryAlloc:     "--every-alloc",
		option.EveryInuse:     "--every-inuse",
		option.Signal:         "--signal",
		option.SamplePeriod:   "--sample-period",
		option.Keep:           "--keep",
		option.Output:         "-o",
		option.Replace:        "--replace",
		option.HoldersEvery:   "--holders-every",

		option.Header:   "--header",
		option.CACert:   "--cacert",
		option.Insecure: "--insecure",
		option.Timeout:  "--timeout",
		option.Retry:    "--retry",
		option.MaxSize:  "--max-size",

		option.BaselineSave:  "heaplapse baseline save",
		option.GateCommand:   "heaplapse gate",
		option.GrowthCommand: "heaplapse growth",
		option.InfoCommand:   "heaplapse info",
		option.RecordCommand: "heaplapse record",
		option.TopCommand:    "heaplapse top",
		option.ViewCommand:   "heaplapse view",
	}
}
