package shell

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// failure is an error as psql shows it: the message, the line with a caret
// below the place, detail and hint.
func failure(err error, sql string) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:  %s\n", e.Severity, e.Message)
	if e.Position > 0 {
		b.WriteString(caret(sql, int(e.Position)))
	}
	b.WriteString(more(e.Detail, e.Hint))
	return b.String()
}

func more(detail, hint string) string {
	var b strings.Builder
	if detail != "" {
		b.WriteString("DETAIL:  " + detail + "\n")
	}
	if hint != "" {
		b.WriteString("HINT:  " + hint + "\n")
	}
	return b.String()
}

// caretWidth is the longest part of a line that is shown around the place.
const caretWidth = 60

// caret shows the line of the n-th character (from 1) with a mark below it.
func caret(sql string, n int) string {
	before, line := 0, 1
	for _, text := range strings.Split(sql, "\n") {
		length := utf8.RuneCountInString(text)
		if n > before+length+1 {
			before, line = before+length+1, line+1
			continue
		}
		chars := []rune(strings.ReplaceAll(text, "\t", " "))
		at := min(n-before-1, len(chars))
		from, to := 0, len(chars)
		head, tail := "", ""
		if to > caretWidth {
			if at > caretWidth-10 {
				from, head = at-caretWidth/2, "..."
			}
			if to > from+caretWidth {
				to, tail = from+caretWidth, "..."
			}
		}
		label := fmt.Sprintf("LINE %d: %s", line, head)
		return label + string(chars[from:to]) + tail + "\n" + strings.Repeat(" ", utf8.RuneCountInString(label)+at-from) + "^\n"
	}
	return ""
}
