#!/usr/bin/env bash
# Small statements by pgbench, prepared, everything durable: look-ups by primary
# key among a million rows, INSERTs of one row with a random key, UPDATEs of one row
# of a hundred thousand; upserts of one row and of four, MERGEs of one, INSERTs with an
# identity key; pgbench's own transactions of scale 10 (tpcb); with one client and with eight. Beside each figure those of
# PostgreSQL in the same minute, and of a follower of three nodes on the same machine.
# Usage, from the repository:
#
#     bash tools/bench/peer/pgbench.sh [empty directory for data]
#
# PG is the directory of PostgreSQL's programs (/usr/lib/postgresql/15/bin); as root
# it runs as the user postgres. SECONDS_EACH (5), ROUNDS (3: the best counts), MEMORY
# (3GiB), FOLLOWER (1; 0: one node only) and STATEMENTS (some of the names) may be set.
set -euo pipefail
dir=$(realpath -m "${1:-$(mktemp -d)}")
pg=${PG:-/usr/lib/postgresql/15/bin} seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-3} memory=${MEMORY:-3GiB} follower=${FOLLOWER:-1}
mkdir -p "$dir"
cd "$(dirname "$0")/../../.."
CGO_ENABLED=0 go build -o "$dir/tributary" ./cmd/tributary
cd "$dir"

cat > setup.sql <<'SQL'
CREATE TABLE points (k bigint PRIMARY KEY, v text, w double precision);
INSERT INTO points SELECT i, 'value ' || i, i * 0.5 FROM generate_series(1, 1000000) AS g(i);
CREATE TABLE arrivals (k bigint PRIMARY KEY, t text, x double precision);
CREATE TABLE numbered (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, t text);
CREATE TABLE upserted (id bigint PRIMARY KEY, v bigint);
INSERT INTO upserted SELECT i * 2, i FROM generate_series(1, 100000) AS g(i);
CREATE TABLE accounts (id bigint PRIMARY KEY, name text, balance bigint);
INSERT INTO accounts SELECT i, 'account ' || i, 0 FROM generate_series(1, 100000) AS g(i);
SQL
printf '\\set k random(1, 1000000)\nSELECT v FROM points WHERE k = :k;\n' > lookup.sql
printf "\\\\set k random(1, 9000000000000000)\nINSERT INTO arrivals VALUES (:k, 'some text of an arrival', 1.5);\n" > insert.sql
printf '\\set k random(1, 100000)\nUPDATE accounts SET balance = balance + 1 WHERE id = :k;\n' > update.sql
printf "INSERT INTO numbered (t) VALUES ('some text');\n" > identity.sql
printf '\\set k random(1, 200000)\nINSERT INTO upserted VALUES (:k, 1) ON CONFLICT (id) DO UPDATE SET v = upserted.v + excluded.v;\n' > upsert.sql
printf '\\set k random(1, 200000)\nINSERT INTO upserted VALUES (:k, 1), (:k + 1, 1), (:k + 2, 1), (:k + 3, 1) ON CONFLICT (id) DO UPDATE SET v = upserted.v + 1;\n' > upsert4.sql
printf '\\set k random(1, 200000)\nMERGE INTO upserted u USING (VALUES (:k::bigint, 1::bigint)) AS n (id, v) ON u.id = n.id WHEN MATCHED THEN UPDATE SET v = u.v + n.v WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.v);\n' > merge.sql

pids=()
as() { if [ "$(id -u)" = 0 ]; then su postgres -c "$*"; else bash -c "$*"; fi; }
finish() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  as "$pg/pg_ctl -D $dir/peer/data -m fast stop" > /dev/null 2>&1 || true
}
trap finish EXIT

# node NAME [MEMBER]: starts one and waits until it serves.
node() {
  mkdir -p "$1"
  if [ $# -gt 1 ]; then cp first/cluster-secret "$1/"; fi
  ./tributary serve --data "$1" --listen-pg 127.0.0.1:0 --listen-http 127.0.0.1:0 --listen-cluster 127.0.0.1:0 --memory "$memory" ${2:+--join "$2"} > "$1.out" 2> "$1.err" &
  pids+=($!)
  until grep -q '^ready' "$1.out"; do kill -0 "$!" || { cat "$1.err"; exit 1; }; sleep 0.2; done
}
of() { sed -n "s/^ready.* *$2=\([^ ]*\).*/\1/p" "$1.out"; }

mkdir -p peer && { [ "$(id -u)" != 0 ] || chown postgres peer; }
as "$pg/initdb -D $dir/peer/data --lc-collate=C --lc-ctype=C.UTF-8 -A trust" > /dev/null
port=$((20000 + $$ % 20000))
as "$pg/pg_ctl -D $dir/peer/data -o '-h 127.0.0.1 -p $port -k $dir/peer' -l $dir/peer/log -w start" > /dev/null
node one
if [ "$follower" = 1 ]; then
  node first
  node second "$(of first cluster)"
  node third "$(of first cluster)"
fi
targets="postgres:127.0.0.1:$port:postgres:postgres one:$(of one pg):tributary:tributary"
[ "$follower" = 1 ] && targets="$targets follower:$(of third pg):tributary:tributary"
for t in $targets; do
  IFS=: read -r name host p user db <<< "$t"
  "$pg/psql" -q -h "$host" -p "$p" -U "$user" -d "$db" -v ON_ERROR_STOP=1 -f setup.sql
  "$pg/pgbench" -q -i -I dtgp -s 10 -h "$host" -p "$p" -U "$user" "$db" > init.txt 2>&1 || { cat init.txt; exit 1; }
done

printf '%-8s %8s' statement clients
for t in $targets; do printf ' %10s' "${t%%:*}"; done
echo
for script in ${STATEMENTS:-lookup insert update identity upsert upsert4 merge tpcb}; do
  what=(-f "$script.sql")
  [ "$script" = tpcb ] && what=(-b tpcb-like)
  for clients in 1 8; do
    declare -A best=()
    for _ in $(seq "$rounds"); do
      for t in $targets; do
        IFS=: read -r name host p user db <<< "$t"
        out=$("$pg/pgbench" -n -M prepared --max-tries=100 -h "$host" -p "$p" -U "$user" -c "$clients" -j 2 -T "$seconds" "${what[@]}" "$db" 2>&1) || { echo "$out"; exit 1; }
        tps=$(sed -n 's/^tps = \([0-9]*\).*/\1/p' <<< "$out")
        [ "${tps:-0}" -gt "${best[$name]:-0}" ] && best[$name]=$tps
      done
    done
    printf '%-8s %8s' "$script" "$clients"
    for t in $targets; do printf ' %10s' "${best[${t%%:*}]}"; done
    echo
  done
done
