package processtable

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsTellProcessesApart: in a narrow column, a long command shows its program, and where it differs from the
// others.
func TestCommandsTellProcessesApart(t *testing.T) {
	const venv = "/srv/app/releases/20260102/venv/bin/"
	const spawn = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=4, pipe_handle="
	for name, c := range map[string]struct{ commands, want []string }{
		"multiprocessing": {
			[]string{
				venv + "python3|app.py|serve", venv + "python3|-c|" + spawn + "6)|--multiprocessing-fork",
				venv + "python3|-c|" + spawn + "11)|--multiprocessing-fork",
				venv + "python3|-c|from multiprocessing.resource_tracker import main;main(3)",
			},
			[]string{
				"python3 app.py serve", "python3 … pipe_handle=6) --multipro…",
				"python3 … pipe_handle=11) --multipr…", "python3 … resource_tracker import m…",
			},
		},
		"celery": {
			[]string{
				venv + "python|" + venv + "celery|-A|shop|worker|-Q|mails|-n|mails@web1",
				venv + "python|" + venv + "celery|-A|shop|worker|-Q|orders|-n|orders@web1",
			},
			[]string{"python … -Q mails -n mails@web1", "python … -Q orders -n orders@web1"},
		},
		"all the same":   {[]string{venv + "gunicorn|app", venv + "gunicorn|app"}, []string{"gunicorn app", "gunicorn app"}},
		"their programs": {[]string{"/opt/a/server|-v", "/opt/b/server|-v"}, []string{"/opt/a/server -v", "/opt/b/server -v"}},
		"titles": {
			[]string{"postgres: checkpointer", "nginx: master process /usr/nginx"},
			[]string{"postgres: checkpointer", "nginx: master process /usr/nginx"},
		},
		"hostile or unknown": {[]string{"a\x1b[2J|b", "", strings.Repeat("名", 99)}, []string{"a\\u001b[2J b", "", strings.Repeat("名", 11) + "…" + strings.Repeat("名", 6)}},
	} {
		t.Run(name, func(t *testing.T) {
			var all [][]string
			for _, command := range c.commands {
				if command == "" {
					all = append(all, nil)
				} else {
					all = append(all, strings.Split(command, "|"))
				}
			}
			var rows []Row
			for _, line := range Commands(all) {
				rows = append(rows, Row{Command: line})
			}
			var got []string
			for _, r := range Shorten(rows, 36) {
				got = append(got, r.Command)
			}
			require.Equal(t, c.want, got)
		})
	}
}
