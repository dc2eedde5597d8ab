// Package option has the flags and the commands that texts advise: the remedies of results and errors. No other package
// below cmd names one, and a test of cmd checks that each exists where it is advised.
package option

// Options of commands that read snapshots.
const (
	Process  = "--process"
	Since    = "--since"
	Until    = "--until"
	Focus    = "--focus"
	Ignore   = "--ignore"
	GroupBy  = "--group-by"
	MinBytes = "--min-bytes"
	Top      = "--top"
	Explain  = "--explain"
	Verbose  = "-v"
	Symbols  = "--symbols"
	Markdown = "heaplapse report --format md"
	Evidence = "--evidence"

	// Options that set where files are.
	Sysroot    = "--sysroot"
	Binary     = "--binary"
	DebugDir   = "--debug-dir"
	Debuginfod = "--debuginfod"
	PerfMap    = "--perf-map"
	SourceRoot = "--source-root"

	// Options of the regression check.
	Work            = "--work"
	Workload        = "--workload"
	Force           = "--force"
	Regression      = "--bytes"
	RequireBaseline = "--require-baseline"
	TextOutput      = "-o text=-"

	// Options of the recorder.
	Engine         = "--engine"
	Library        = "--library"
	Duration       = "--duration"
	FollowChildren = "--follow-children"
	MainOnly       = "--main-only"
	Wait           = "--wait"
	JIT            = "--jit"
	PythonMalloc   = "--python-malloc"
	Every          = "--every"
	EveryAlloc     = "--every-alloc"
	EveryInuse     = "--every-inuse"
	Signal         = "--signal"
	SamplePeriod   = "--sample-period"
	Keep           = "--keep"
	Output         = "-o"
	Replace        = "--replace"
	HoldersEvery   = "--holders-every"

	// Options of requests to a service.
	Header   = "--header"
	CACert   = "--cacert"
	Insecure = "--insecure"
	Timeout  = "--timeout"
	Retry    = "--retry"
	MaxSize  = "--max-size"

	// Commands.
	BaselineSave  = "heaplapse baseline save"
	GateCommand   = "heaplapse gate"
	GrowthCommand = "heaplapse growth"
	InfoCommand   = "heaplapse info"
	RecordCommand = "heaplapse record"
	TopCommand    = "heaplapse top"
	ViewCommand   = "heaplapse view"
)
