// Command house draws docs/architecture.svg: the rooms of heaplapse, the packages in each, and
// which room imports which, as `go list` tells. It needs dot, of Graphviz.
//
//	go run -C scripts ./house          draws it
//	go run -C scripts ./house -check   fails if it does not show the packages and imports of today
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const (
	module  = "github.com/heaplapse/heaplapse"
	root    = ".." // of the product, from the directory of this module
	picture = "docs/architecture.svg"
)

func main() {
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	packages, err := list(root)
	if err != nil {
		return err
	}
	text, file := describe(packages), path.Join(root, picture)
	if check {
		svg, err := os.ReadFile(file)
		if err == nil && !strings.HasSuffix(string(svg), mark(text)) {
			err = errors.New(picture + " is out of date: go run -C scripts ./house draws it again")
		}
		return err
	}
	dot := exec.Command("dot", "-Tsvg")
	dot.Stdin, dot.Stderr = strings.NewReader(text), os.Stderr
	svg, err := dot.Output()
	if err != nil {
		return fmt.Errorf("dot: %w", err)
	}
	return os.WriteFile(file, append(svg, mark(text)...), 0o644)
}

// mark is a comment at the end of the picture that identifies what it shows. The rest of the
// picture depends on the version of Graphviz.
func mark(text string) string { return fmt.Sprintf("<!-- %x -->\n", sha256.Sum256([]byte(text))) }

// list returns the packages of the product, without those for tests, and what each imports of the
// product.
func list(root string) (map[string][]string, error) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		owned := func(name string) bool { return strings.HasPrefix(name, module+"/") }
		names := slices.DeleteFunc(strings.Fields(line), func(name string) bool { return !owned(name) })
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, module+"/")
		}
		names = slices.DeleteFunc(names, forTests)
		if len(names) > 0 && strings.HasPrefix(line, module+"/"+names[0]) {
			packages[names[0]] = names[1:]
		}
	}
	return packages, nil
}

// forTests reports whether a package is an example, or has what tests need.
func forTests(name string) bool {
	return strings.HasSuffix(name, "test") || strings.Contains(name, "testdata") || strings.HasPrefix(name, "examples/") ||
		strings.HasPrefix(name, "internal/testutil")
}

// roomOf returns the room of a package: a directory of the product, or of internal or cmd.
// preloadfile stores a file for the engine, too, and is no part of the recorder.
func roomOf(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case path.Base(name) == "preloadfile":
		return name
	case parts[0] == "internal", parts[0] == "cmd":
		return path.Join(parts[:2]...)
	}
	return parts[0]
}

// room is some packages, and the rooms that they import.
type room struct {
	packages []string // below the room, by name
	imports  map[string]bool
}

func roomsOf(packages map[string][]string) map[string]*room {
	rooms := map[string]*room{}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		in := roomOf(name)
		r := rooms[in]
		if r == nil {
			r = &room{imports: map[string]bool{}}
			rooms[in] = r
		}
		if name != in {
			r.packages = append(r.packages, strings.ReplaceAll(strings.TrimPrefix(name, in+"/"), "internal/", ""))
		}
		for _, imported := range packages[name] {
			if to := roomOf(imported); to != in {
				r.imports[to] = true
			}
		}
	}
	return rooms
}

// withoutHelpers removes the rooms below internal that import no other room but such ones, and
// returns their names.
func withoutHelpers(rooms map[string]*room) (helpers []string) {
	for found := true; found; {
		found = false
		for _, name := range slices.Sorted(maps.Keys(rooms)) {
			if len(rooms[name].imports) > 0 || !strings.HasPrefix(name, "internal/") {
				continue
			}
			delete(rooms, name)
			for _, r := range rooms {
				delete(r.imports, name)
			}
			helpers, found = append(helpers, path.Base(name)), true
		}
	}
	slices.Sort(helpers)
	return helpers
}

// reached adds the rooms that a room imports, also by way of others.
func reached(rooms map[string]*room, from string, all map[string]bool) map[string]bool {
	for next := range rooms[from].imports {
		if !all[next] {
			all[next] = true
			reached(rooms, next, all)
		}
	}
	return all
}

// describe returns the picture in the language of dot. An arrow that others imply is left out.
func describe(packages map[string][]string) string {
	rooms := roomsOf(packages)
	helpers := withoutHelpers(rooms)
	var b strings.Builder
	b.WriteString("digraph house {\n" +
		"bgcolor=white; ranksep=0.35; nodesep=0.3; fontname=Helvetica; fontsize=11;\n" +
		"node [shape=box, style=filled, fillcolor=\"#eef3fa\", color=\"#5b7aa5\", fontname=Helvetica, fontsize=11];\n" +
		"edge [color=\"#5b7aa5\", arrowsize=0.6];\n")
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintf(&b, "%q [label=<<b>%s</b>%s>];\n", name, name, lines(rooms[name].packages))
		for _, to := range slices.Sorted(maps.Keys(rooms[name].imports)) {
			implied := func(by string) bool { return by != to && reached(rooms, by, map[string]bool{})[to] }
			if !slices.ContainsFunc(slices.Collect(maps.Keys(rooms[name].imports)), implied) {
				fmt.Fprintf(&b, "%q -> %q;\n", name, to)
			}
		}
	}
	fmt.Fprintf(&b, "label=<helpers, which import none of these:%s>;\n}\n", lines(helpers))
	return b.String()
}

// lines are names in lines of a readable width.
func lines(names []string) string {
	const width = 44
	var b strings.Builder
	used := width
	for _, name := range slices.SortedFunc(slices.Values(names), cmp.Compare) {
		if used += len(name) + 2; used > width {
			b.WriteString("<br/>")
			used = len(name) + 2
		}
		b.WriteString(name + "&#160; ")
	}
	return b.String()
}
