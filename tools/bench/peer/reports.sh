#!/usr/bin/env bash
# Single-row INSERTs of 32 clients, 100 a second in all, alone and then beside eight clients that run reports without a rest and
# 150 that look up rows, 300 a second. One node of 512 MiB; by turns with the processors that the server takes of Go's
# runtime by itself and with as many as there are cores (docs/decisions/0111-spare-processors.md). Usage, from the repository,
# on a machine that does nothing else:
#
#     bash tools/bench/peer/reports.sh [empty directory for data]
#
# PG is the directory of pgbench and psql (/usr/lib/postgresql/15/bin), ROUNDS how often (3).
set -euo pipefail
dir=$(realpath -m "${1:-$(mktemp -d)}")
pg=${PG:-/usr/lib/postgresql/15/bin} rounds=${ROUNDS:-3}
mkdir -p "$dir"
cd "$(dirname "$0")/../../.."
CGO_ENABLED=0 go build -o "$dir/tributary" ./cmd/tributary
cd "$dir"
cores=$(nproc) server=
finish() { [ -z "$server" ] || { kill "$server" && wait "$server" || true; }; }
trap finish EXIT

printf '\\set k random(1, 3000000)\nSELECT w FROM points WHERE k = :k;\n' > lookup.sql
printf "\\\\set k random(1, 9000000000000000)\nINSERT INTO arrivals VALUES (:k, 'some text of an arrival', 1.5);\n" > insert.sql
cat > report.sql <<'SQL'
SELECT g, count(*), sum(w), avg(w * k) FROM points WHERE k % 7 <> 3 GROUP BY g ORDER BY 3 DESC LIMIT 5;
SELECT count(DISTINCT k % 1000000) FROM points WHERE g < 500;
SELECT a.g, sum(a.w) FROM points a JOIN points b ON a.k = b.k + 1 GROUP BY 1 ORDER BY 2 LIMIT 3;
SQL

# shares NAME: the median and the 95th percentile of the transactions in pgbench's logs NAME.*, in ms.
shares() { awk '{print $3 / 1000}' "$1".* | sort -n | awk '{v[NR] = $1} END {printf "%8.2f %8.2f", v[int(NR * .5) + 1], v[int(NR * .95) + 1]}'; }

# round [NAME=VALUE]: one run, with that in the environment.
round() {
  rm -rf data alone.* beside.* && mkdir data
  env "$@" ./tributary serve --data data --memory 512MiB --threads "$cores" --listen-pg 127.0.0.1:0 --listen-http 127.0.0.1:0 --listen-cluster 127.0.0.1:0 > out 2> err &
  server=$!
  until grep -q '^ready' out; do kill -0 "$server" || { cat err; exit 1; }; sleep 0.2; done
  local address to
  address=$(sed -n 's/^ready.* *pg=\([^ ]*\).*/\1/p' out)
  to=(-h "${address%:*}" -p "${address##*:}" -U tributary)
  "$pg/psql" -q "${to[@]}" -d tributary -v ON_ERROR_STOP=1 <<'SQL'
CREATE TABLE points (k bigint PRIMARY KEY, g int, w double precision);
INSERT INTO points SELECT i, i % 1000, i * 0.5 FROM generate_series(1, 3000000) AS g(i);
CREATE TABLE arrivals (k bigint PRIMARY KEY, t text, x double precision);
SQL
  local inserts=(-n -M prepared "${to[@]}" -c 32 -j 1 -R 100 -l -f insert.sql tributary)
  "$pg/pgbench" -T 8 --log-prefix=alone "${inserts[@]}" > alone 2>&1
  "$pg/pgbench" -n -M prepared "${to[@]}" -c 8 -j 1 -T 20 -f report.sql tributary > reports 2>&1 &
  local reports=$!
  "$pg/pgbench" -n -M prepared "${to[@]}" -c 150 -j 1 -T 20 -R 300 -f lookup.sql tributary > lookups 2>&1 &
  local lookups=$!
  sleep 3 # until reports run everywhere
  "$pg/pgbench" -T 12 --log-prefix=beside "${inserts[@]}" > beside 2>&1
  wait "$reports" "$lookups"
  printf '%-14s %s %s %8s\n' "${1:-by itself}" "$(shares alone)" "$(shares beside)" "$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' reports)"
  kill "$server" && wait "$server" || true
  server=
}

printf '%-14s %8s %8s %8s %8s %8s\n' processors alone 95% beside 95% reports/s
for _ in $(seq "$rounds"); do
  round
  round "GOMAXPROCS=$cores"
done
