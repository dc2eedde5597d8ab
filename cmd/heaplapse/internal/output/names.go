package output

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// kinds are the formats that extensions of files stand for; "" is one that no command writes.
var kinds = map[string]string{
	".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv", ".sarif": "sarif",
	".pdf": "", ".ps": "", ".doc": "", ".docx": "", ".odt": "", ".xlsx": "", ".ods": "", ".pptx": "", ".rtf": "",
	".png": "", ".svg": "", ".jpg": "", ".jpeg": "", ".gif": "", ".xml": "", ".yaml": "", ".yml": "",
	".zip": "", ".gz": "", ".tgz": "",
}

// A format has a name for people, and an extension of files. Others are its other extensions.
type format struct {
	name, ext string
	others    []string
}

var formats = map[string]format{
	"text":   {"text", ".txt", nil},
	"html":   {"HTML", ".html", nil},
	"md":     {"Markdown", ".md", nil},
	"json":   {"JSON", ".json", nil},
	"csv":    {"CSV", ".csv", nil},
	"pprof":  {"a profile of pprof", ".pb.gz", []string{".gz"}},
	"folded": {"text", ".txt", nil},
	"bundle": {"an archive", bundle.Suffix, nil},
}

// CheckName returns an error if the name of the file of -o says that it has another format than the
// one that the command writes.
func CheckName(cmd *cobra.Command) error {
	out := cmd.Flags().Lookup("output")
	if out == nil || !out.Changed {
		return nil
	}
	file := out.Value.String()
	if value, _ := pflag.UnquoteUsage(out); value != "FILE" && (value != "OUT" || isDir(file)) {
		return nil
	}
	name, words := "bundle", []string(nil)
	if f := cmd.Flags().Lookup("format"); f != nil {
		name = f.Value.String()
		if list, ok := f.Value.(interface{ Words() []string }); ok {
			words = list.Words()
		}
	}
	if name == "" {
		name = FormatOf(file)
	}
	if err := checkForm(file, words); err != nil {
		return fmt.Errorf("-o %s: %w", file, err)
	}
	if reason := misnamed(file, name, words); reason != "" {
		return fmt.Errorf("-o %s: %s", file, reason)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || strings.HasSuffix(path, "/")
}

// checkForm returns an error for FORMAT=FILE, which is a form of gate only.
func checkForm(file string, words []string) error {
	word, rest, ok := strings.Cut(file, "=")
	if !ok || !slices.Contains(words, word) && !slices.Contains(gateFormatNames(), word) {
		return nil
	}
	if slices.Contains(words, word) {
		return fmt.Errorf("want the name of a file: --format %s -o %s", word, rest)
	}
	return fmt.Errorf("want the name of a file: -o %s", rest)
}

// misnamed tells what is wrong with the name of a file in a format; "" if nothing is. words are the
// formats that the user can choose.
func misnamed(file, name string, words []string) string {
	ext := filepath.Ext(file)
	kind, known := kinds[ext]
	f := formats[name]
	if ext == ".txt" && name == "html" {
		known = true
	}
	if !known || kind == name || slices.Contains(f.others, ext) {
		return ""
	}
	better := strings.TrimSuffix(file, ext)
	if !strings.HasSuffix(better, f.ext) { // as in x.json.gz
		better += f.ext
	}
	switch {
	case slices.Contains(words, kind):
		return fmt.Sprintf("the output is %s: --format %s writes %s, or name it %s", f.name, kind, formats[kind].name, better)
	case name == "html":
		return fmt.Sprintf("the page is HTML: name it %s, and let a browser print it", better)
	}
	return fmt.Sprintf("the output is %s: name it %s", f.name, better)
}

// FormatOf returns the format of a report that the extension of a file stands for.
func FormatOf(file string) string {
	switch kind := kinds[filepath.Ext(file)]; kind {
	case "md", "json":
		return kind
	}
	return "html"
}
