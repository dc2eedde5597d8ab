// Package console prints the messages of a command: errors, warnings, and the notices of a
// [pipeline.Pipeline].
package console

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// Console has the standard streams of a command. Its methods print messages.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	// Quiet leaves out remarks, and warnings that the result does not depend on. Verbose prints
	// every warning.
	Quiet, Verbose bool
	// Failed reports whether a notice makes the command fail.
	Failed bool
}

// Pipeline returns the steps of a command, which tell what is wrong with the input.
func (c *Console) Pipeline() *pipeline.Pipeline {
	return &pipeline.Pipeline{
		Stdin: c.In, Tell: c.Tell, Verbose: c.Verbose,
		Waiting: func(path string) { c.Say("waiting for data: %s is a pipe", text.Message(path)) },
		Progress: func(what string) (update func(done, all int), end func()) {
			bar := terminal.NewProgress(c.Err, what)
			return bar.Update, bar.Done
		},
	}
}

// Tell prints a notice and lets it decide whether the command fails.
func (c *Console) Tell(n pipeline.Notice) {
	if n.Severity != pipeline.Warning {
		c.Failed = true
	}
	switch {
	case n.Severity == pipeline.Failure:
		c.printError(c.Words(n))
	case n.Doubtful:
		c.Doubt(c.Words(n))
	default:
		c.Warn(c.Words(n))
	}
}

// TellFailures tells failures only. Other notices decide whether the command fails.
func (c *Console) TellFailures(n pipeline.Notice) {
	switch n.Severity {
	case pipeline.Failure:
		c.Tell(n)
	case pipeline.StrictWarning:
		c.Failed = true
	}
}

// Words returns a notice in words, with the flags that help.
func (c *Console) Words(n pipeline.Notice) string {
	switch n.Kind {
	case pipeline.MissingModules:
		const shown = 3
		list := n.Modules
		if len(list) > shown && !c.Verbose {
			list = append(list[:shown:shown], fmt.Sprintf("and %d more", len(list)-shown))
		}
		return fmt.Sprintf("not found, so their functions have no names: %s (see %s, %s)", strings.Join(list, ", "),
			option.Sysroot, option.Binary)
	case pipeline.OtherProcesses:
		return n.Text + text.OtherProcesses()
	case pipeline.UnnamedFunctions:
		return "no names in the bundle: " + siteview.Unnamed{Unnamed: n.Unnamed}.Sentence()
	case pipeline.UnusedDebugFile:
		return option.DebugDir + " " + n.Text
	case pipeline.SkippedBaseline:
		return n.Text + "; left out because of " + option.Force
	}
	return n.Text
}

// Complain prints an error, one line for each of several different ones that were joined.
func (c *Console) Complain(err error) {
	var side *pipeline.SideError
	switch {
	case errors.Is(err, pipeline.ErrNothingKept):
		err = fmt.Errorf("%s and %s leave no stack: %s lists all functions", option.Focus, option.Ignore, option.TopCommand)
	case errors.As(err, &side):
		err = fmt.Errorf("%w; %s BASE,CURRENT names one of each PATH", err, option.Process)
	}
	for _, line := range slices.Compact(strings.Split(Reworded(err), "\n")) {
		c.printError(line)
	}
}

// Reworded returns the text of an error. Where it quotes one of the system about a path, it says
// what to do instead.
func Reworded(err error) string {
	line := err.Error()
	var system *fs.PathError
	if !errors.As(err, &system) {
		if denied := syscall.EACCES.Error(); strings.HasSuffix(line, denied) {
			return line + useAnotherUser
		}
		return line
	}
	return strings.Replace(line, system.Error(), remedy(system), 1)
}

const useAnotherUser = ": use a user who has access"

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func remedy(e *fs.PathError) string {
	makes := slices.Contains([]string{"create", "mkdir"}, e.Op)
	switch {
	case errors.Is(e.Err, syscall.ENOENT) && makes && isDir(filepath.Dir(e.Path)): // in /proc
		return e.Path + ": cannot be made there: choose another path"
	case errors.Is(e.Err, syscall.ENOENT) && makes:
		return fmt.Sprintf("%s: there is no directory %s: make it first", e.Path, filepath.Dir(e.Path))
	case errors.Is(e.Err, syscall.ENOENT):
		return e.Path + ": no such file or directory: check the path"
	case errors.Is(e.Err, syscall.ENOTDIR):
		return e.Path + ": a file, where a directory is needed: check the path"
	case errors.Is(e.Err, syscall.EISDIR):
		return e.Path + ": a directory, where a file is needed: check the path"
	case makes && (errors.Is(e.Err, syscall.EACCES) || errors.Is(e.Err, syscall.EROFS)):
		return fmt.Sprintf("%s: %v: choose another place, with -o", e.Path, e.Err)
	case errors.Is(e.Err, syscall.EACCES), errors.Is(e.Err, syscall.EPERM):
		return e.Path + ": permission denied" + useAnotherUser
	}
	return e.Error()
}

// Warn prints a warning.
func (c *Console) Warn(line string) {
	if !c.Quiet {
		c.printError("warning: " + line)
	}
}

// Doubt prints a warning about data that is missing or suspect, also if the console is quiet: the
// result may be wrong because of it.
func (c *Console) Doubt(line string) { c.printError("warning: " + line) }

// printError prints a message, which may quote the input.
func (c *Console) printError(line string) {
	c.print(text.Message(line))
}

// print prints a message in the lines and the characters that the terminal takes.
func (c *Console) print(message string) {
	_, _ = io.WriteString(c.Err, text.Fitted("heaplapse: "+message+"\n", terminal.Width(c.Err), terminal.UTF8(c.Err, os.Getenv)))
}

// Say prints a remark about what the command does, which may quote the input.
func (c *Console) Say(format string, args ...any) {
	if c.Quiet {
		return
	}
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i, line := range lines {
		lines[i] = text.Message(line)
	}
	c.print(strings.Join(lines, "\n"))
}
