package ddl

import (
	"regexp"
	"testing"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestUnsupported: the error of every kind of unsupported statement names it in
// SQL, not by the parser's node.
func TestUnsupported(t *testing.T) {
	internal := regexp.MustCompile(`[a-z][A-Z]|Stmt|ast\.|[A-Z][a-z]+db\b`)
	for _, sql := range []string{
		"CREATE TYPE p AS (a int)", "CREATE TYPE r AS RANGE (subtype = int4)", "CREATE TYPE b", "CREATE DOMAIN d AS int", "ALTER DOMAIN d DROP DEFAULT",
		"CREATE DATABASE x", "DROP DATABASE x", "ALTER DATABASE x SET work_mem = '1MB'", "ALTER DATABASE x CONNECTION LIMIT 3", "CREATE TABLESPACE s LOCATION '/x'", "DROP TABLESPACE s",
		"ALTER TABLESPACE s RESET (seq_page_cost)", "CREATE EXTENSION e", "ALTER EXTENSION e UPDATE", "ALTER EXTENSION e ADD TABLE t",
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'begin end'", "CREATE PROCEDURE f() LANGUAGE sql AS 'select 1'", "CREATE TRIGGER g BEFORE INSERT ON t EXECUTE FUNCTION f()",
		"CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()", "ALTER EVENT TRIGGER e DISABLE", "CREATE RULE r AS ON INSERT TO t DO NOTHING",
		"CREATE POLICY p ON t", "ALTER POLICY p ON t TO PUBLIC", "CREATE STATISTICS s ON a, b FROM t", "ALTER STATISTICS s SET STATISTICS 3",
		"CREATE PUBLICATION p", "ALTER PUBLICATION p ADD TABLE t", "CREATE SUBSCRIPTION s CONNECTION 'x' PUBLICATION p", "ALTER SUBSCRIPTION s DISABLE", "DROP SUBSCRIPTION s",
		"CREATE SERVER s FOREIGN DATA WRAPPER w", "ALTER SERVER s VERSION '1'", "CREATE FOREIGN DATA WRAPPER w", "ALTER FOREIGN DATA WRAPPER w NO HANDLER",
		"CREATE FOREIGN TABLE f (a int) SERVER s", "CREATE USER MAPPING FOR PUBLIC SERVER s", "ALTER USER MAPPING FOR PUBLIC SERVER s OPTIONS (a 'b')",
		"DROP USER MAPPING FOR PUBLIC SERVER s", "IMPORT FOREIGN SCHEMA x FROM SERVER s INTO y", "CREATE LANGUAGE l", "CREATE CAST (int4 AS text) WITHOUT FUNCTION",
		"CREATE CONVERSION c FOR 'UTF8' TO 'LATIN1' FROM f", "CREATE OPERATOR === (LEFTARG = int4, FUNCTION = f)", "ALTER OPERATOR === (int4, int4) SET (RESTRICT = NONE)",
		"CREATE OPERATOR CLASS c FOR TYPE int4 USING btree AS STORAGE int4", "CREATE OPERATOR FAMILY f USING btree", "ALTER OPERATOR FAMILY f USING btree ADD OPERATOR 1 < (int4, int4)",
		"CREATE AGGREGATE a (int4) (SFUNC = f, STYPE = int4)", "CREATE COLLATION c (locale = 'C')", "ALTER COLLATION c REFRESH VERSION", "CREATE TEXT SEARCH CONFIGURATION c (PARSER = p)",
		"ALTER TEXT SEARCH DICTIONARY d (a = 'b')", "ALTER TEXT SEARCH CONFIGURATION c DROP MAPPING FOR word", "CREATE TRANSFORM FOR int4 LANGUAGE l (FROM SQL WITH FUNCTION f(internal))",
		"CREATE ACCESS METHOD a TYPE INDEX HANDLER f", "SECURITY LABEL ON TABLE t IS 'x'",
		"DROP OWNED BY a", "CLUSTER t", "REINDEX TABLE t", "LOAD 'x'", "ALTER SYSTEM SET work_mem = '1MB'", "ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b",
		"ALTER FUNCTION f() DEPENDS ON EXTENSION e", "ALTER TYPE p SET (receive = f)", "LISTEN x", "NOTIFY x", "DO 'x'", "CALL f()",
	} {
		list, err := parse.Parse(sql, parse.Postgres)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		st := catalog.New()
		env := &Env{Bind: &bind.Session{Names: bind.Names{State: st, SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID}, Text: list[0]}}
		_, err = Plan(env, list[0])
		if e := pgerr.From(err); err == nil || e.Code == pgerr.InternalError || internal.MatchString(e.Message) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
