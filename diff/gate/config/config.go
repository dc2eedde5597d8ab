package config

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/units"
)

const (
	// Name is that of the file that is read if none is named.
	Name = "heaplapse.yaml"
	// version of the format.
	version = "1"
	// maxKeys bounds the keys of a mapping. No mapping has more than six that are known.
	maxKeys = 100
	// maxEntries bounds the entries of a list: as many suppressions as fit into a small file.
	maxEntries = 30000
)

// Config is the content of a file.
type Config struct {
	Thresholds, Total gate.Override
	Sites             []gate.SiteRule
	Suppressions      suppress.List
	// Sections are those of the caller, in the order of the file.
	Sections []Section
}

// Section has settings that are not about the gate.
type Section struct {
	Name     string
	Settings []Setting
}

// Setting is a key with a value or a list of values.
type Setting struct {
	Key    string
	Line   int
	Values []string
	IsList bool
}

// OfGate reports whether the file has settings of the gate.
func (c *Config) OfGate() bool {
	return c.Thresholds != gate.Override{} || c.Total != gate.Override{} || len(c.Sites) > 0 ||
		len(c.Suppressions.Entries)+len(c.Suppressions.Expired) > 0
}

// The file as YAML. Single values are nodes, which keep their text and their line.
type (
	file struct {
		Version      yaml.Node     `yaml:"version"`
		Thresholds   thresholds    `yaml:"thresholds"`
		Total        thresholds    `yaml:"total"`
		Sites        []site        `yaml:"sites"`
		Suppressions []suppression `yaml:"suppressions"`

		Sections map[string]yaml.Node `yaml:",inline"`
	}
	thresholds struct {
		Bytes   yaml.Node `yaml:"bytes"`
		Percent yaml.Node `yaml:"percent"`
		Z       yaml.Node `yaml:"z"`
		Share   yaml.Node `yaml:"share_of_total"`
	}
	site struct {
		Pattern    yaml.Node `yaml:"pattern"`
		Reason     yaml.Node `yaml:"reason"`
		thresholds `yaml:",inline"`
	}
	suppression struct {
		Pattern yaml.Node `yaml:"pattern"`
		Reason  yaml.Node `yaml:"reason"`
		Until   yaml.Node `yaml:"until"`
	}
)

// Read reads a configuration from a file. See [Parse].
func Read(path string, now time.Time, sections ...string) (*Config, error) {
	text, err := infile.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	return Parse(text, path, now, sections...)
}

// Parse reads a configuration. name is the name of the file in errors, which contain the line.
// Suppressions whose last day is before now are set apart. sections are the keys of the caller.
func Parse(text []byte, name string, now time.Time, sections ...string) (*Config, error) {
	p := parser{name, sections}
	if len(text) > infile.MaxSmall {
		return nil, p.errorf(0, "too large: %d bytes, want at most %d", len(text), infile.MaxSmall)
	}
	root, err := p.document(text)
	if err != nil {
		return nil, err
	}
	if err := p.check(root); err != nil {
		return nil, err
	}
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, p.reword(err)
	}
	return p.config(&f, root, now)
}

type parser struct {
	name     string
	sections []string
}

// document returns the root of the only document of a file: a second one must not be ignored.
func (p parser) document(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := d.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		return nil, p.reword(err)
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, p.errorf(second.Line, "a second document begins here: want one")
	case !errors.Is(err, io.EOF):
		return nil, p.reword(err)
	}
	if len(first.Content) == 0 {
		return nil, p.errorf(1, "empty: want at least version: %s", version)
	}
	return first.Content[0], nil
}

// check checks the version before the keys, because another version may have other keys, and what a
// small file could cost much time with.
func (p parser) check(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return p.errorf(root.Line, "the file: want keys and values: %s", p.keys())
	}
	v := child(root, "version")
	if v == nil {
		return p.errorf(root.Line, "version is missing: want version: %s", version)
	}
	if v.Value != version {
		return p.errorf(v.Line, "version %s: this heaplapse reads version %s", v.Value, version)
	}
	if err := p.bounds(root); err != nil {
		return err
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		if key.Kind == yaml.ScalarNode && !p.known(key.Value) {
			return p.errorf(key.Line, "the file: unknown key %q: want %s", key.Value, p.keys())
		}
	}
	return nil
}

// known reports whether a key of the file is one of the gate or of the caller.
func (p parser) known(key string) bool {
	return slices.Contains(p.sections, key) || slices.Contains(strings.Split(keysOf(reflect.TypeFor[file]()), ", "), key)
}

// keys lists the keys of the file.
func (p parser) keys() string {
	return strings.Join(append([]string{keysOf(reflect.TypeFor[file]())}, p.sections...), ", ")
}

// bounds refuses aliases, with which a small file can expand to a large one, mappings with many
// keys, which the decoder compares in pairs, and long lists, whose errors the decoder collects.
func (p parser) bounds(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Tag == "!!merge":
		return p.errorf(n.Line, "%s: aliases are not allowed", n.Value)
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		return p.errorf(n.Line, "a mapping with %d keys: want at most %d", len(n.Content)/2, maxKeys)
	case n.Kind == yaml.SequenceNode && len(n.Content) > maxEntries:
		return p.errorf(n.Line, "a list with %d entries: want at most %d", len(n.Content), maxEntries)
	}
	for _, c := range n.Content {
		if err := p.bounds(c); err != nil {
			return err
		}
	}
	return nil
}

// noNulls finds sections, and entries of lists, without content, which the decoder skips. In
// entries, a key without a value is a node with an empty text.
func (p parser) noNulls(root *yaml.Node) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		section := root.Content[i+1]
		for _, n := range append([]*yaml.Node{section}, section.Content...) {
			if n.Tag == "!!null" && (n == section || !slices.Contains(p.sections, root.Content[i].Value)) {
				return p.errorf(n.Line, "%s: no value", root.Content[i].Value)
			}
		}
	}
	return nil
}

// child returns the value of a key, nil if it is missing.
func child(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// config converts a file. root has the lines of its lists.
func (p parser) config(f *file, root *yaml.Node, now time.Time) (*Config, error) {
	c := &Config{Suppressions: suppress.List{Name: p.name}}
	if err := p.noNulls(root); err != nil {
		return nil, err
	}
	var err error
	if c.Thresholds, err = p.override("thresholds", f.Thresholds); err != nil {
		return nil, err
	}
	if c.Total, err = p.override("total", f.Total); err != nil {
		return nil, err
	}
	for i := range f.Sites {
		rule, err := p.rule(&f.Sites[i], child(root, "sites").Content[i].Line)
		if err != nil {
			return nil, err
		}
		c.Sites = append(c.Sites, rule)
	}
	for i := range f.Suppressions {
		entry, err := p.entry(&f.Suppressions[i], child(root, "suppressions").Content[i].Line)
		if err != nil {
			return nil, err
		}
		c.Suppressions.Add(entry, now)
	}
	for i := 0; i < len(root.Content); i += 2 {
		if name := root.Content[i].Value; slices.Contains(p.sections, name) {
			settings, err := p.settings(name, root.Content[i+1])
			if err != nil {
				return nil, err
			}
			c.Sections = append(c.Sections, Section{name, settings})
		}
	}
	return c, nil
}

// settings returns the keys and values of a section.
func (p parser) settings(section string, n *yaml.Node) (out []Setting, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n.Line, "%s: want keys and values", section)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if slices.ContainsFunc(out, func(s Setting) bool { return s.Key == key.Value }) {
			return nil, p.errorf(key.Line, "%s: %s occurs twice", section, key.Value)
		}
		s := Setting{Key: key.Value, Line: value.Line, IsList: value.Kind == yaml.SequenceNode}
		values := []*yaml.Node{value}
		if s.IsList {
			values = value.Content
		}
		for _, v := range values {
			switch {
			case v.Kind != yaml.ScalarNode:
				return nil, p.errorf(v.Line, "%s: %s: want a value, or a list of values", section, key.Value)
			case v.Tag == "!!null":
				return nil, p.errorf(v.Line, "%s: %s: no value", section, key.Value)
			}
			s.Values = append(s.Values, v.Value)
		}
		out = append(out, s)
	}
	return out, nil
}

// override converts thresholds. section is where they are.
func (p parser) override(section string, t thresholds) (gate.Override, error) {
	var out gate.Override
	for _, field := range []struct {
		from *yaml.Node
		to   **float64
		read func(string) (float64, error)
	}{
		{&t.Bytes, &out.Bytes, Bytes},
		{&t.Percent, &out.Percent, units.ParsePercent},
		{&t.Z, &out.Z, units.ParseNumber},
		{&t.Share, &out.Share, Share},
	} {
		switch field.from.Kind {
		case 0: // the key is missing
		case yaml.ScalarNode:
			v, err := field.read(field.from.Value)
			if err != nil {
				return out, p.errorf(field.from.Line, "%s: %v", section, err)
			}
			*field.to = &v
		default:
			return out, p.errorf(field.from.Line, "%s: want a number", section)
		}
	}
	return out, nil
}

func (p parser) rule(s *site, line int) (gate.SiteRule, error) {
	var out gate.SiteRule
	pattern, err := p.text("sites: pattern", &s.Pattern)
	if err != nil {
		return out, err
	}
	if out.Reason, err = p.text("sites: reason", &s.Reason); err != nil {
		return out, err
	}
	if out.Override, err = p.override("sites", s.thresholds); err != nil {
		return out, err
	}
	switch {
	case pattern == "":
		return out, p.errorf(line, "sites: an entry without a pattern")
	case out.Override == gate.Override{}:
		return out, p.errorf(line, "sites: %s has no threshold: want %s", pattern, keysOf(reflect.TypeFor[thresholds]()))
	}
	if out.Pattern, err = suppress.Compile(pattern); err != nil {
		return out, p.errorf(line, "sites: %s: %v", pattern, err)
	}
	return out, nil
}

func (p parser) entry(s *suppression, line int) (suppress.Entry, error) {
	var values [3]string
	for i, field := range []struct {
		name string
		node *yaml.Node
	}{{"pattern", &s.Pattern}, {"reason", &s.Reason}, {"until", &s.Until}} {
		var err error
		if values[i], err = p.text("suppressions: "+field.name, field.node); err != nil {
			return suppress.Entry{}, err
		}
	}
	pattern, reason, until := values[0], values[1], values[2]
	if pattern == "" || reason == "" {
		return suppress.Entry{}, p.errorf(line, "suppressions: an entry needs a pattern and a reason")
	}
	var end time.Time
	if until != "" {
		var err error
		if end, err = time.Parse(time.DateOnly, until); err != nil {
			return suppress.Entry{}, p.errorf(line, "suppressions: until %s is not a date: want YYYY-MM-DD", until)
		}
	}
	out, err := suppress.NewEntry(pattern, reason, end, p.name, line)
	if err != nil {
		return out, p.errorf(line, "suppressions: %s: %v", pattern, err)
	}
	return out, nil
}

// text returns the value of a key, "" if the key is missing.
func (p parser) text(key string, n *yaml.Node) (string, error) {
	if n.Kind != 0 && n.Kind != yaml.ScalarNode {
		return "", p.errorf(n.Line, "%s: want text", key)
	}
	return n.Value, nil
}
