package shell

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// catalog are the names that completion offers, each list read when it is first asked for.
type catalog struct {
	at      time.Time
	lists   map[string][]candidate
	columns map[string][]candidate // of a relation
}

const catalogAge = 10 * time.Second

// nameQueries read the lists: a name, and what is said of it.
var nameQueries = map[string]string{
	"relations": `SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE quote_ident(n.nspname) || '.' END || quote_ident(c.relname)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','v','m','f') AND n.nspname <> 'pg_toast'
ORDER BY n.nspname IN ('pg_catalog', 'information_schema', 'ml', 'cluster'), 1`,
	"own relations": `SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE quote_ident(n.nspname) || '.' END || quote_ident(c.relname)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','p','v','m','f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'ml', 'cluster', 'pg_toast') ORDER BY 1`,
	"functions":       `SELECT DISTINCT proname FROM pg_catalog.pg_proc ORDER BY 1`,
	"table functions": `SELECT DISTINCT CASE n.nspname WHEN 'pg_catalog' THEN '' ELSE n.nspname || '.' END || proname || '(' FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE proretset ORDER BY 1`,
	"models":          `SHOW MODELS`,
	"schemas":         `SELECT quote_ident(nspname) FROM pg_catalog.pg_namespace ORDER BY 1`,
	"roles":           `SELECT quote_ident(rolname) FROM pg_catalog.pg_roles ORDER BY 1`,
	"databases":       `SELECT quote_ident(datname) FROM pg_catalog.pg_database ORDER BY 1`,
	"settings":        `SELECT name, short_desc FROM pg_catalog.pg_settings ORDER BY 1`,
}

// known returns the catalog's names, new ones where they may be old.
func (s *session) known() *catalog {
	if s.catalog == nil || time.Since(s.catalog.at) >= catalogAge && s.idle() {
		s.catalog = &catalog{at: time.Now(), lists: map[string][]candidate{}, columns: map[string][]candidate{}}
	}
	return s.catalog
}

// idle reports whether the shell may ask for names. In a transaction it asks nothing: an error would end it.
func (s *session) idle() bool { return s.conn.PgConn().TxStatus() == 'I' }

// ask runs a query of the shell's own for completion, which has less to offer where it fails.
func (s *session) ask(ctx context.Context, sql string) (heads []string, rows [][]*string) {
	if !s.idle() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	heads, rows, err := s.query(ctx, sql)
	if err != nil {
		return nil, nil
	}
	return heads, rows
}

func (s *session) asked(ctx context.Context, sql string) (out []candidate) {
	_, rows := s.ask(ctx, sql)
	for _, r := range rows {
		if r[0] == nil {
			continue
		}
		c := candidate{text: *r[0]}
		if len(r) == 2 && r[1] != nil {
			c.about = *r[1]
		}
		out = append(out, c)
	}
	return out
}

// names returns one of the lists.
func (s *session) names(ctx context.Context, list string) []candidate {
	c := s.known()
	if _, ok := c.lists[list]; !ok && s.idle() {
		c.lists[list] = s.asked(ctx, nameQueries[list])
	}
	return c.lists[list]
}

// relations returns those that the person made, where there are any; the system's are offered once a letter was typed.
func (s *session) relations(ctx context.Context, typed string) []candidate {
	if own := s.names(ctx, "own relations"); typed == "" && len(own) > 0 {
		return own
	}
	return s.names(ctx, "relations")
}

// columnsOf returns a relation's columns with their types.
func (s *session) columnsOf(ctx context.Context, relation string) []candidate {
	c := s.known()
	if _, ok := c.columns[relation]; !ok && s.idle() {
		c.columns[relation] = s.asked(ctx, `SELECT quote_ident(attname), pg_catalog.format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute
WHERE attrelid = to_regclass(`+literal(relation)+`) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`)
	}
	return c.columns[relation]
}

// settingValues are what a setting may be.
func (s *session) settingValues(ctx context.Context, name string) []candidate {
	out := s.asked(ctx, `SELECT unnest(CASE vartype WHEN 'bool' THEN ARRAY['on', 'off'] ELSE enumvals END) FROM pg_catalog.pg_settings WHERE name = `+literal(name))
	current := s.asked(ctx, `SELECT setting || coalesce(unit, '') FROM pg_catalog.pg_settings WHERE name = `+literal(name)+` AND vartype IN ('integer', 'real')`)
	return append(append(out, current...), candidate{text: "DEFAULT"})
}

// table returns the rows of a relation that older servers do not have, by the names of their columns.
func (s *session) table(ctx context.Context, relation, where string) (out []map[string]string) {
	if _, there := s.ask(ctx, "SELECT 1 WHERE to_regclass("+literal(relation)+") IS NOT NULL"); len(there) == 0 {
		return nil
	}
	heads, rows := s.ask(ctx, "SELECT * FROM "+relation+where)
	for _, r := range rows {
		row := map[string]string{}
		for i, h := range heads {
			if r[i] != nil {
				row[h] = *r[i]
			}
		}
		out = append(out, row)
	}
	return out
}

// described returns a column of such a relation, with another for what is said of it.
func (s *session) described(ctx context.Context, relation, name, about string) []candidate {
	c := s.known()
	if _, ok := c.lists[relation]; !ok && s.idle() {
		list := []candidate{}
		for _, r := range s.table(ctx, relation, "") {
			list = append(list, candidate{r[name], r[about]})
		}
		slices.SortFunc(list, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
		c.lists[relation] = list
	}
	return c.lists[relation]
}

// optionRows are the options of an algorithm, by any of its names.
func (s *session) optionRows(ctx context.Context, algorithm string) []map[string]string {
	for _, r := range s.table(ctx, "ml.algorithms", "") {
		if slices.Contains(strings.Split(strings.Trim(r["synonyms"], "{}"), ","), algorithm) {
			algorithm = r["algorithm"]
		}
	}
	return s.table(ctx, "ml.options", " WHERE algorithm = "+literal(algorithm))
}

// options are an algorithm's options with their types and defaults.
func (s *session) options(ctx context.Context, algorithm string) (out []candidate) {
	for _, r := range s.optionRows(ctx, algorithm) {
		if r["supported"] == "f" {
			continue
		}
		about := r["type"]
		if d := first(r["default_value"], r["default"]); d != "" {
			about += ", default " + d
		}
		out = append(out, candidate{r["option"] + " = ", about})
	}
	return out
}

// optionValues are what an option may be.
func (s *session) optionValues(ctx context.Context, algorithm, option string) (out []candidate) {
	for _, r := range s.optionRows(ctx, algorithm) {
		if r["option"] != option {
			continue
		}
		for _, v := range strings.Split(strings.Trim(r["allowed_values"], "{}"), ",") {
			out = append(out, candidate{text: strings.Trim(v, `"`)})
		}
		if d := first(r["default_value"], r["default"]); !strings.Contains(d, " ") { // not one in words
			out = slices.DeleteFunc(out, func(c candidate) bool { return c.text == d })
			out = append(out, candidate{d, "the default"})
		}
		if r["type"] == "text" {
			for i := range out {
				out[i].text = literal(out[i].text)
			}
		}
	}
	return slices.DeleteFunc(out, func(c candidate) bool { return c.text == "" || c.text == "''" })
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// files are those of this machine that a path may go on to.
func files(typed string) (out []candidate) {
	dir, base := filepath.Split(typed)
	entries, _ := os.ReadDir(first(home(dir), ".")) // none are offered
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		out = append(out, candidate{text: dir + name})
	}
	return out
}

// lastCommand returns the \command at the end of a text, with what follows its name.
func lastCommand(text string) (name, rest string, ok bool) {
	var sp splitter
	lines := strings.Split(text, "\n")
	for _, l := range lines[:len(lines)-1] {
		sp.add(l)
	}
	command, found := sp.add(lines[len(lines)-1])
	if !found {
		return "", "", false
	}
	if i := strings.LastIndex(command, `\`); i > 0 { // \x \dt
		command = command[i:]
	}
	name, rest, _ = strings.Cut(command[1:], " ")
	if !strings.Contains(command, " ") {
		return "", command, true
	}
	return name, rest, true
}

// commandArguments are what \commands take, by their first word's list.
var commandArguments = map[string]string{
	"d": "relations", "dt": "own relations", "dv": "relations", "di": "relations", "ds": "relations", "dp": "own relations", "z": "own relations", "copy": "own relations",
	"dm": "models", "dn": "schemas", "du": "roles", "dg": "roles", "password": "roles", "df": "functions", "sf": "functions", "ef": "functions", "l": "databases", "c": "databases", "connect": "databases",
	"i": "files", "ir": "files", "include": "files", "o": "files", "w": "files", "e": "files", "edit": "files", "g": "files", "cd": "files",
	"x": "on off auto", "t": "on off", "timing": "on off", "chart": "bar line histogram", "pset": strings.Join(psetNames(), " "),
}

func psetNames() (out []string) {
	f := newFormat()
	for _, v := range f.settings() {
		out = append(out, v[0])
	}
	return out
}

// psetValues are what \pset's settings may be.
var psetValues = map[string]string{
	"format": strings.Join(kinds, " ") + " vertical", "border": "0 1 2", "expanded": "on off auto", "pager": "on off always", "footer": "on off", "tuples_only": "on off",
}

// commandCandidates are those of a \command: its name, or its arguments.
func (s *session) commandCandidates(ctx context.Context, name, rest string) (list []candidate, typed string) {
	words := strings.Split(rest, " ")
	typed = words[len(words)-1]
	list = []candidate{}
	plainWords := func(text string) {
		for _, w := range strings.Fields(text) {
			list = append(list, candidate{text: w})
		}
	}
	of := strings.TrimSuffix(name, "+")
	switch {
	case name == "":
		for _, c := range slices.Sorted(maps.Keys(commands)) {
			list = append(list, candidate{text: `\` + c})
		}
	case name == "h" || name == "help":
		typed = rest
		for _, topic := range topics() {
			list = append(list, candidate{text: topic})
		}
	case name == "set" || name == "unset":
		for _, v := range slices.Sorted(maps.Keys(s.vars)) {
			list = append(list, candidate{text: v})
		}
	case name == "pset" && len(words) > 1:
		plainWords(psetValues[words[0]])
	case name == "chart" && (len(words) > 1) && s.kept != nil:
		for _, c := range s.kept.cols {
			list = append(list, candidate{text: c.name})
		}
	case name == "copy" && len(words) > 2:
		list = files(strings.TrimPrefix(typed, "'"))
		typed = strings.TrimPrefix(typed, "'")
	case name == "copy" && len(words) == 2:
		plainWords("from to")
	case name == "connect" || name == "c":
		list = s.names(ctx, map[bool]string{true: "databases", false: "roles"}[len(words) == 1])
	case len(words) > 1:
	case commandArguments[of] == "files":
		list = files(typed)
	case nameQueries[commandArguments[of]] != "":
		list = s.names(ctx, commandArguments[of])
	default:
		plainWords(commandArguments[of])
	}
	return list, typed
}
