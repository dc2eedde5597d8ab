// Package settings reads heaplapse.yaml, which may set every flag of every command:
//
//	version: 1
//	all: {sysroot: /srv/images/web}
//	growth: {snapshots: 96, strict: true}
//
// The section of a command precedes the section all, and the command line precedes both.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// All is the section of flags for all commands that have them.
const All = "all"

// named is what only a file that the user names, or that of the user's directory, may set: flags
// that choose programs to run, files to write, and where data is sent to. Someone else may have put
// a file into the current directory, for example as a part of a repository.
var named = []string{"library", "engine", "output", "duckdb", "url", "header", "cacert", "insecure", "debuginfod"}

// File is the file that is used. The zero value is that there is none.
type File struct {
	Path string
	*config.Config

	found bool // in the current directory, and not named by the user
}

// Read reads the file that the user names; else heaplapse.yaml of the current directory, if it
// belongs to the user or root; else that of the user's directory for configurations. warn is called
// with the reason why a file is not used.
func Read(root *cobra.Command, path string, warn func(string)) (File, error) {
	sections, now := Sections(root), time.Now()
	if path != "" {
		c, err := config.Read(path, now, sections...)
		return File{Path: path, Config: c}, err
	}
	f, _, err := infile.OpenOwned(config.Name, os.Geteuid())
	switch {
	case err == nil:
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, infile.MaxSmall+1))
		if err != nil {
			return File{}, err
		}
		c, err := config.Parse(text, config.Name, now, sections...)
		return File{config.Name, c, true}, err
	case !errors.Is(err, fs.ErrNotExist):
		warn(fmt.Sprintf("%s is not used: it %s; --config %[1]s uses it", config.Name, whyNot(err)))
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return File{}, nil // there is no such directory
	}
	path = filepath.Join(base, "heaplapse", config.Name)
	c, err := config.Read(path, now, sections...)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	return File{Path: path, Config: c}, err
}

// whyNot tells why a file is not used.
func whyNot(err error) string {
	var reason *fs.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	if errors.Is(err, infile.ErrNotRegular) {
		return "is " + err.Error()
	}
	return err.Error()
}

// Sections returns the names of the sections: one for each command that has flags of its own.
func Sections(root *cobra.Command) []string {
	names := []string{All}
	for name := range Commands(root) {
		names = append(names, name)
	}
	slices.Sort(names[1:])
	return names
}

// Commands returns the commands that can be configured, by the names of their sections.
func Commands(root *cobra.Command) map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		if c.Name() == "completion" || c.Hidden {
			continue // belongs to cobra, or is for packages
		}
		if c.HasSubCommands() {
			for name, sub := range Commands(c) {
				out[c.Name()+" "+name] = sub
			}
		} else if c.Name() != "help" && c.Name() != "version" {
			out[c.Name()] = c
		}
	}
	return out
}

// Keys returns the flags that a section may set.
func Keys(cmd *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) {
		if help.Setting(f) {
			names = append(names, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}

// Configurable reports whether a command has a section.
func Configurable(cmd *cobra.Command) bool {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return Commands(cmd.Root())[name] == cmd
}

// Apply sets the flags of a command that the command line does not set.
func (f File) Apply(cmd *cobra.Command) error {
	if f.Config == nil {
		return nil
	}
	if err := f.check(cmd.Root()); err != nil {
		return err
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	for _, section := range []string{name, All} {
		for _, s := range f.Sections {
			if s.Name != section {
				continue
			}
			for _, setting := range s.Settings {
				if err := f.set(cmd, section, setting); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check finds keys that are no flags, in the sections of all commands.
func (f File) check(root *cobra.Command) error {
	keys := map[string][]string{}
	for name, cmd := range Commands(root) {
		keys[name] = Keys(cmd)
		keys[All] = append(keys[All], keys[name]...)
	}
	for _, section := range f.Sections {
		for _, s := range section.Settings {
			if !slices.Contains(keys[section.Name], s.Key) {
				return f.errorf(s, "%s: unknown key %q%s", section.Name, s.Key, help.DidYouMean(s.Key, keys[section.Name]))
			}
		}
	}
	return nil
}

// set sets a flag, if the command has it and the command line does not set it.
func (f File) set(cmd *cobra.Command, section string, s config.Setting) error {
	flag := cmd.Flags().Lookup(s.Key)
	switch {
	case flag == nil || flag.Changed:
		return nil
	case f.found && slices.Contains(named, s.Key):
		return f.errorf(s, "%s: %s is not taken from the current directory, where others may have put this file: use --config %s", section, s.Key, f.Path)
	case s.IsList && flag.Value.Type() != "stringArray":
		return f.errorf(s, "%s: %s: want one value, not a list", section, s.Key)
	}
	for _, v := range s.Values {
		if err := cmd.Flags().Set(s.Key, v); err != nil {
			return f.errorf(s, "%s: %s", section, help.Reason(flag, v, err))
		}
	}
	return nil
}

func (f File) errorf(s config.Setting, format string, args ...any) error {
	return &heapfile.SyntaxError{File: f.Path, Line: s.Line, Msg: fmt.Sprintf(format, args...)}
}
