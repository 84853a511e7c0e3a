package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// habits are what people of other shells type, and what does it here.
var habits = []struct{ typed, try string }{
	{".tables", `\dt`}, {".schema", `\d NAME`}, {".databases", `\l`}, {".indexes", `\di`}, {".read", `\i FILE`}, {".open", `\c, or tributary sql --data DIRECTORY`},
	{".import", `\copy NAME from FILE (format csv)`}, {".output", `\o FILE`}, {".once", `\g FILE`}, {".mode", `\pset format NAME`}, {".headers", `\t`},
	{".timer", `\timing`}, {".echo", `\set`}, {".shell", `\! COMMAND`}, {".help", `\?`}, {".quit", `\q`}, {".exit", `\q`}, {".", `\?`},
	{"show databases", `\l`}, {"show schemas", `\dn`}, {"show users", `\du`}, {"show roles", `\du`}, {"show functions", `\df`},
	{"show indexes", `\di`}, {"show index", `\di`}, {"show views", `\dv`}, {"show columns", `\d NAME`}, {"show create", `\d+ NAME`}, {"describe", `\d NAME`}, {"desc", `\d NAME`},
	{"use", `\c NAME`}, {"source", `\i FILE`}, {"go", "a semicolon, or \\g"}, {"clear", `\! clear`}, {"connect", `\c NAME`},
}

// instead returns what to type for a statement that is none here but is in another shell; "": unknown.
func instead(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " ")) + " "
	for _, h := range habits {
		if strings.HasPrefix(text, h.typed+" ") || h.typed == "." && dotted(text) {
			return h.try
		}
	}
	return ""
}

// dotted reports whether a line is a .command, which no statement begins as.
func dotted(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 1 && line[0] == '.' && line[1] >= 'a' && line[1] <= 'z'
}

// refuse reports a .command, with the \command that does the same.
func (s *session) refuse(line string) {
	word := strings.Fields(line)[0]
	s.fail(fmt.Errorf("%s is no command here: try %s", word, instead(line)), "")
}

// advice is the hint below the server's error for a statement that it cannot read or does not know.
func advice(err error, sql string) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Hint != "" || e.Code != "42601" && e.Code != "42704" {
		return ""
	}
	if try := instead(sql); try != "" {
		return more("", "Try "+try+".")
	}
	return ""
}
