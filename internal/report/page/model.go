package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"github.com/heaplapse/heaplapse/diff/ages"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/holders"
)

// Cause is a function through which many sites grow.
type Cause struct {
	Title string `json:"title"`
	Where string `json:"where"`
	// Explains is the part of the growth that it explains, as text.
	Explains string `json:"explains"`
}

// Model is the data of a page, and what `report --format json` prints:
// docs/schema/report.schema.json describes it. It is compact: each string is stored once, and
// columns are [Deltas].
type Model struct {
	Schema   string `json:"schema"`
	Tool     string `json:"tool"`
	Title    string `json:"title"`
	Verdict  string `json:"verdict"`
	Headline string `json:"headline"`
	// Meaning explains the verdict in at most two sentences.
	Meaning string `json:"meaning"`
	// Next is what to do about the worst site; it may be empty.
	Next    string `json:"next,omitempty"`
	Summary string `json:"summary"`
	// Heap and RSS are the sizes at the first and the last judged snapshot; RSS is null if it was
	// not recorded.
	Heap Ends  `json:"heap"`
	RSS  *Ends `json:"rss"`
	// Rate is that of the heap, in bytes per rate_per. Explained is the share of leaks in the
	// growth, 0 to 1.
	Rate      float64 `json:"rate"`
	Explained float64 `json:"explained"`
	// Processes are the verdicts on the processes of the recording, worst first. The page shows the
	// first.
	Processes []growth.ProcessJSON `json:"processes"`
	// Causes are functions through which many sites grow.
	Causes []Cause `json:"causes"`
	Limit  string  `json:"memory_limit,omitempty"`
	// Resident is where the resident memory was when the recorder looked last; it may be nil.
	Resident *rss.Result `json:"resident,omitempty"`
	Notes    []string    `json:"notes"`
	Warnings []string    `json:"warnings"`

	// Snapshots is the number in the series; Moments are those that are shown.
	Snapshots int      `json:"snapshots"`
	Moments   []Moment `json:"moments"`
	// Span is the time from the first to the last snapshot, as text; empty if times are not known.
	Span string `json:"span"`
	// Clock is the source of the times; RatePer is the unit that rates are per.
	Clock   string `json:"clock"`
	RatePer string `json:"rate_per"`
	// Judged are the first and the last judged moment.
	Judged [2]int `json:"judged"`
	// AgeEnds are the snapshots at which the parts of the series end into which sites divide their memory by age.
	AgeEnds []AgeEnd `json:"age_ends,omitempty"`
	// Kinds are the columns that each leaf has.
	Kinds []string `json:"kinds"`
	// Filtered reports whether a filter left stacks out, so that the leaves sum to less than the
	// heap.
	Filtered bool   `json:"filtered"`
	Folded   Folded `json:"folded"`

	Sites []Site `json:"sites"`
	// Strings are those that other tables refer to by index.
	Strings []string `json:"strings"`
	// Functions are [name, module], Frames [function, file, line].
	Functions [][2]int `json:"functions"`
	Frames    [][3]int `json:"frames"`
	// Runtimes are, by function, the names of the runtimes that functions are parts of, such as
	// CPython: indices of strings, the empty one for code of the application.
	Runtimes []int  `json:"runtimes"`
	Tree     Tree   `json:"tree"`
	Leaves   Leaves `json:"leaves"`

	// Pooled are the sites of several processes.
	Pooled []Pooled `json:"pooled_sites,omitempty"`

	smallHeap bool     // the heap explains little of the resident memory
	notes     []string // Notes, for a reader of the page

	packed  []byte // the result of pack
	process string // its name
	id      string // growth.ProcessID
	rows    []growth.ProcessRow
}

// Ends are the first and the last value, in bytes.
type Ends struct {
	First int64 `json:"first_bytes"`
	Last  int64 `json:"last_bytes"`
}

// Moment is a snapshot that is shown, with the exact values of the whole heap.
type Moment struct {
	// Snapshot is its number in the series, from 1.
	Snapshot int        `json:"snapshot"`
	File     string     `json:"file"`
	At       float64    `json:"at"`
	Time     *time.Time `json:"time"`
	Trigger  string     `json:"trigger"`
	// Image numbers the process images, from 0.
	Image        int    `json:"image"`
	InuseBytes   int64  `json:"inuse_bytes"`
	InuseObjects int64  `json:"inuse_objects"`
	AllocBytes   int64  `json:"alloc_bytes"`
	AllocObjects int64  `json:"alloc_objects"`
	RSSBytes     *int64 `json:"rss_bytes"`
	// Cut reports whether the snapshot is truncated: a site that it does not list has at most
	// AbsentMax bytes in use.
	Cut       bool  `json:"cut"`
	AbsentMax int64 `json:"absent_max_bytes"`
}

// AgeEnd is a snapshot at which a part of the series ends.
type AgeEnd struct {
	Snapshot int     `json:"snapshot"` // from 1
	At       float64 `json:"at"`
}

// Site is a row of the table. Labels in addition to those of growth: suppressed (known growth),
// other (folded sites) and unlisted (memory that truncated snapshots do not list).
type Site struct {
	Label string `json:"label"`
	// Verdict is the label and, where that matters, the chance of a leak, in words.
	Verdict    string  `json:"verdict,omitempty"`
	Confidence float64 `json:"confidence"`
	Title      string  `json:"title"`
	Where      string  `json:"where"`
	Function   string  `json:"function"`
	Module     string  `json:"module"`
	File       string  `json:"file"`
	Line       int     `json:"line"`
	Callers    string  `json:"callers"`
	Advice     string  `json:"advice,omitempty"`
	// Losses are what memcheck or LeakSanitizer found, in words.
	Losses []string `json:"losses,omitempty"`
	// Holder is what holds nearly all blocks of the site, and Holders all that hold some, in words.
	Holder  string   `json:"holder,omitempty"`
	Holders []string `json:"holders,omitempty"`
	// Looked is the number of blocks of which that is known, and Ways lead to them.
	Looked int             `json:"looked,omitempty"`
	Ways   []*holders.Node `json:"ways,omitempty"`
	// Ages are, for each of AgeEnds, the bytes in use then, by the part of the series in which they were allocated.
	Ages     []ages.Cohorts `json:"ages,omitempty"`
	Unnamed  string         `json:"unnamed,omitempty"`
	Resizing bool           `json:"resizing,omitempty"`
	// Meaning explains the verdict in at most two sentences.
	Meaning string `json:"meaning"`
	// Source is the lines around the one that allocates; nil if they are not shown.
	Source *Source `json:"source,omitempty"`
	// elsewhere is the file of the lines if it is here, but may not be shown; else "".
	elsewhere string

	key   identity.Key
	label verdict.Site
	// Growth is that of the judged snapshots, Now the last visible value, in bytes. Rates are in
	// bytes per rate_per.
	Growth   int64   `json:"growth_bytes"`
	Now      int64   `json:"now_bytes"`
	Rate     float64 `json:"rate"`
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`
	Stacks   int     `json:"stacks"`
	// Hidden are the moments at which a truncated snapshot does not list the site.
	Hidden []int  `json:"hidden,omitempty"`
	Paths  []Path `json:"paths"`
}

// Source is some lines of a source file.
type Source struct {
	Function string `json:"function"`
	File     string `json:"file"`
	// Line is the one that the site names, First that of the first of Lines.
	Line  int      `json:"line"`
	First int      `json:"first"`
	Lines []string `json:"lines"`
	// Changed reports whether the file was modified after the last snapshot was taken.
	Changed bool `json:"changed,omitempty"`
}

// Path is one of a site's call paths, the one that grew most first.
type Path struct {
	// Frames are leaf first; Blame is the index of the one that the memory is attributed to.
	Frames []int `json:"frames"`
	Blame  int   `json:"blame"`
	Growth int64 `json:"growth_bytes"`
	Now    int64 `json:"now_bytes"`
}

// Tree has for each node its caller (-1 for the first, which is the heap) and its function. Callers
// come first.
type Tree struct {
	Parents   []int `json:"parents"`
	Functions []int `json:"functions"`
	// Frames are, by node, a frame that has its file and line, -1 for none. Several are the nodes
	// that have other lines, too. Blamed are the nodes that memory is attributed to.
	Frames  []int `json:"frames"`
	Several []int `json:"several"`
	Blamed  []int `json:"blamed"`
}

// Leaves are the memory by node and site. Values are columns by kind.
type Leaves struct {
	Nodes  []int               `json:"nodes"`
	Sites  []int               `json:"sites"`
	Values map[string][]Deltas `json:"values"`
}

// Deltas are a column: the value at the first moment, then the difference from each moment to the
// next. Zeros at the end are left out.
type Deltas []int64

func deltas(v []int64) Deltas {
	out := Deltas{}
	last := int64(0)
	for _, x := range v {
		out = append(out, x-last)
		last = x
	}
	for len(out) > 0 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// Column returns the values at n moments.
func (d Deltas) Column(n int) []int64 {
	out := make([]int64, n)
	sum := int64(0)
	for i := range out {
		if i < len(d) {
			sum += d[i]
		}
		out[i] = sum
	}
	return out
}

// lay fills the model's tables with the tree, its leaves, and the functions and frames that they
// and the paths of the sites refer to. m.Sites must be complete; lay renumbers their frames.
func (m *Model) lay(c *code, g *grid) {
	t := tables{c: c, m: m, names: map[int]int{}, functions: map[int]int{}, frames: map[int]int{}}
	m.Strings, m.Functions, m.Frames, m.Runtimes = []string{}, [][2]int{}, [][3]int{}, []int{}
	m.Tree = Tree{Parents: g.tree.parents, Several: []int{}, Blamed: []int{}}
	for n, f := range g.tree.functions {
		m.Tree.Functions = append(m.Tree.Functions, t.function(f))
		m.Tree.Frames = append(m.Tree.Frames, t.place(n, &g.tree.places[n]))
	}
	for _, s := range m.Sites {
		for _, p := range s.Paths {
			for i, f := range p.Frames {
				p.Frames[i] = t.frame(f)
			}
		}
	}
	m.layLeaves(g)
}

func (m *Model) layLeaves(g *grid) {
	m.Leaves = Leaves{Nodes: []int{}, Sites: []int{}, Values: map[string][]Deltas{}}
	for _, kind := range m.Kinds {
		m.Leaves.Values[kind] = []Deltas{}
	}
	for _, l := range g.leaves {
		m.Leaves.Nodes, m.Leaves.Sites = append(m.Leaves.Nodes, l.node), append(m.Leaves.Sites, l.site)
		for k, kind := range m.Kinds {
			m.Leaves.Values[kind] = append(m.Leaves.Values[kind], deltas(l.columns[k]))
		}
	}
}

// tables numbers the names, functions and frames of a model in order of first use. Names of folded
// paths are left out.
type tables struct {
	c                        *code
	m                        *Model
	names, functions, frames map[int]int
}

func (t *tables) name(i int) int {
	return intern(t.names, &t.m.Strings, i, func() string { return t.c.names.list[i] })
}

func (t *tables) function(i int) int {
	f := t.c.functions[i]
	return intern(t.functions, &t.m.Functions, i, func() [2]int {
		t.m.Runtimes = append(t.m.Runtimes, t.name(f.runtime))
		return [2]int{t.name(f.name), t.name(f.module)}
	})
}

// place adds the places of a node, and returns the frame with the most memory; -1 if it has no
// file.
func (t *tables) place(node int, p *places) int {
	if p.blamed {
		t.m.Tree.Blamed = append(t.m.Tree.Blamed, node)
	}
	if len(p.frames) == 0 || t.c.names.list[t.c.frames[p.most()].file] == "" {
		return -1
	}
	if len(p.frames) > 1 {
		t.m.Tree.Several = append(t.m.Tree.Several, node)
	}
	return t.frame(p.most())
}

func (t *tables) frame(i int) int {
	f := t.c.frames[i]
	return intern(t.frames, &t.m.Frames, i,
		func() [3]int { return [3]int{t.function(f.function), t.name(f.file), f.line} })
}

// JSON writes the model as heaplapse.report/1, in one line: most of it is numbers.
func (m *Model) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(m)
}

// pack returns the model's JSON, compressed.
func (m *Model) pack() ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	err := errors.Join(m.JSON(z), z.Close())
	return out.Bytes(), err
}
