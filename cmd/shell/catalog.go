package shell

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// catalogCommands are the \commands that list what the catalog has.
var catalogCommands map[string]func(*session, context.Context, *splitter, *arguments) error

func init() {
	catalogCommands = map[string]func(*session, context.Context, *splitter, *arguments) error{}
	for name, f := range map[string]func(s *session, ctx context.Context, pattern string, plus bool) error{
		"d":  describeCommand,
		"dt": relationsCommand("'r','p'", "tables"),
		"dv": relationsCommand("'v','m'", "views"),
		"di": relationsCommand("'i','I'", "indexes"),
		"ds": relationsCommand("'S'", "sequences"),
		"dm": modelsCommand,
		"dn": listing("schemas", schemasSQL),
		"du": listing("roles", rolesSQL),
		"dg": listing("roles", rolesSQL),
		"df": listing("functions", functionsSQL),
		"dp": listing("Access privileges", privilegesSQL),
		"z":  listing("Access privileges", privilegesSQL),
		"l":  listing("databases", databasesSQL),
	} {
		for _, more := range []string{"", "+", "S", "S+"} {
			catalogCommands[name+more] = func(s *session, ctx context.Context, _ *splitter, a *arguments) error {
				text := word(a, "")
				if text == "" && strings.Contains(more, "S") {
					text = "*.*" // the system's too
				}
				return f(s, ctx, text, strings.Contains(more, "+"))
			}
		}
	}
}

// pattern is what psql's \d commands take for a name: * and ? stand for any characters, a dot divides schema
// and name, and what is in double quotes is taken as it is.
type pattern struct{ schema, name string } // regular expressions, "" for all

func parsePattern(text string) pattern {
	var parts []string
	var b strings.Builder
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
			b.WriteString(regexp.QuoteMeta(string(r)))
		case r == '.':
			parts = append(parts, b.String())
			b.Reset()
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteByte('.')
		default:
			b.WriteString(regexp.QuoteMeta(strings.ToLower(string(r))))
		}
	}
	parts = append(parts, b.String())
	p := pattern{}
	whole := func(s string) string {
		if s == "" || s == ".*" {
			return ""
		}
		return "^(" + s + ")$"
	}
	p.name = whole(parts[len(parts)-1])
	if len(parts) > 1 {
		if p.schema = whole(parts[len(parts)-2]); p.schema == "" {
			p.schema = "."
		}
	}
	return p
}

// where returns the conditions for a name in a schema: without a pattern what is visible and not the system's.
func (p pattern) where(schema, name, visible string) string {
	var and []string
	if p.name != "" {
		and = append(and, name+" ~ "+literal(p.name))
	}
	switch {
	case p.schema != "":
		and = append(and, schema+" ~ "+literal(p.schema))
	default:
		and = append(and, visible)
		if p.name == "" {
			and = append(and, schema+" NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'ml', 'cluster')")
		}
	}
	return strings.Join(and, " AND ")
}

// listing runs a query for a pattern and prints it below a title.
func listing(what string, sql func(p pattern, plus bool) string) func(*session, context.Context, string, bool) error {
	title := "List of " + what
	if strings.Contains(what, " ") {
		title = what
	}
	return func(s *session, ctx context.Context, text string, plus bool) error {
		return s.list(ctx, sql(parsePattern(text), plus), title, what, text)
	}
}

// list prints a query's result below a title, or says that nothing was found.
func (s *session) list(ctx context.Context, sql, title, what, text string) error {
	heads, rows, err := s.query(ctx, sql)
	if err != nil {
		return err
	}
	return s.listed(title, what, text, heads, rows)
}

func (s *session) listed(title, what, text string, heads []string, rows [][]*string) error {
	if len(rows) == 0 && title != what && s.format.kind == "aligned" {
		if text != "" {
			return fmt.Errorf("did not find any %s named %q", one(what), text)
		}
		fmt.Fprintf(s.io.Err, "Did not find any %s.\n", what)
		return nil
	}
	return s.print(title, heads, rows, nil)
}

// one is the singular of what is listed.
func one(what string) string {
	if what == "indexes" {
		return "index"
	}
	return strings.TrimSuffix(what, "s")
}

// relationsSQL lists relations of these kinds.
func relationsSQL(kinds string, p pattern, plus bool) string {
	table := ""
	if strings.Contains(kinds, "'i'") {
		table = `,
       (SELECT t.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid WHERE i.indexrelid = c.oid) AS "Table"`
	}
	more := ""
	if plus {
		more = `,
       pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) AS "Size", coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '') AS "Description"`
	}
	return `SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence'
            WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'i' THEN 'index' WHEN 'I' THEN 'partitioned index' END AS "Type",
       pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"` + table + more + `
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN (` + kinds + `) AND ` + p.where("n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)") + `
ORDER BY 1, 2`
}

func relationsCommand(kinds, what string) func(*session, context.Context, string, bool) error {
	return func(s *session, ctx context.Context, text string, plus bool) error {
		return s.list(ctx, relationsSQL(kinds, parsePattern(text), plus), "List of relations", what, text)
	}
}

func schemasSQL(p pattern, plus bool) string {
	where := "n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ml', 'cluster')"
	if p.name != "" {
		where = "n.nspname ~ " + literal(p.name)
	}
	more := ""
	if plus {
		more = `, pg_catalog.array_to_string(n.nspacl, E'\n') AS "Access privileges"`
	}
	return `SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner"` + more + ` FROM pg_catalog.pg_namespace n WHERE ` + where + ` ORDER BY 1`
}

func rolesSQL(p pattern, _ bool) string {
	where := "r.rolname !~ '^pg_'"
	if p.name != "" {
		where = "r.rolname ~ " + literal(p.name)
	}
	return `SELECT r.rolname AS "Role name",
       concat_ws(', ', CASE WHEN r.rolsuper THEN 'Superuser' END, CASE WHEN NOT r.rolinherit THEN 'No inheritance' END, CASE WHEN r.rolcreaterole THEN 'Create role' END,
                 CASE WHEN r.rolcreatedb THEN 'Create DB' END, CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END) AS "Attributes",
       ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b ON m.roleid = b.oid WHERE m.member = r.oid) AS "Member of"
FROM pg_catalog.pg_roles r WHERE ` + where + ` ORDER BY 1`
}

func functionsSQL(p pattern, _ bool) string {
	return `SELECT n.nspname AS "Schema", p.proname AS "Name", pg_catalog.pg_get_function_result(p.oid) AS "Result data type",
       pg_catalog.pg_get_function_arguments(p.oid) AS "Argument data types",
       CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS "Type"
FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE ` + p.where("n.nspname", "p.proname", "pg_catalog.pg_function_is_visible(p.oid)") + ` ORDER BY 1, 2, 4`
}

func privilegesSQL(p pattern, _ bool) string {
	return `SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'p' THEN 'partitioned table' END AS "Type",
       pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','v','m','S','p') AND ` + p.where("n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)") + ` ORDER BY 1, 2`
}

func databasesSQL(p pattern, plus bool) string {
	where, more := "", ""
	if p.name != "" {
		where = " WHERE d.datname ~ " + literal(p.name)
	}
	if plus {
		more = `, pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(d.datname)) AS "Size"`
	}
	return `SELECT d.datname AS "Name", pg_catalog.pg_get_userbyid(d.datdba) AS "Owner", pg_catalog.pg_encoding_to_char(d.encoding) AS "Encoding",
       d.datcollate AS "Collate"` + more + ` FROM pg_catalog.pg_database d` + where + ` ORDER BY 1`
}

// print prints rows that the shell has, as a result is printed.
func (s *session) print(title string, heads []string, rows [][]*string, footers []string) error {
	f := s.format
	f.title, f.footers = title, footers
	if f.null == "NULL" {
		f.null = "" // in the catalog's lists what is not there is empty
	}
	cols := make([]column, len(heads))
	for i, h := range heads {
		cols[i].name = h
	}
	return s.printRows(f, cols, rows)
}

// printRows prints rows that the shell has; nil is NULL.
func (s *session) printRows(f format, cols []column, rows [][]*string) error {
	to := s.output()
	w := bufio.NewWriterSize(to, 1<<16)
	p := f.printer(w, cols, s.screen())
	for _, r := range rows {
		vals := make([][]byte, len(r))
		for i, v := range r {
			if v != nil {
				vals[i] = []byte(*v)
			}
		}
		p.row(vals)
	}
	p.end(int64(len(rows)))
	if err := w.Flush(); err != nil && !s.terminal {
		return err
	}
	return s.closeSink(to)
}

func describeCommand(s *session, ctx context.Context, text string, plus bool) error {
	if text == "" || text == "*.*" {
		return s.list(ctx, relationsSQL("'r','p','v','m','S','f'", parsePattern(text), plus), "List of relations", "relations", "")
	}
	_, found, err := s.query(ctx, `SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE `+parsePattern(text).where("n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)")+` ORDER BY 2, 3`)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("did not find any relation named %q", text)
	}
	for _, r := range found {
		if err := s.describe(ctx, *r[0], *r[1], *r[2], *r[3], plus); err != nil {
			return err
		}
	}
	return nil
}

var kindNames = map[string]string{"r": "Table", "p": "Partitioned table", "v": "View", "m": "Materialized view", "i": "Index", "S": "Sequence", "f": "Foreign table"}

// describe prints a relation's columns, and below them what belongs to it.
func (s *session) describe(ctx context.Context, oid, schema, name, kind string, plus bool) error {
	more := ""
	if plus {
		more = `, coalesce(pg_catalog.col_description(a.attrelid, a.attnum), '') AS "Description"`
	}
	heads, rows, err := s.query(ctx, `SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
       CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable",
       coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') AS "Default"`+more+`
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = `+oid+` AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`)
	if err != nil {
		return err
	}
	footers := []string{}
	part := func(title, sql string) error {
		_, rows, err := s.query(ctx, sql)
		if err != nil {
			return err
		}
		for i, r := range rows {
			if i == 0 {
				footers = append(footers, title)
			}
			if r[0] != nil {
				footers = append(footers, "    "+*r[0])
			}
		}
		return nil
	}
	parts := [][2]string{}
	switch kind {
	case "r", "p":
		parts = [][2]string{
			{"Indexes:", `SELECT '"' || c.relname || '"' || CASE WHEN i.indisprimary THEN ' PRIMARY KEY,' WHEN i.indisunique THEN ' UNIQUE,' ELSE '' END || ' '
       || regexp_replace(pg_catalog.pg_get_indexdef(i.indexrelid), '^.* USING ', '')
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ` + oid + ` ORDER BY i.indisprimary DESC, c.relname`},
			{"Check constraints:", constraintsSQL("conrelid", oid, "c")},
			{"Foreign-key constraints:", constraintsSQL("conrelid", oid, "f")},
			{"Referenced by:", `SELECT 'TABLE "' || t.relname || '" CONSTRAINT "' || k.conname || '" ' || pg_catalog.pg_get_constraintdef(k.oid)
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class t ON t.oid = k.conrelid WHERE k.confrelid = ` + oid + ` AND k.contype = 'f' ORDER BY 1`},
		}
	case "v", "m":
		if plus {
			parts = [][2]string{{"View definition:", `SELECT pg_catalog.pg_get_viewdef(` + oid + `, true)`}}
		}
	}
	for _, p := range parts {
		if err := part(p[0], p[1]); err != nil {
			return err
		}
	}
	return s.print(fmt.Sprintf(`%s "%s.%s"`, first(kindNames[kind], "Relation"), schema, name), heads, rows, slices.Clip(footers))
}

func constraintsSQL(of, oid, kind string) string {
	return `SELECT '"' || conname || '" ' || pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint WHERE ` + of + ` = ` + oid + ` AND contype = '` + kind + `' ORDER BY 1`
}

// modelColumns are those of SHOW MODELS that \dm prints; \dm+ prints all.
var modelColumns = []string{"schema", "name", "version", "algorithm", "target", "rows", "metrics", "owner"}

func modelsCommand(s *session, ctx context.Context, text string, plus bool) error {
	heads, rows, err := s.query(ctx, "SHOW MODELS")
	if err != nil {
		return err
	}
	p := parsePattern(text)
	re, err := regexp.Compile(p.name)
	if err != nil {
		return err
	}
	schema, err := regexp.Compile(p.schema)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, h := range heads {
		at[h] = i
	}
	kept := heads
	if !plus {
		kept = modelColumns
	}
	var out [][]*string
	for _, r := range rows {
		if !re.MatchString(*r[at["name"]]) || !schema.MatchString(*r[at["schema"]]) {
			continue
		}
		row := make([]*string, len(kept))
		for i, h := range kept {
			row[i] = r[at[h]]
		}
		out = append(out, row)
	}
	return s.listed("List of models", "models", text, kept, out)
}
