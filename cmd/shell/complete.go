package shell

import (
	"context"
	"slices"
	"strings"

	"github.com/reeflective/readline"
)

var keywords = strings.Fields(`ALL ALTER ANALYZE AND AS ASC BACKUP BEGIN BETWEEN BY CASE CAST COMMIT COPY CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXCEPT EXISTS
EXPLAIN FALSE FILTER FROM FULL GRANT GROUP HAVING ILIKE IN INDEX INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT MODEL MODELS NOT NULL OFFSET ON OR ORDER OUTER OVER
PARTITION PREDICT PRIMARY RESTORE RETRAIN REVOKE RIGHT ROLLBACK SELECT SET SHOW TABLE THEN TRAIN TRUE TRUNCATE UNION UPDATE USING VALUES VERIFY VIEW WHEN WHERE WINDOW WITH`)

// candidate is what may be typed, and what is said of it.
type candidate struct{ text, about string }

// candidates returns what may stand at the end of the text, and the part of it that has been typed.
func (s *session) candidates(ctx context.Context, text, after string) (list []candidate, typed string) {
	if name, rest, ok := lastCommand(text); ok {
		return s.commandCandidates(ctx, name, rest)
	}
	if before, inside, ok := openString(text); ok {
		return s.stringCandidates(ctx, tokens(before), inside), inside
	}
	start := len(text)
	for start > 0 && (wordByte(text[start-1]) || text[start-1] == '.' || text[start-1] == '"') {
		start--
	}
	typed = text[start:]
	words := tokens(text[:start])
	if list, ok := s.expected(ctx, words, typed); ok {
		return list, typed
	}
	relations := named(append(slices.Clone(words), tokens(typed+after)...))
	if q, _, ok := strings.Cut(typed, "."); ok {
		for _, alias := range sortedKeys(relations) {
			if strings.EqualFold(alias, q) {
				for _, col := range s.columnsOf(ctx, relations[alias]) {
					list = append(list, candidate{q + "." + col.text, col.about})
				}
			}
		}
		return append(list, s.names(ctx, "relations")...), typed
	}
	for _, alias := range sortedKeys(relations) {
		list = append(list, s.columnsOf(ctx, relations[alias])...)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	if typed == "" && len(list) > 0 {
		return list, typed
	}
	for _, k := range keywords {
		if typed != "" && typed == strings.ToLower(typed) {
			k = strings.ToLower(k)
		}
		list = append(list, candidate{text: k})
	}
	if typed != "" {
		list = slices.Concat(list, s.names(ctx, "functions"), s.names(ctx, "relations"))
	}
	return list, typed
}

// expected returns what must stand behind these words; ok is false where that is any expression.
func (s *session) expected(ctx context.Context, words []string, typed string) (list []candidate, ok bool) {
	upper := make([]string, len(words))
	for i, w := range words {
		upper[i] = strings.ToUpper(w)
	}
	prev := func(n int) string {
		if n > len(upper) {
			return ""
		}
		return upper[len(upper)-n]
	}
	switch w := prev(1); {
	case w == "FROM" || w == "JOIN":
		return slices.Concat(s.relations(ctx, typed), s.names(ctx, "table functions")), true
	case w == "INTO" || w == "UPDATE" || w == "TABLE" || w == "ANALYZE" && len(words) == 1 || w == "TRUNCATE" || w == "COPY" || w == "VIEW":
		return s.relations(ctx, typed), true
	case w == "MODEL" || w == "PREDICTION":
		return s.names(ctx, "models"), true
	case w == "SCHEMA":
		return s.names(ctx, "schemas"), true
	case w == "ROLE" || w == "USER" || w == "OWNER":
		return s.names(ctx, "roles"), true
	case len(words) == 1 && (w == "SET" || w == "SHOW" || w == "RESET"), len(words) == 2 && prev(2) == "SET" && (w == "LOCAL" || w == "SESSION"):
		return s.names(ctx, "settings"), true
	case len(words) > 2 && upper[0] == "SET" && (w == "=" || w == "TO"):
		return s.settingValues(ctx, strings.ToLower(words[len(words)-2])), true
	case w == "USING" && slices.Contains(upper, "MODEL"):
		return s.described(ctx, "ml.algorithms", "algorithm", "kind"), true
	}
	if algorithm := training(words, upper); algorithm != "" {
		if prev(1) == "=" && len(words) > 1 {
			return s.optionValues(ctx, algorithm, strings.ToLower(words[len(words)-2])), true
		}
		if prev(1) == "(" || prev(1) == "," {
			return s.options(ctx, algorithm), true
		}
	}
	return nil, false
}

// training returns the algorithm of TRAIN MODEL … USING algorithm … WITH (, where the options are being typed.
func training(words, upper []string) string {
	using := slices.Index(upper, "USING")
	with := slices.Index(upper, "WITH")
	if !slices.Contains(upper, "MODEL") || using < 0 || using+1 >= len(words) || with < using || with+1 >= len(words) || words[with+1] != "(" {
		return ""
	}
	open := 0
	for _, w := range words[with+1:] {
		if open += strings.Count("([", w) - strings.Count(")]", w); open == 0 {
			return "" // behind them
		}
	}
	if open != 1 {
		return ""
	}
	return strings.ToLower(words[using+1])
}

// openString returns what is typed of a string that is not closed, and what stands before it.
func openString(text string) (before, inside string, ok bool) {
	var sp splitter
	start := 0
	for i, full := 0, text+"\n"; i < len(text); {
		if sp.quote != '\'' {
			start = i
		}
		i += sp.token(full[i:])
	}
	if sp.quote != '\'' {
		return "", "", false
	}
	return strings.TrimRight(text[:start], "eE"), text[start+strings.IndexByte(text[start:], '\'')+1:], true
}

// stringCandidates are those of a string: a model, a file or an algorithm, by what stands before it.
func (s *session) stringCandidates(ctx context.Context, words []string, typed string) []candidate {
	last, before := "", ""
	if n := len(words); n > 0 {
		last = strings.ToLower(words[n-1])
		if n > 1 {
			before = strings.ToLower(words[n-2])
		}
	}
	switch {
	case last == "from" || last == "to", last == "(" && strings.HasPrefix(before, "read_"), last == "[" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "read_") }):
		return files(typed)
	case last == "=" && before == "algorithm":
		return s.described(ctx, "ml.algorithms", "algorithm", "kind")
	case last == "(" && (strings.HasPrefix(before, "predict") || strings.HasPrefix(before, "ml.")):
		return s.names(ctx, "models")
	}
	return nil
}

// completions are the candidates in the editor's form: as many as the screen has room for.
func (s *session) completions(ctx context.Context, text string, at int) readline.Completions {
	list, typed := s.candidates(ctx, text[:at], text[at:])
	list = filter(list, typed)
	columns, rows := s.io.Size()
	shown := fit(list, columns, max(rows-6, rows/2)) // with room for the statement
	described := []string{}
	for _, c := range shown {
		described = append(described, c.text, cut(c.about, max(columns/2, 20)))
	}
	out := readline.CompleteValuesDescribed(described...).NoSort()
	if n := len(list) - len(shown); n > 0 {
		out = out.Usage("%d more: type a letter of what you look for", n)
	}
	if typed == "" { // the editor takes all since the last space for the word
		return out.Prefix(text[strings.LastIndexAny(text[:at], " \n\t")+1 : at])
	}
	out.PREFIX = typed
	return out
}

// fit leaves out candidates that so many rows cannot show. What all begin with stays what the rest begin with.
func fit(list []candidate, columns, rows int) []candidate {
	longest, about := 1, false
	for _, c := range list {
		longest, about = max(longest, width(c.text)), about || c.about != ""
	}
	most := max(rows, 4)
	if !about {
		most *= max(columns/(longest+2), 1)
	}
	if columns == 0 || len(list) <= most {
		return list
	}
	all := shared(list)
	for _, c := range list[most-1:] {
		if !strings.HasPrefix(c.text, list[0].text[:min(all+1, len(list[0].text))]) {
			return append(slices.Clone(list[:most-1]), c)
		}
	}
	return list[:most]
}

// shared is how long the text is that all candidates begin with, in bytes.
func shared(list []candidate) int {
	n := len(list[0].text)
	for _, c := range list {
		n = min(n, len(c.text))
		for c.text[:n] != list[0].text[:n] {
			n--
		}
	}
	return n
}

func filter(list []candidate, typed string) (out []candidate) {
	seen := map[string]bool{}
	for _, v := range list {
		if len(v.text) >= len(typed) && strings.EqualFold(v.text[:len(typed)], typed) && !seen[v.text] {
			seen[v.text] = true
			out = append(out, v)
		}
	}
	return out
}

// tokens cuts a text into words and marks, without its strings and comments.
func tokens(text string) (out []string) {
	var sp splitter
	full := text + "\n"
	for i := 0; i < len(text); {
		outside := !sp.quoted()
		start := i
		i += sp.token(full[i:])
		t := strings.TrimSpace(full[start:min(i, len(full))])
		if !outside || sp.quoted() || t == "" || strings.HasPrefix(t, "--") {
			continue
		}
		if n := len(out); n > 0 && (t == "." || strings.HasSuffix(out[n-1], ".") || strings.HasPrefix(out[n-1], `\`) && full[start-1] != ' ') {
			out[n-1] += t
			continue
		}
		out = append(out, t)
	}
	return out
}

// named returns the relations of FROM, JOIN, INTO and UPDATE, by their names and their aliases.
func named(words []string) map[string]string {
	out := map[string]string{}
	from := false
	for i := 0; i < len(words); i++ {
		switch strings.ToUpper(words[i]) {
		case "FROM", "JOIN", "INTO", "UPDATE":
			from = true
		case ",":
			continue
		case "WHERE", "GROUP", "ORDER", "SELECT", "ON", "SET", "VALUES", "LIMIT", "USING", ";", "(":
			from = false
			continue
		default:
			continue
		}
		for from && i+1 < len(words) && wordByte(words[i+1][0]) {
			i++
			relation := words[i]
			alias := relation[strings.LastIndexByte(relation, '.')+1:]
			if i+2 < len(words) && strings.EqualFold(words[i+1], "AS") {
				alias = words[i+2]
				i += 2
			} else if i+1 < len(words) && wordByte(words[i+1][0]) && !slices.Contains(keywords, strings.ToUpper(words[i+1])) {
				alias = words[i+1]
				i++
			}
			out[alias] = relation
			if i+1 >= len(words) || words[i+1] != "," {
				break
			}
			i++
		}
	}
	return out
}

const bold, faint, str, number, plain = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[36m", "\x1b[0m"

// highlight colours keywords, strings, numbers and comments.
func highlight(text string) string {
	var b strings.Builder
	var sp splitter
	full := text + "\n"
	for i := 0; i < len(text); {
		start, commented := i, sp.comment > 0
		i += sp.token(full[i:])
		for quoted := sp.quoted(); quoted && i < len(text); quoted = sp.quoted() { // a string is one piece: letters are more than a byte
			commented = commented || sp.comment > 0
			i += sp.token(full[i:])
		}
		t := full[start:min(i, len(text))]
		color := ""
		switch {
		case commented || strings.HasPrefix(t, "--"):
			color = faint
		case strings.ContainsAny(t[:1], "'\"$") || len(t) > 1 && t[1] == '\'':
			color = str
		case slices.Contains(keywords, strings.ToUpper(t)):
			color = bold
		case t[0] >= '0' && t[0] <= '9':
			color = number
		}
		if color != "" {
			t = color + t + plain
		}
		b.WriteString(t)
	}
	return b.String()
}
