package shell

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func (s *session) on(name string) bool { return slices.Contains(yes, strings.ToLower(s.vars[name])) }

// literal and identifier quote a text for SQL.
func literal(v string) string {
	quoted := "'" + strings.ReplaceAll(v, "'", "''") + "'"
	if strings.Contains(v, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func identifier(v string) string { return `"` + strings.ReplaceAll(v, `"`, `""`) + `"` }

// variable reads :name, :'name', :"name" or :{?name} at the start of t, and returns its value and length. A
// name that is not set is left as it stands.
func (s *session) variable(t string) (value string, n int) {
	if len(t) < 2 {
		return "", 0
	}
	word := func(from int) (string, int) {
		to := from
		for to < len(t) && wordByte(t[to]) {
			to++
		}
		return t[from:to], to
	}
	switch q := t[1]; {
	case q == '\'' || q == '"':
		name, end := word(2)
		v, ok := s.vars[name]
		if !ok || end >= len(t) || t[end] != q {
			return "", 0
		}
		if q == '"' {
			return identifier(v), end + 1
		}
		return literal(v), end + 1
	case strings.HasPrefix(t, ":{?"):
		name, end := word(3)
		if name == "" || end >= len(t) || t[end] != '}' {
			return "", 0
		}
		_, ok := s.vars[name]
		return strings.ToUpper(fmt.Sprint(ok)), end + 1
	default:
		name, end := word(1)
		v, ok := s.vars[name]
		if !ok {
			return "", 0
		}
		return v, end
	}
}

// interpolate puts the values of variables into a statement, outside its strings and comments.
func (s *session) interpolate(sql string) string {
	if !strings.Contains(sql, ":") {
		return sql
	}
	var b strings.Builder
	var sp splitter
	text := sql + "\n"
	for i := 0; i < len(sql); {
		n := 0
		if !sp.quoted() && sql[i] == ':' {
			if strings.HasPrefix(sql[i:], "::") {
				n = 2
			} else if v, m := s.variable(sql[i:]); m > 0 {
				b.WriteString(v)
				i += m
				continue
			}
		}
		if n == 0 {
			n = sp.token(text[i:])
		}
		b.WriteString(text[i:min(i+n, len(sql))])
		i += n
	}
	return b.String()
}

// arguments are what stands behind a \command.
type arguments struct {
	s    *session
	rest string
}

// next returns the next word: quotes and variables are resolved, `command` is its output.
func (a *arguments) next() (word string, ok bool) {
	t := strings.TrimLeft(a.rest, " \t")
	if t == "" || t[0] == '\\' {
		a.rest = t
		return "", false
	}
	var b strings.Builder
	i := 0
	for i < len(t) && t[i] != ' ' && t[i] != '\t' {
		switch c := t[i]; c {
		case '\'', '`':
			text, n := quotedWord(t[i:])
			i += n
			if c == '`' {
				out, err := exec.Command("sh", "-c", text).Output()
				if err != nil {
					fmt.Fprintln(a.s.io.Err, "error:", err)
				}
				text = strings.TrimRight(string(out), "\n")
			}
			b.WriteString(text)
		case '"':
			n := strings.IndexByte(t[i+1:], '"') + 2
			if n == 1 {
				n = len(t) - i
			}
			b.WriteString(t[i : i+n])
			i += n
		case ':':
			if v, n := a.s.variable(t[i:]); n > 0 {
				b.WriteString(v)
				i += n
				continue
			}
			b.WriteByte(c)
			i++
		case '\\':
			a.rest = t[i:]
			return b.String(), true
		default:
			b.WriteByte(c)
			i++
		}
	}
	a.rest = t[i:]
	return b.String(), true
}

// quotedWord reads '…' or `…`, and returns its text and length.
func quotedWord(t string) (string, int) {
	var b strings.Builder
	q := t[0]
	for i := 1; i < len(t); i++ {
		switch c := t[i]; {
		case c == q && q == '\'' && i+1 < len(t) && t[i+1] == q:
			b.WriteByte(q)
			i++
		case c == q:
			return b.String(), i + 1
		case c == '\\' && q == '\'' && i+1 < len(t):
			i++
			if k := strings.IndexByte("ntrbf", t[i]); k >= 0 {
				b.WriteByte("\n\t\r\b\f"[k])
			} else {
				b.WriteByte(t[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), len(t)
}

func (a *arguments) all() (words []string) {
	for {
		w, ok := a.next()
		if !ok {
			return words
		}
		words = append(words, w)
	}
}

// line takes all that is left of the line.
func (a *arguments) line() string {
	line := strings.TrimSpace(a.rest)
	a.rest = ""
	return line
}

// shellOut runs a command of the operating system on the terminal.
func (s *session) shellOut(command string) error {
	c := exec.Command("sh", "-c", first(command, os.Getenv("SHELL"), "sh"))
	c.Stdin, c.Stdout, c.Stderr = s.io.In, s.io.Out, s.io.Err
	return c.Run()
}
