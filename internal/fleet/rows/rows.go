// Package rows turns judged series into the rows of a fleet's tables.
//
// All judgement of curves happens before: what the tables hold can be counted, summed and averaged,
// and nothing else is needed to answer questions about a fleet. Bytes are whole numbers, and
// confidences are multiples of 1/4096, whose sums are exact, so that all engines give the same
// answers.
//
// docs/schema/fleet.schema.json describes the columns.
package rows

// Run is a row of the table runs: one process, one night.
type Run struct {
	Night      string            `parquet:"night,dict"`
	RunID      string            `parquet:"run_id,dict"`
	Service    string            `parquet:"service,dict"`
	Host       string            `parquet:"host,dict"`
	PID        int64             `parquet:"pid"`
	BuildID    string            `parquet:"build_id,dict"`
	BuildSeq   *int64            `parquet:"build_seq,optional"`
	Program    string            `parquet:"program,dict"`
	Workload   string            `parquet:"workload,dict"`
	Labels     map[string]string `parquet:"labels"`
	Format     string            `parquet:"format,dict"`
	Period     int64             `parquet:"period"`
	HasAlloc   bool              `parquet:"has_alloc"`
	Clock      string            `parquet:"clock,dict"`
	Snapshots  int64             `parquet:"snapshots"`
	Truncated  int64             `parquet:"truncated"`
	Started    *int64            `parquet:"started,optional"`
	Span       *int64            `parquet:"span,optional"`
	Heap       int64             `parquet:"heap"`
	HeapGained int64             `parquet:"heap_gained"`
	HeapSlope  *int64            `parquet:"heap_slope,optional"`
	RSS        *int64            `parquet:"rss,optional"`
	RSSSlope   *int64            `parquet:"rss_slope,optional"`
	Limit      *int64            `parquet:"memory_limit,optional"`
	Verdict    string            `parquet:"verdict,dict"`
	Status     string            `parquet:"status,dict"`
	Sites      int64             `parquet:"sites"`
	Tool       string            `parquet:"tool,dict"`
	Model      string            `parquet:"model,dict"`
}

// Site is a row of the table sites: one function of one run, stable ones included.
type Site struct {
	Night      string  `parquet:"night,dict"`
	RunID      string  `parquet:"run_id,dict"`
	Service    string  `parquet:"service,dict"`
	Host       string  `parquet:"host,dict"`
	BuildID    string  `parquet:"build_id,dict"`
	SiteKey    int64   `parquet:"site_key,dict"`
	KeyKind    string  `parquet:"key_kind,dict"`
	PathKey    int64   `parquet:"path_key,dict"`
	Function   string  `parquet:"function,dict"`
	Module     string  `parquet:"module,dict"`
	File       string  `parquet:"file,dict"`
	Line       *int64  `parquet:"line,optional"`
	Label      string  `parquet:"label,dict"`
	Confidence float64 `parquet:"confidence,dict"`
	Gained     int64   `parquet:"gained"`
	Slope      *int64  `parquet:"slope,optional"`
	SlopeError *int64  `parquet:"slope_error,optional"`
	Sigma      int64   `parquet:"sigma"`
	Level      int64   `parquet:"level"`
	Now        int64   `parquet:"now"`
	Objects    int64   `parquet:"objects"`
	Noise      int64   `parquet:"noise"`
	CallPaths  int64   `parquet:"call_paths"`
	// OldShare is the share of Now that was allocated in the first half of the series, or nil if that is not known.
	OldShare *float64 `parquet:"old_share,optional"`
}

// Alias is a row of the table aliases: a function that has another key in a later build.
type Alias struct {
	Night       string `parquet:"night,dict"`
	Service     string `parquet:"service,dict"`
	OldBuildID  string `parquet:"old_build_id,dict"`
	NewBuildID  string `parquet:"new_build_id,dict"`
	OldKey      int64  `parquet:"old_key"`
	NewKey      int64  `parquet:"new_key"`
	OldFunction string `parquet:"old_function"`
	NewFunction string `parquet:"new_function"`
	Bytes       int64  `parquet:"bytes"`
}

// Exported is a run with its sites.
type Exported struct {
	Run   Run
	Sites []Site
}
