package node

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestVerifyWithoutSnapshot: where the rows of then are kept no longer, VERIFY MODEL trains over those of now: the same rows prove
// the model, and of others it is said which tables have changed. And so after a restore into a cluster of another size.
func TestVerifyWithoutSnapshot(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, fewInline)
			c := connect(t, nodes[n-1], spread)
			const rows = "insert into a select i, i % 91 + (i % 7) / 10.0, i % 13 from generate_series(1, 20000) i"
			c.must("create table a (id int, x float8, y float8) with (retention = '0'); " + rows)
			c.must("train model m using ridge predict y as select x, y from a")
			is := func(c *client, want string) {
				t.Helper()
				const verify = "select verified, found_sha256 = recorded_sha256, trained_over, changed_tables, reason from ml.verify_model('m')"
				if got := c.must(verify); len(got) != 1 || got[0] != want {
					t.Errorf("%q, not %s", got, want)
				}
			}
			is(c, "t|t|snapshot|{}|NULL")
			dir := filepath.Join(t.TempDir(), "b")
			c.must("backup to '" + dir + "'")
			c.must("truncate a; " + rows)
			is(c, `t|t|current rows|{"public.a has been written since"}|NULL`)
			c.must("update a set y = y + 1 where id = 7")
			const lost = "the rows that it was trained on are kept no longer, and tables have changed since"
			is(c, `f|f|current rows|{"public.a has been written since"}|`+lost)
			if got := c.must("select cardinality(differences) > 0 from ml.verify_model('m')"); got[0] != "t" {
				t.Error("nothing differs")
			}
			c.must("delete from a where id > 19990")
			is(c, `f|f|current rows|{"public.a had 20000 rows and has 19990"}|`+lost)
			c.must("delete from a")
			is(c, `f|NULL|NULL|{"public.a had 20000 rows and has 0"}|its statement fails over the tables as they are now: the training query returned no rows`)
			c.must("drop table a")
			is(c, `f|NULL|NULL|{"public.a is gone"}|its statement fails over the tables as they are now: relation "a" does not exist`)

			// A node without a history of that time, and tables that nobody has written since.
			c.must("drop model m; create table a as select i, i % 91 + (i % 7) / 10.0 as x, i % 13 as y from generate_series(1, 20000) i")
			c.must("train model m using ridge predict y as select x, y from a; alter system set tributary.retention = '0'")
			for _, node := range nodes { // each asks the others
				node.past.Trim()
			}
			m := nodes[n-1].Catalog().Model(catalog.PublicOID, "m")
			if _, err := nodes[n-1].past.SeenVersion(t.Context(), nodes[n-1].Catalog(), m.Find(1).Snapshot.Version); n == 1 && !pgerr.Is(err, pgerr.SnapshotTooOld) { // others may know it yet
				t.Error(err)
			}
			is(c, "t|t|snapshot|{}|NULL")

			other := connect(t, start(t, 4-n, fewInline)[0], spread)
			other.must("restore table a from '" + dir + "'; restore model m from '" + dir + "'")
			is(other, `t|t|current rows|{"public.a has been written since"}|NULL`)
			if _, err := other.do("verify model none"); pgerr.CodeOf(err) != pgerr.UndefinedObject {
				t.Error(err)
			}
		})
	}
}
