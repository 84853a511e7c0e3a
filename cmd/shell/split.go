package shell

import "strings"

// splitter cuts text into statements as psql does: at a semicolon that stands
// outside quotes, dollar quotes, comments and parentheses.
type splitter struct {
	buf     strings.Builder
	quote   byte   // ', " or 0
	escapes bool   // the quote is E'…'
	dollar  string // the open dollar quote's tag, $…$
	comment int    // depth of /* */
	parens  int
	ready   []string
	quiet   bool // a backslash is no command
}

// add takes a line without its end and keeps the statements that it completes. It ends at a \command, and
// returns it with what follows.
func (s *splitter) add(line string) (command string, found bool) {
	line += "\n"
	for i := 0; i < len(line); {
		if line[i] == '\\' && !s.quoted() && !s.quiet {
			return strings.TrimSuffix(line[i:], "\n"), true
		}
		n := s.token(line[i:])
		part := line[i : i+n]
		i += n
		if part == ";" && s.quote == 0 && s.dollar == "" && s.comment == 0 && s.parens == 0 {
			s.end()
			continue
		}
		if s.buf.Len() > 0 || strings.TrimSpace(part) != "" {
			s.buf.WriteString(part)
		}
	}
	return "", false
}

// quoted reports whether a string, a quoted name or a comment has been begun.
func (s *splitter) quoted() bool { return s.quote != 0 || s.dollar != "" || s.comment > 0 }

// text returns what has been begun, and forgets it.
func (s *splitter) text() string {
	text := strings.TrimSpace(s.buf.String())
	*s = splitter{ready: s.ready}
	if blank(text) {
		return ""
	}
	return text
}

func (s *splitter) end() {
	if text := strings.TrimSpace(s.buf.String()); !blank(text) {
		s.ready = append(s.ready, text)
	}
	s.buf.Reset()
	s.parens = 0
}

// take returns the statements that are complete.
func (s *splitter) take() []string {
	r := s.ready
	s.ready = nil
	return r
}

// flush ends the last statement, for input that ends without a semicolon.
func (s *splitter) flush() []string {
	s.end()
	r := s.take()
	*s = splitter{}
	return r
}

// open reports whether a statement has been begun.
func (s *splitter) open() bool {
	return s.quote != 0 || s.dollar != "" || s.comment > 0 || !blank(s.buf.String())
}

// prompt is the mark psql shows for what is open.
func (s *splitter) prompt() string {
	switch {
	case s.quote != 0:
		return string(s.quote)
	case s.dollar != "":
		return "$"
	case s.comment > 0:
		return "*"
	case s.parens > 0:
		return "("
	case s.open():
		return "-"
	}
	return "="
}

// token returns the length of the next token and updates the state.
func (s *splitter) token(t string) int {
	switch {
	case s.comment > 0:
		switch {
		case strings.HasPrefix(t, "/*"):
			s.comment++
			return 2
		case strings.HasPrefix(t, "*/"):
			s.comment--
			return 2
		}
		return 1
	case s.dollar != "":
		if strings.HasPrefix(t, s.dollar) {
			n := len(s.dollar)
			s.dollar = ""
			return n
		}
		return 1
	case s.quote != 0:
		switch {
		case s.escapes && t[0] == '\\' && len(t) > 1:
			return 2
		case t[0] == s.quote && len(t) > 1 && t[1] == s.quote:
			return 2
		case t[0] == s.quote:
			s.quote, s.escapes = 0, false
		}
		return 1
	}
	switch c := t[0]; {
	case strings.HasPrefix(t, "--"):
		return strings.IndexByte(t, '\n') // every line ends in one
	case strings.HasPrefix(t, "/*"):
		s.comment = 1
		return 2
	case c == '\'' || c == '"':
		s.quote = c
	case c == '$':
		if tag := dollarTag(t); tag != "" {
			s.dollar = tag
			return len(tag)
		}
	case c == '(' || c == '[':
		s.parens++
	case c == ')' || c == ']':
		s.parens = max(0, s.parens-1)
	case wordByte(c):
		n := 1
		for n < len(t) && (wordByte(t[n]) || t[n] == '$') {
			n++
		}
		// E'…' allows backslash escapes; a dollar within a word opens no quote.
		if n == 1 && (c == 'e' || c == 'E') && len(t) > 1 && t[1] == '\'' {
			s.quote, s.escapes = '\'', true
			return 2
		}
		return n
	}
	return 1
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// dollarTag returns the opening $tag$ at the start of t, or "".
func dollarTag(t string) string {
	for i := 1; i < len(t); i++ {
		switch {
		case t[i] == '$':
			return t[:i+1]
		case !wordByte(t[i]) || i == 1 && t[i] >= '0' && t[i] <= '9':
			return ""
		}
	}
	return ""
}

// blank reports whether text consists of white space and comments.
func blank(text string) bool {
	var s splitter
	for i := 0; i < len(text); {
		n := 1
		if strings.HasPrefix(text[i:], "--") && s.comment == 0 {
			if n = strings.IndexByte(text[i:], '\n'); n < 0 {
				return true
			}
		} else {
			outside := s.comment == 0
			n = s.token(text[i:] + "\n")
			if outside && s.comment == 0 && strings.TrimSpace(text[i:min(i+n, len(text))]) != "" {
				return false
			}
		}
		i += n
	}
	return true
}
