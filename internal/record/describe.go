package record

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/units"
)

// Script returns the recording as a command that a shell can run.
func (p *Plan) Script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s; %s\n# snapshots %s, in %s\n", p.Engine, p.Why, p.Cost, p.When, p.Dir)
	for _, s := range p.Settings {
		fmt.Fprintf(&b, "%s=%s \\\n", s.Name, ShellQuote(s.Value))
	}
	for i, arg := range p.Command {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(ShellQuote(arg))
	}
	b.WriteByte('\n')
	return b.String()
}

// ShellQuote quotes a word for sh if necessary.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Describe returns what is recorded, how, and where to, one fact a line.
func (p *Plan) Describe() []string {
	engine := p.Engine
	if p.Library.Version != "" {
		engine += " " + p.Library.Version
	}
	out := []string{
		fmt.Sprintf("recording %s with %s (%s): %s", p.Command[0], engine, p.Why, p.Cost),
		fmt.Sprintf("snapshots %s go to %s", p.When, p.Dir),
	}
	for _, h := range p.Hints {
		out = append(out, "hint: "+h)
	}
	return out
}

// String returns how many snapshots there are of which processes, and how the program failed, if it did.
func (o Outcome) String() string {
	of := fmt.Sprintf("process %d", o.Main)
	if o.Processes > 1 {
		of = fmt.Sprintf("%d processes", o.Processes)
	}
	return units.Count(o.Snapshots, "snapshot") + " of " + of + o.failure()
}

// failure returns how the program failed; "" if it did not, or was ended.
func (o Outcome) failure() string {
	const shell = 128 // a shell adds it to the number of a signal
	switch number := cmp.Or(o.Signal, max(o.Status-shell, 0)); {
	case o.Status == 0 || number == int(syscall.SIGTERM) || number == int(syscall.SIGINT):
		return ""
	case o.Signal != 0:
		return fmt.Sprintf("; the program was killed by %s", unix.SignalName(syscall.Signal(o.Signal)))
	}
	return fmt.Sprintf("; the program failed with exit status %d", o.Status)
}
