package flagset

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/request"
)

// Requests has the flags of commands that send requests to a service.
type Requests struct {
	options request.Options
	headers []string
}

// Define adds the flags to a set.
func (f *Requests) Define(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "send a header `'NAME: VALUE'`, or those in the lines of @FILE (repeatable)")
	flags.StringVar(&f.options.CACert, "cacert", "",
		"trust the certificates in `FILE` (PEM) instead of those of the system")
	flags.BoolVarP(&f.options.Insecure, "insecure", "k", false, "trust every certificate")
	flags.Var(Time(&f.options.Timeout, time.Minute), "timeout", "give up a request after `TIME` (0: never)")
}

// Options returns how requests are made.
func (f *Requests) Options() (o request.Options, err error) {
	o = f.options
	o.Header, err = parseHeaders(f.headers)
	return o, err
}

// parseHeaders parses headers and files of headers, as curl does. Errors do not quote a header.
func parseHeaders(flags []string) (http.Header, error) {
	header := http.Header{}
	add := func(line, from string) error {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("--header: %s is no header: want NAME: VALUE", from)
		}
		header.Add(name, strings.TrimSpace(value))
		return nil
	}
	for _, text := range flags {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			if err := add(text, "the text"); err != nil {
				return nil, err
			}
			continue
		}
		content, err := infile.ReadSmall(path)
		if err != nil {
			return nil, fmt.Errorf("--header: %w", err)
		}
		n := 0
		for line := range strings.Lines(string(content)) {
			if n++; strings.TrimSpace(line) == "" {
				continue
			}
			if err := add(line, fmt.Sprintf("%s:%d", path, n)); err != nil {
				return nil, err
			}
		}
	}
	return header, nil
}
