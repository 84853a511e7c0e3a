package shell

import (
	"context"
	"fmt"
	"strings"
)

const help = `General
  \q                     quit
  \?                     this help
  \timing [on|off]       show how long statements take
  \x [on|off]            one line a cell instead of a table
  \i FILE                run the statements of a file

Catalog
  \d                     list tables, views and sequences
  \d NAME                describe a table or view
  \dt                    list tables
  \dm                    list models
  \l                     list databases

A statement ends with a semicolon. Ctrl-C cancels the one that runs.
`

// command runs a \command; it reports whether the shell ends.
func (s *session) command(ctx context.Context, line string) (quit bool) {
	words := strings.Fields(strings.TrimSuffix(line, ";"))
	name, arg := words[0], ""
	if len(words) > 1 {
		arg = words[1]
	}
	switch name {
	case `\q`:
		return true
	case `\?`:
		fmt.Fprint(s.io.Out, help)
	case `\timing`:
		s.toggle(&s.timing, arg, "Timing is %s.\n")
	case `\x`:
		s.toggle(&s.expanded, arg, "Expanded display is %s.\n")
	case `\i`:
		if arg == "" {
			s.fail(fmt.Errorf(`\i needs a file name`), "")
			return false
		}
		s.file(ctx, arg)
	case `\d`:
		if arg == "" {
			s.run(ctx, relations("'r','p','v','m','S','f'"))
			return false
		}
		s.run(ctx, describe(arg))
	case `\dt`:
		s.run(ctx, relations("'r','p'"))
	case `\dm`:
		s.run(ctx, "SHOW MODELS")
	case `\l`:
		s.run(ctx, `SELECT d.datname AS "Name", pg_catalog.pg_get_userbyid(d.datdba) AS "Owner" FROM pg_catalog.pg_database d ORDER BY 1`)
	default:
		s.fail(fmt.Errorf("invalid command %s: %w", name, errUsage), "")
	}
	return false
}

func (s *session) toggle(v *bool, arg, text string) {
	switch arg {
	case "":
		*v = !*v
	case "on":
		*v = true
	case "off":
		*v = false
	default:
		s.fail(fmt.Errorf("%q is neither on nor off", arg), "")
		return
	}
	state := "off"
	if *v {
		state = "on"
	}
	fmt.Fprintf(s.io.Out, text, state)
}

// relations returns a query for the relations of these kinds on the search path,
// without the system's.
func relations(kinds string) string {
	return `SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence'
            WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END AS "Type",
       pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN (` + kinds + `) AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'ml', 'cluster')
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2`
}

func describe(name string) string {
	quoted := "'" + strings.ReplaceAll(name, "'", "''") + "'"
	return `SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
       CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable",
       coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') AS "Default"
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ` + quoted + `::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`
}
