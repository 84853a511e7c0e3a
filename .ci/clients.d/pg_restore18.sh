#!/usr/bin/env bash
# Restores a dump that pg_dump 18 made of a PostgreSQL 18 (pg18.dump beside this file) with pg_restore 18, in
# one transaction, and dumps what came of it. The programs' folder is given as PG18_BIN.
set -euo pipefail
PATH=$PG18_BIN:$PATH
dump=$(cd "$(dirname "$0")" && pwd)/pg18.dump
pg_restore -1 --no-owner --exit-on-error -d tributary "$dump"
query() { psql -X -At -v ON_ERROR_STOP=1 "$@"; }
got=$(query -c 'SELECT * FROM app.v ORDER BY 1' -c "SELECT sum(twice), count(*) FROM orders WHERE note <> 'z'" -c 'SELECT * FROM mv ORDER BY 1' -c "SELECT nextval('app.customers_id_seq'), nextval('orders_id_seq')" \
  -c "SELECT string_agg(conname, ' ' ORDER BY conname COLLATE \"C\") FROM pg_constraint WHERE conrelid IN ('orders'::regclass, 'app.customers'::regclass) AND contype <> 'n'")
want=$'a\' \\ b|2|3.5\ntab\tx|1|Infinity\nInfinity|3\nsad|1\nhappy|1\n3|4\ncustomers_email_key customers_pkey orders_customer_fkey orders_pkey score_pos'
[ "$got" = "$want" ] || { printf 'restored:\n%s\n' "$got"; exit 1; }
[ "$(pg_dump tributary -t orders -t app.customers | grep -c '^COPY')" = 2 ] || { echo "pg_dump 18 dumps no rows"; exit 1; }
query -q -c 'DROP SCHEMA app CASCADE' -c 'DROP TABLE orders' 2> /dev/null
pgbench -i -q -s 1 > /dev/null 2>&1 && pgbench -n -S -t 20 -M prepared > /dev/null && vacuumdb -q -z tributary && query -q -c 'DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers'
echo "$(pg_restore --version | sed 's/ (.*)//'): a dump of PostgreSQL 18 in one transaction"
