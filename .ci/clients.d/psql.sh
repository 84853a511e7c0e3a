#!/usr/bin/env bash
# psql: the commands that read the catalogs, \copy, and a short pgbench.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '1\tone\t1.50\n2\t\\N\t2\n' > rows.tsv
cat > script.sql <<'SQL'
DROP TABLE IF EXISTS ps_child, ps;
CREATE TABLE ps (id int PRIMARY KEY, t text DEFAULT 'x', n numeric(10,2) CHECK (n > 0));
CREATE TABLE ps_child (id serial PRIMARY KEY, ps int REFERENCES ps (id));
CREATE VIEW ps_view AS SELECT id, t FROM ps;
COMMENT ON TABLE ps IS 'a table';
\copy ps from rows.tsv
\copy (select id, t, n from ps order by id) to out.csv with (format csv, header)
\d
\d ps
\d+ ps
\d ps_child
\d ps_view
\dt+
\dt *.*
\dn
\dn+
\du
\l
\l+
\df
\df abs
\da
\di
\ds
\dv
\dm
\dT
\dD
\dp
\do
\dC
\dx
\db
\drds
\des
\dS pg_class
\conninfo
\encoding
\x
SELECT * FROM ps ORDER BY id;
\x
\gdesc
SELECT 1 AS a, 'b' AS b \gset
SELECT :a, :'b';
PREPARE p (int) AS SELECT t FROM ps WHERE id = $1;
EXECUTE p(1);
DEALLOCATE p;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM ps ORDER BY id;
FETCH 1 FROM c;
COMMIT;
\set FETCH_COUNT 100
SELECT count(*) FROM (SELECT g FROM generate_series(1, 1000) g) x;
\unset FETCH_COUNT
\timing on
SELECT 1;
DROP VIEW ps_view;
DROP TABLE ps_child, ps;
SQL
psql -X -v ON_ERROR_STOP=1 -f script.sql > out.txt 2> err.txt || { cat err.txt; exit 1; }
if grep -q 'ERROR\|FATAL\|PANIC' err.txt; then cat err.txt; exit 1; fi
want=$'id,t,n\n1,one,1.50\n2,,2.00'
[ "$(cat out.csv)" = "$want" ] || { echo "\\copy gave:"; cat out.csv; exit 1; }
for text in 'ps_pkey" PRIMARY KEY' 'n > ' 'FOREIGN KEY (ps) REFERENCES ps(id)' 'character varying\|text' 'tributary'; do
  grep -q "$text" out.txt || { echo "psql did not show: $text"; exit 1; }
done
if ! command -v pgbench >/dev/null 2>&1; then
  echo "psql ok (no pgbench)"
  exit 0
fi
pgbench -i -s 1 -q > bench.txt 2>&1 || { cat bench.txt; exit 1; }
for mode in simple extended prepared; do
  pgbench -n -S -c 4 -j 2 -t 50 -M "$mode" > bench.txt 2>&1 || { cat bench.txt; exit 1; }
done
pgbench -n -c 2 -t 10 --max-tries=1000 > bench.txt 2>&1 || { cat bench.txt; exit 1; }
# The balances of the three tables agree.
sums=$(psql -X -At -c 'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)')
[ "$sums" = t ] || { echo "pgbench: the balances differ"; exit 1; }
psql -X -q -c 'DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers'
echo "psql and pgbench ok"
