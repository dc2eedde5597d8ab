package gate

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// The parts of SARIF 2.1.0 that are written
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool           `json:"tool"`
		Automation  sarifAutomation     `json:"automationDetails"`
		BaseURIs    map[string]sarifURI `json:"originalUriBaseIds"`
		Invocations []sarifInvocation   `json:"invocations"`
		ColumnKind  string              `json:"columnKind"`
		Results     []sarifResult       `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID     string      `json:"id"`
		Name   string      `json:"name"`
		Short  sarifText   `json:"shortDescription"`
		Full   sarifText   `json:"fullDescription"`
		Help   sarifText   `json:"help"`
		Config sarifConfig `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifURI struct {
		URI    string     `json:"uri,omitempty"`
		BaseID string     `json:"uriBaseId,omitempty"`
		About  *sarifText `json:"description,omitempty"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Stacks       []sarifStack       `json:"stacks,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Properties   map[string]any     `json:"properties"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifURI     `json:"artifactLocation"`
		Region   *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifStack struct {
		Message sarifText         `json:"message"`
		Frames  []sarifStackFrame `json:"frames"`
	}
	sarifStackFrame struct {
		Location sarifLocation `json:"location"`
		Module   string        `json:"module,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification,omitempty"`
	}
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL   = "https://github.com/heaplapse/heaplapse"
	sourceRootID = "SRCROOT"
	// maxName is the longest name, in characters, because viewers refuse large files (GitHub: 10
	// MiB compressed).
	maxName = 1000
	// maxResults is the number of results of a run that GitHub keeps.
	maxResults = 5000
)

// sarifRules are the kinds of regressions, by metric.
var sarifRules = []struct {
	metric                gate.Metric
	id, name, short, full string
}{
	{gate.MetricLevel, "heap-level", "HeapLevelRegression", "A function has more memory in use than before",
		"The bytes in use that this function allocated are higher than in the earlier runs, by more than the thresholds and the noise between runs."},
	{gate.MetricSlope, "heap-slope", "HeapSlopeRegression", "Memory of a function grows faster than before",
		"The bytes in use that this function allocated grow faster over the run than in the earlier runs: a leak that is new, or has become worse."},
	{gate.MetricAllocated, "heap-allocated", "HeapAllocatedRegression", "A function allocates more than before",
		"This function allocates more bytes for the same work than in the earlier runs."},
}

// ruleOf is the rule that a row violates, by the comparison that decided its status.
func ruleOf(r *gate.Row) string { return sarifRules[ruleIndex(r)].id }

func ruleIndex(r *gate.Row) int {
	for i, rule := range sarifRules {
		if len(r.Values) > 0 && r.Values[0].Metric == rule.metric {
			return i
		}
	}
	return 0
}

// SARIF writes the report as SARIF 2.1.0. Regressions are errors, suppressed rows are errors with a
// suppression, and rows that changed within the thresholds are notes. Results have the same
// fingerprints in every build.
func (g *Report) SARIF(w io.Writer) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "heaplapse", Version: g.Version, InformationURI: projectURL}},
		Automation:  sarifAutomation{"heaplapse/" + text.Clip(g.workload(), 100) + "/"},
		BaseURIs:    map[string]sarifURI{sourceRootID: {About: &sarifText{"the root of the source tree"}}},
		Invocations: []sarifInvocation{{true}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	help := " Run " + option.GateCommand + " with " + option.TextOutput + " for the evidence."
	for _, rule := range sarifRules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			rule.id, rule.name, sarifText{rule.short}, sarifText{rule.full},
			sarifText{rule.full + help}, sarifConfig{"error"}})
	}
	for i := range g.Rows {
		if level := sarifLevel(g.Rows[i].Status); level != "" && len(run.Results) < maxResults {
			run.Results = append(run.Results, g.sarifResult(&g.Rows[i], level))
		}
	}
	if g.worst() == &g.Total {
		run.Results = append(run.Results, g.sarifTotal())
	}
	return text.WriteJSON(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// workload distinguishes the results of several gates in one repository.
func (g *Report) workload() string {
	m := &g.Current.Meta
	switch {
	case m.Workload != "":
		return m.Workload
	case m.Program != "":
		return path.Base(m.Program)
	}
	return "heap"
}

// sarifLevel is the level of a row; empty if the row is not a result.
func sarifLevel(s gate.Status) string {
	switch s {
	case gate.Regressed, gate.Suppressed:
		return "error"
	case gate.Changed:
		return "note"
	}
	return ""
}

func (g *Report) sarifResult(r *gate.Row, level string) sarifResult {
	out := sarifResult{
		RuleID: ruleOf(r), RuleIndex: ruleIndex(r), Level: level, Message: sarifText{g.sarifMessage(r)},
		Locations: []sarifLocation{g.sarifPlace(blamed(r.Site))}, Fingerprints: fingerprints(r.Fingerprint),
		Properties: map[string]any{"status": r.Status, "values": valuesJSON(r.Values)},
	}
	if r.Site != nil && len(r.Site.Frames) > 0 {
		out.Stacks = []sarifStack{g.sarifStack("the largest call path", r.Site.Frames)}
	}
	if lost := g.lost(r); len(lost) > 0 && len(lost[0].Frames) > 0 {
		out.Stacks = append(out.Stacks, g.sarifStack("lost, according to "+lost[0].Report.Tool, lost[0].Stack()))
	}
	if r.Suppression != nil {
		out.Suppressions = []sarifSuppression{{"external", "accepted", suppressed(r)}}
	}
	return out
}

// fingerprints are those of a result. GitHub uses only primaryLocationLineHash. If it is missing,
// GitHub computes it from the text of the line, and closes and reopens the alert whenever that line
// is edited.
func fingerprints(id string) map[string]string {
	return map[string]string{"heaplapse/v1": id, "primaryLocationLineHash": id + ":1"}
}

// sarifMessage is the function, its change, its call path and advice.
func (g *Report) sarifMessage(r *gate.Row) string {
	text := viewOf(r).Clipped(200)
	if len(r.Values) > 0 {
		v := r.Values[0]
		text += fmt.Sprintf(": %s %s.", metricText(v.Metric), g.valueText(v))
	}
	if line := viewOf(r).CallPath(logWidth - 5); line != "" {
		text += " Call path: " + line + "."
	}
	if line := nowHeld(r); line != "" {
		text += " It is " + line + "."
	}
	for _, line := range siteview.Losses(g.lost(r)) {
		text += " " + line + "."
	}
	if advice := viewOf(r).Advice(false); advice != "" {
		text += " " + strings.ToUpper(advice[:1]) + advice[1:] + "."
	}
	return plainSARIF(text)
}

// plainSARIF breaks text that a viewer would read as a link, such as operator[](int) (SARIF 2.1.0,
// section 3.11.6).
func plainSARIF(s string) string { return strings.ReplaceAll(s, "](", "] (") }

// sarifTotal is the heap as a whole, at the location of the first row.
func (g *Report) sarifTotal() sarifResult {
	out := sarifResult{
		RuleID: sarifRules[0].id, Level: "error", Message: sarifText{plainSARIF(g.headline())},
		Fingerprints: fingerprints("total"),
		Properties:   map[string]any{"status": gate.Regressed, "values": valuesJSON(g.Total.Values)},
	}
	place := g.sarifPlace(nil)
	for i := range g.Rows {
		if f := blamed(g.Rows[i].Site); f != nil {
			place = g.sarifPlace(f)
			break
		}
	}
	out.Locations = []sarifLocation{place}
	return out
}

func (g *Report) sarifStack(what string, frames []symbolize.Frame) sarifStack {
	out := sarifStack{Message: sarifText{what}}
	for i := range frames[:min(maxStack, len(frames))] {
		out.Frames = append(out.Frames,
			sarifStackFrame{g.sarifLocation(&frames[i]), text.Clip(frames[i].Module, maxName)})
	}
	return out
}

// sarifPlace is the location of a result. A function without a source file is located in its module,
// because viewers need a file.
func (g *Report) sarifPlace(f *symbolize.Frame) sarifLocation {
	if f == nil {
		f = &symbolize.Frame{Module: g.Current.Meta.Program}
	}
	out := g.sarifLocation(f)
	if out.Physical == nil {
		file := path.Base(cmp.Or(f.File, f.Module, "unknown"))
		out.Physical = &sarifPhysical{Artifact: sarifURI{URI: relativeURI(file)}}
	}
	return out
}

// sarifLocation is the location of a frame: its function, and its source file if that is known.
func (g *Report) sarifLocation(f *symbolize.Frame) sarifLocation {
	out := sarifLocation{}
	if f.Function != "" {
		out.Logical = []sarifLogical{{text.Clip(f.Function, maxName), "function"}}
	}
	file, ok := g.sarifFile(f)
	if !ok {
		return out
	}
	out.Physical = &sarifPhysical{Artifact: file}
	if f.Line > 0 {
		out.Physical.Region = &sarifRegion{f.Line}
	}
	return out
}

// sarifFile is the source file of a frame. It is relative to the root of the source tree if it is
// below it, or if it is relative in the DWARF of the user's own code. ok is false for other relative
// paths, such as csu/libc-start.c, which are below an unknown directory.
func (g *Report) sarifFile(f *symbolize.Frame) (file sarifURI, ok bool) {
	name := path.Clean(f.File)
	switch {
	case f.File == "":
		return sarifURI{}, false
	case !path.IsAbs(name):
		return sarifURI{URI: relativeURI(name), BaseID: sourceRootID}, g.own(f)
	}
	root := path.Clean("/" + g.SourceRoot)
	if rest, below := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/"); below && g.SourceRoot != "" {
		return sarifURI{URI: relativeURI(rest), BaseID: sourceRootID}, true
	}
	return sarifURI{URI: (&url.URL{Scheme: "file", Path: name}).String()}, true
}

// systemModule matches the paths of libraries of the system, and of packages of Python.
var systemModule = regexp.MustCompile(`^/(usr/)?lib[a-z0-9]*/|/(site|dist)-packages/`)

// own reports whether a frame is of the user's own code: of a script, of the program, or of a library
// that is not one of the system or of a language.
func (g *Report) own(f *symbolize.Frame) bool {
	program := &g.Current.Meta
	switch {
	case identity.IsScript(f):
		return !systemModule.MatchString(f.File)
	case !program.Interpreted() && path.Base(f.Module) == path.Base(program.Program):
		return true
	case systemModule.MatchString(f.Module):
		return false
	}
	c := siteview.ClassOf(f)
	return c == class.Application || c == class.Library
}

// relativeURI escapes a path so that it is always a relative reference.
func relativeURI(file string) string { return (&url.URL{Path: file}).String() }
