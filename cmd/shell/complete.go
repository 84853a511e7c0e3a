package shell

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reeflective/readline"
)

// catalog are the names that completion offers, read when Tab is first pressed and again when they may be old.
type catalog struct {
	at        time.Time
	relations []string
	functions []string
	models    []string
	columns   map[string][]string // of a relation
}

const catalogAge = 10 * time.Second

var keywords = strings.Fields(`ALL ALTER ANALYZE AND AS ASC BEGIN BETWEEN BY CASE CAST COMMIT COPY CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXCEPT EXISTS
EXPLAIN FALSE FILTER FROM FULL GRANT GROUP HAVING ILIKE IN INDEX INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT MODEL MODELS NOT NULL OFFSET ON OR ORDER OUTER OVER
PARTITION PRIMARY REVOKE RIGHT ROLLBACK SELECT SET SHOW TABLE THEN TRUE TRUNCATE UNION UPDATE USING VALUES VIEW WHEN WHERE WINDOW WITH`)

// names runs a query of the shell's own for one list of names.
func (s *session) names(ctx context.Context, sql string) (out []string) {
	_, rows, err := s.query(ctx, sql)
	if err != nil {
		return nil // completion has less to offer
	}
	for _, r := range rows {
		if len(r) > 0 && r[0] != nil {
			out = append(out, *r[0])
		}
	}
	return out
}

// known returns the catalog's names. In a transaction the shell asks nothing: an error would end it.
func (s *session) known(ctx context.Context) *catalog {
	if s.catalog != nil && time.Since(s.catalog.at) < catalogAge || s.conn.PgConn().TxStatus() != 'I' {
		if s.catalog == nil {
			return &catalog{}
		}
		return s.catalog
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c := &catalog{at: time.Now(), columns: map[string][]string{}}
	c.relations = s.names(ctx, `SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE quote_ident(n.nspname) || '.' END || quote_ident(c.relname)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','v','m','f') AND n.nspname <> 'pg_toast' ORDER BY 1`)
	c.functions = s.names(ctx, `SELECT DISTINCT proname FROM pg_catalog.pg_proc ORDER BY 1`)
	c.models = s.names(ctx, `SHOW MODELS`)
	s.catalog = c
	return c
}

// of returns a relation's columns.
func (s *session) columnsOf(ctx context.Context, c *catalog, relation string) []string {
	if cols, ok := c.columns[relation]; ok || c.columns == nil {
		return cols
	}
	c.columns[relation] = s.names(ctx, `SELECT quote_ident(attname) FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass(`+literal(relation)+`) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`)
	return c.columns[relation]
}

// candidates returns what may stand at the end of the text, and the part of it that has been typed.
func (s *session) candidates(ctx context.Context, text, after string) (list []string, typed string) {
	start := len(text)
	for start > 0 && (wordByte(text[start-1]) || text[start-1] == '.' || text[start-1] == '"') {
		start--
	}
	typed = text[start:]
	if start > 0 && text[start-1] == '\\' && strings.TrimSpace(text[:start-1]) == "" {
		for name := range commands {
			list = append(list, `\`+name)
		}
		slices.Sort(list)
		return filter(list, `\`+typed), `\` + typed
	}
	c := s.known(ctx)
	words := tokens(text[:start])
	prev := ""
	if len(words) > 0 {
		prev = strings.ToUpper(words[len(words)-1])
	}
	switch prev {
	case "FROM", "JOIN", "INTO", "UPDATE", "TABLE", "ANALYZE", "TRUNCATE", `\D`, `\D+`, `\DT`, `\COPY`:
		return filter(c.relations, typed), typed
	case "MODEL":
		return filter(c.models, typed), typed
	}
	relations := named(append(words, tokens(typed+after)...))
	if q, _, ok := strings.Cut(typed, "."); ok {
		for alias, relation := range relations {
			if strings.EqualFold(alias, q) {
				for _, col := range s.columnsOf(ctx, c, relation) {
					list = append(list, q+"."+col)
				}
			}
		}
		return filter(append(list, c.relations...), typed), typed
	}
	seen := map[string]bool{}
	for _, relation := range relations {
		if !seen[relation] {
			seen[relation] = true
			list = append(list, s.columnsOf(ctx, c, relation)...)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if typed == "" && len(list) > 0 {
		return list, typed
	}
	for _, k := range keywords {
		if typed != "" && typed == strings.ToLower(typed) {
			k = strings.ToLower(k)
		}
		list = append(list, k)
	}
	if typed != "" {
		list = append(append(list, c.functions...), c.relations...)
		if prev == "(" || prev == "," {
			list = append(list, c.models...)
		}
	}
	return filter(list, typed), typed
}

func filter(list []string, typed string) (out []string) {
	seen := map[string]bool{}
	for _, v := range list {
		if len(v) >= len(typed) && strings.EqualFold(v[:len(typed)], typed) && !seen[v] {
			seen[v] = true
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

func (s *session) completions(ctx context.Context, text string, at int) readline.Completions {
	list, typed := s.candidates(ctx, text[:at], text[at:])
	out := readline.CompleteValues(list...).NoSort()
	if typed == "" { // the editor takes all since the last space for the word
		return out.Prefix(text[strings.LastIndexAny(text[:at], " \n\t")+1 : at])
	}
	out.PREFIX = typed
	return out
}

const bold, str, number, plain = "\x1b[1m", "\x1b[32m", "\x1b[36m", "\x1b[0m"

// highlight colours keywords, strings, numbers and comments.
func highlight(text string) string {
	var b strings.Builder
	var sp splitter
	full := text + "\n"
	for i := 0; i < len(text); {
		start, inside := i, sp.quoted()
		i += sp.token(full[i:])
		t := full[start:min(i, len(text))]
		switch {
		case inside || sp.quoted():
			b.WriteString(str + t + plain)
		case strings.HasPrefix(t, "--"):
			b.WriteString("\x1b[2m" + t + plain)
		case slices.Contains(keywords, strings.ToUpper(t)):
			b.WriteString(bold + t + plain)
		case t != "" && t[0] >= '0' && t[0] <= '9':
			b.WriteString(number + t + plain)
		default:
			b.WriteString(t)
		}
	}
	return b.String()
}
