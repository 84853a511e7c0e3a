package shell

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// syntax says how the commonest statements are written. The manual's pages have all of it.
var syntax = map[string]string{
	"SELECT": `[ WITH [ RECURSIVE ] name AS ( query ) [, ...] ]
SELECT [ ALL | DISTINCT [ ON ( expression [, ...] ) ] ] expression [ [ AS ] name ] [, ...]
    [ FROM item [, ...] ]
    [ WHERE condition ]
    [ GROUP BY element [, ...] ]
    [ HAVING condition ]
    [ WINDOW name AS ( definition ) [, ...] ]
    [ { UNION | INTERSECT | EXCEPT } [ ALL | DISTINCT ] query ]
    [ ORDER BY expression [ ASC | DESC ] [ NULLS { FIRST | LAST } ] [, ...] ]
    [ LIMIT { count | ALL } ] [ OFFSET start ]`,
	"INSERT":       "INSERT INTO table [ ( column [, ...] ) ] { VALUES ( expression [, ...] ) [, ...] | query }\n    [ ON CONFLICT [ ( column [, ...] ) ] { DO NOTHING | DO UPDATE SET column = expression [, ...] } ]\n    [ RETURNING expression [, ...] ]",
	"UPDATE":       "UPDATE table [ [ AS ] alias ] SET column = expression [, ...]\n    [ FROM item [, ...] ] [ WHERE condition ] [ RETURNING expression [, ...] ]",
	"DELETE":       "DELETE FROM table [ [ AS ] alias ] [ USING item [, ...] ] [ WHERE condition ] [ RETURNING expression [, ...] ]",
	"CREATE TABLE": "CREATE [ TEMP ] TABLE [ IF NOT EXISTS ] name ( column type [ NOT NULL ] [ DEFAULT expression ] [ PRIMARY KEY ] [, ...] )\n    [ WITH ( option = value [, ...] ) ]\nCREATE TABLE name AS query",
	"CREATE VIEW":  "CREATE [ OR REPLACE ] VIEW name [ ( column [, ...] ) ] AS query",
	"CREATE MODEL": "CREATE [ OR REPLACE ] MODEL name\n    WITH ( algorithm = '...', label = 'column' [, option = value [, ...] ] )\n    AS query",
	"DROP TABLE":   "DROP TABLE [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]",
	"COPY":         "COPY { table [ ( column [, ...] ) ] | ( query ) } { FROM | TO } { 'file' | STDIN | STDOUT }\n    [ ( option [ value ] [, ...] ) ]",
	"EXPLAIN":      "EXPLAIN [ ANALYZE ] [ VERBOSE ] statement",
	"BEGIN":        "BEGIN [ TRANSACTION ] [ ISOLATION LEVEL level ] [ READ ONLY | READ WRITE ]",
	"COMMIT":       "COMMIT [ TRANSACTION ]",
	"ROLLBACK":     "ROLLBACK [ TRANSACTION ] [ TO SAVEPOINT name ]",
	"GRANT":        "GRANT { SELECT | INSERT | UPDATE | DELETE | ALL } [, ...] ON [ TABLE ] name TO role\nGRANT role TO role",
	"SET":          "SET [ SESSION | LOCAL ] name { = | TO } { value | DEFAULT }",
	"SHOW":         "SHOW { name | ALL | MODELS }",
}

func topics() []string { return slices.Sorted(maps.Keys(syntax)) }

func syntaxCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	asked := strings.ToUpper(strings.Join(strings.Fields(strings.TrimRight(a.line(), ";")), " "))
	names := slices.Sorted(maps.Keys(syntax))
	if asked == "" {
		fmt.Fprintf(s.io.Out, "Available help: %s\n", strings.Join(names, ", "))
		return nil
	}
	n := 0
	for _, name := range names {
		if asked == "*" || strings.HasPrefix(name, asked) || strings.HasPrefix(asked, name+" ") {
			fmt.Fprintf(s.io.Out, "Command:     %s\nSyntax:\n%s\n\n", name, syntax[name])
			n++
		}
	}
	if n == 0 {
		return fmt.Errorf(`no help for %q: \h lists what there is, the manual (docs) has all`, asked)
	}
	return nil
}
