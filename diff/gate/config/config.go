package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/units"
)

const (
	// Name is that of the file that is read from the working directory if none is named.
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
}

// The file as YAML. Single values are nodes, which keep their text and their line.
type (
	file struct {
		Version      yaml.Node     `yaml:"version"`
		Thresholds   thresholds    `yaml:"thresholds"`
		Total        thresholds    `yaml:"total"`
		Sites        []site        `yaml:"sites"`
		Suppressions []suppression `yaml:"suppressions"`
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
func Read(path string, now time.Time) (*Config, error) {
	text, err := infile.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	return Parse(text, path, now)
}

// ReadDefault reads the file called [Name] in the working directory, which must be regular. It
// returns nil if there is none.
func ReadDefault(now time.Time) (*Config, error) {
	text, err := infile.ReadSmallRegular(Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(text, Name, now)
}

// Parse reads a configuration. name is the name of the file in errors, which contain the line.
// Suppressions whose last day is before now are set apart.
func Parse(text []byte, name string, now time.Time) (*Config, error) {
	p := parser{name}
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

type parser struct{ name string }

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
		return p.errorf(root.Line, "the file: want keys and values: %s", keysOf(reflect.TypeFor[file]()))
	}
	v := child(root, "version")
	if v == nil {
		return p.errorf(root.Line, "version is missing: want version: %s", version)
	}
	if v.Value != version {
		return p.errorf(v.Line, "version %s: this heaplapse reads version %s", v.Value, version)
	}
	return p.bounds(root)
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
			if n.Tag == "!!null" {
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
	return c, nil
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
