package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Name of the file that is read from the working directory if none is named.
const Name = "heaplapse.yaml"

// version of the format.
const version = "1"

// Config is what a file says.
type Config struct {
	Thresholds, Total gate.Override
	Sites             []gate.SiteRule
	Suppressions      suppress.List
}

// Parse reads a configuration; name stands for it in errors, which give the line. What of the suppressions has expired by now is set
// apart.
func Parse(text []byte, name string, now time.Time) (*Config, error) {
	p := &parser{name: name, now: now, c: &Config{Suppressions: suppress.List{Name: name}}}
	doc, err := p.document(text)
	if err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, p.errorf(&yaml.Node{Line: 1}, "empty: want at least version: %s", version)
	}
	if err := p.file(doc.Content[0]); err != nil {
		return nil, err
	}
	return p.c, nil
}

// document is the only one of a file: what stands in a second one must not be passed over.
func (p *parser) document(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := d.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		return nil, p.syntax(err)
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, p.errorf(&second, "a second document begins here: want one")
	case !errors.Is(err, io.EOF):
		return nil, p.syntax(err)
	}
	return &first, nil
}

type parser struct {
	name string
	now  time.Time
	c    *Config
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return &heapfile.SyntaxError{File: p.name, Line: n.Line, Msg: fmt.Sprintf(format, args...)}
}

// syntax takes the line out of an error of the YAML reader: "yaml: line 3: did not find …".
func (p *parser) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, msg, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(number); err == nil {
				return &heapfile.SyntaxError{File: p.name, Line: line, Msg: "not YAML: " + msg}
			}
		}
	}
	return fmt.Errorf("%s: not YAML: %s", p.name, text)
}

// field reads the value of one key.
type field func(value *yaml.Node) error

// mapping reads a mapping whose keys are all known. Order of the keys in messages: as they are given.
func (p *parser) mapping(n *yaml.Node, what string, keys []string, fields map[string]field) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s: want keys and values: %s", what, strings.Join(keys, ", "))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		read, ok := fields[key.Value]
		switch {
		case !ok || key.Kind != yaml.ScalarNode:
			return p.errorf(key, "%s: unknown key %q: want %s", what, key.Value, strings.Join(keys, ", "))
		case seen[key.Value]:
			return p.errorf(key, "%s: %s is there twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := read(n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) file(n *yaml.Node) error {
	versioned := false
	err := p.mapping(n, "the file", []string{"version", "thresholds", "total", "sites", "suppressions"}, map[string]field{
		"version": func(v *yaml.Node) error {
			versioned = true
			if v.Value != version {
				return p.errorf(v, "version %s: this heaplapse reads version %s", v.Value, version)
			}
			return nil
		},
		"thresholds":   func(v *yaml.Node) error { return p.override(v, "thresholds", &p.c.Thresholds) },
		"total":        func(v *yaml.Node) error { return p.override(v, "total", &p.c.Total) },
		"sites":        func(v *yaml.Node) error { return p.list(v, "sites", p.site) },
		"suppressions": func(v *yaml.Node) error { return p.list(v, "suppressions", p.suppression) },
	})
	if err == nil && !versioned {
		return p.errorf(n, "version is missing: want version: %s", version)
	}
	return err
}

func (p *parser) list(n *yaml.Node, what string, item func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "%s: want a list: each entry begins with \"- pattern:\"", what)
	}
	for _, v := range n.Content {
		if err := item(v); err != nil {
			return err
		}
	}
	return nil
}

var thresholdKeys = []string{"bytes", "percent", "z", "share_of_total"}

// thresholds are the fields of an override.
func (p *parser) thresholds(what string, o *gate.Override) map[string]field {
	into := func(to **float64, read func(string) (float64, error)) field {
		return func(v *yaml.Node) error {
			if v.Kind != yaml.ScalarNode {
				return p.errorf(v, "%s: want a number", what)
			}
			f, err := read(v.Value)
			if err != nil {
				return p.errorf(v, "%s: %v", what, err)
			}
			*to = &f
			return nil
		}
	}
	return map[string]field{
		"bytes":          into(&o.Bytes, Bytes),
		"percent":        into(&o.Percent, units.ParsePercent),
		"z":              into(&o.Z, units.ParseNumber),
		"share_of_total": into(&o.Share, Share),
	}
}

func (p *parser) override(n *yaml.Node, what string, o *gate.Override) error {
	return p.mapping(n, what, thresholdKeys, p.thresholds(what, o))
}

func (p *parser) site(n *yaml.Node) error {
	var rule gate.SiteRule
	pattern := ""
	fields := p.thresholds("sites", &rule.Override)
	fields["pattern"], fields["reason"] = p.text("sites: pattern", &pattern), p.text("sites: reason", &rule.Reason)
	if err := p.mapping(n, "sites", append([]string{"pattern", "reason"}, thresholdKeys...), fields); err != nil {
		return err
	}
	switch {
	case pattern == "":
		return p.errorf(n, "sites: an entry without a pattern")
	case rule.Override == gate.Override{}:
		return p.errorf(n, "sites: %s has no threshold: want %s", pattern, strings.Join(thresholdKeys, ", "))
	}
	var err error
	if rule.Pattern, err = suppress.Compile(pattern); err != nil {
		return p.errorf(n, "sites: %s: %v", pattern, err)
	}
	p.c.Sites = append(p.c.Sites, rule)
	return nil
}

func (p *parser) suppression(n *yaml.Node) error {
	var pattern, reason, until string
	err := p.mapping(n, "suppressions", []string{"pattern", "reason", "until"}, map[string]field{
		"pattern": p.text("suppressions: pattern", &pattern),
		"reason":  p.text("suppressions: reason", &reason),
		"until":   p.text("suppressions: until", &until),
	})
	if err != nil {
		return err
	}
	if pattern == "" || reason == "" {
		return p.errorf(n, "suppressions: an entry needs a pattern and a reason")
	}
	var end time.Time
	if until != "" {
		if end, err = time.Parse(time.DateOnly, until); err != nil {
			return p.errorf(n, "suppressions: until %s is no date: want YYYY-MM-DD", until)
		}
	}
	e, err := suppress.NewEntry(pattern, reason, end, p.name, n.Line)
	if err != nil {
		return p.errorf(n, "suppressions: %s: %v", pattern, err)
	}
	p.c.Suppressions.Add(e, p.now)
	return nil
}

func (p *parser) text(what string, to *string) field {
	return func(v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode {
			return p.errorf(v, "%s: want text", what)
		}
		*to = v.Value
		return nil
	}
}
