package processtable

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// Commands are the commands of processes, each on one line. Programs have their base names, unless
// commands are the same then that are not.
func Commands(all [][]string) []string {
	short, whole := make([]string, len(all)), make([]string, len(all))
	wholeOf, same := map[string]string{}, true
	for i, command := range all {
		whole[i] = text.Clean(strings.Join(command, " "))
		if len(command) > 0 {
			short[i] = text.Clean(strings.Join(append([]string{program(command[0])}, command[1:]...), " "))
		}
		other, known := wholeOf[short[i]]
		same = same && (!known || other == whole[i])
		wholeOf[short[i]] = whole[i]
	}
	if same {
		return short
	}
	return whole
}

// program is the base name of a program. A process may have replaced its arguments with one title, as nginx does:
//
//	/usr/sbin/nginx: master process nginx -c /etc/nginx/nginx.conf
func program(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return path.Base(first) + name[len(first):]
}

// Shorten returns rows whose commands have at most a width in columns. What is left of a longer one
// is the program, and where it differs from the command that is most like it.
func Shorten(rows []Row, width int) []Row {
	distinct := map[string]int{}
	for i := range rows {
		distinct[rows[i].Command] = 0
	}
	sorted := slices.Sorted(maps.Keys(distinct))
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		n := text.Common([]byte(a), []byte(b))
		distinct[a], distinct[b] = max(distinct[a], n), n
	}
	out := slices.Clone(rows)
	for i := range out {
		c := &out[i].Command
		*c = shortCommand(*c, distinct[*c], width)
	}
	return out
}

// shortCommand shortens a command to a width in columns. It differs from others from a byte on.
//
//	python3 -c from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=8) --multiprocessing-fork
//	python3 … pipe_handle=8) --multipro…
func shortCommand(line string, differs, width int) string {
	const separators, least = " /.", 8
	program, _, _ := strings.Cut(line, " ")
	room := width - text.Width(program) - text.Width(" … ")
	if text.Width(line) <= width || differs+least <= width/2 || room < least {
		return text.Clip(line, width)
	}
	start := 1 + strings.LastIndexAny(line[:differs], separators)
	for start > 0 {
		before := 1 + strings.LastIndexAny(line[:start-1], separators)
		if text.Width(line[before:]) > room {
			break
		}
		start = before
	}
	if start <= len(program)+1 {
		return text.Clip(line, width)
	}
	return program + " … " + text.ClipEnd(line[start:], room)
}
