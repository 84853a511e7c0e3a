#!/usr/bin/env bash
# How fast a backup of three nodes is, and a restore of it, beside cp of the same files:
#
#   bash tools/bench/peer/backups.sh [GIGABYTES [DIRECTORY]]
#
# and how long statements take beside one. Nodes, backups and copies lie in the directory, which needs six times the size. Needs psql and pgbench. Each copy is synced, as backups and
# restores are. COLD=1 drops the cache of files before each, as root.
set -euo pipefail
gigabytes=${1:-1}
work=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}" backups.XXXXXX)
root=$(cd "$(dirname "$0")/../../.." && pwd)
program=${PROGRAM:-$work/tributary}
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
[ -n "${PROGRAM:-}" ] || go -C "$root" build -trimpath -buildvcs=false -o "$program" ./cmd/tributary

serve() { # NAME [FLAGS]: a node; its line of addresses is in NAME.ready
  "$program" serve --data "$work/$1" --node "$1" --listen-pg 127.0.0.1:0 --listen-http 127.0.0.1:0 --listen-cluster 127.0.0.1:0 \
    --memory 1GiB "${@:2}" >"$work/$1.ready" 2>"$work/$1.log" &
  pids+=($!)
  until grep -q '^ready' "$work/$1.ready"; do kill -0 $! && sleep 0.05; done
}
address() { sed -n "s/.* $2=\([^ ]*\).*/\1/p" "$work/$1.ready"; }
ask() { psql -XqAt "postgres://tributary@$(address one pg)/tributary" -v ON_ERROR_STOP=1 -c "$1"; }
cold() { [ -z "${COLD:-}" ] || { sync && echo 3 >/proc/sys/vm/drop_caches; }; }
timed() { # WHAT COMMAND…
  local from to
  cold
  from=$(date +%s%N)
  "${@:2}" >"$work/said"
  to=$(date +%s%N)
  printf '%-55s %7.2f s\n' "$1" "$(bc -l <<<"($to - $from) / 1000000000")"
}
copy() { cp -r "$1" "$2" && find "$2" -type f -print0 | xargs -0 sync; }
restore() { # until the node has printed its line
  "$program" restore --from "$1" --data "$work/$2" && serve "$2"
}

serve one
secret="$work/one/cluster-secret"
for n in two three; do serve $n --join "$(address one cluster)" --join-secret "$secret"; done
ask "ALTER SYSTEM SET tributary.retention = '0'"
for i in $(seq $((gigabytes * 4))); do # a quarter of a gigabyte each: hashes do not compress
  ask "CREATE TABLE t$i AS SELECT i, md5(i::text || '$i') AS a, md5('b' || i) AS b, random() AS x FROM generate_series(1, 3300000) i"
done
printf '%s of segments on each of three nodes\n' "$(du -sh "$work/one/segments" | cut -f 1)"
for round in 1 2 3; do
  timed "copy of one node's files" copy "$work/one/segments" "$work/copy"
  rm -rf "$work/copy"
  timed "backup" ask "BACKUP TO '$work/b$round'"
  sed 's/^/  /' "$work/said"
  [ $round = 3 ] || rm -rf "$work/b$round"
done
ask "DELETE FROM t1 WHERE i % 50 = 0"
ask "INSERT INTO t1 SELECT i, md5(i::text), 'new', 0 FROM generate_series(1, $((33000 * 4 * gigabytes))) i"
timed "second backup, after 1 % was added and as much deleted" ask "BACKUP TO '$work/b3'"
sed 's/^/  /' "$work/said"
printf '\\set k random(1, 3300000)\nSELECT x FROM points WHERE k = :k\n' >"$work/look-up"
printf '\\set k random(1, 3300000)\nUPDATE points SET x = x + 1 WHERE k = :k\n' >"$work/update"
printf 'SELECT substr(a, 1, 4), count(*), sum(x) FROM t1 GROUP BY 1 ORDER BY 2 DESC LIMIT 5\n' >"$work/groups"
ask "CREATE TABLE points (k bigint PRIMARY KEY, x double precision)"
ask "INSERT INTO points SELECT i, random() FROM generate_series(1, 3300000) i"
one=$(address one pg)
run() { # SCRIPT WHEN: one client for five seconds
  pgbench -h "${one%:*}" -p "${one#*:}" -U tributary -n -M prepared -T 5 -f "$work/$1" tributary 2>"$work/pgbench.log" |
    awk -v what="$1, $2" '/latency average/ { printf "%-55s %7.3f ms\n", what, $4 }'
}
for script in look-up update groups look-up update groups; do
  run $script alone
  touch "$work/backing"
  while [ -e "$work/backing" ]; do ask "BACKUP TO '$work/b1'" >"$work/said" 2>&1 && rm -rf "$work/b1"; done &
  run $script 'beside backups'
  rm "$work/backing"
  wait $!
done
kill "${pids[@]}"
wait
pids=()
rm -rf "$work/two" "$work/three"
for round in 1 2; do
  timed "copy of the backup" copy "$work/b3" "$work/copy"
  rm -rf "$work/copy"
  timed "restore, until the node is ready" restore "$work/b3" "restored$round"
  kill "${pids[@]}"
  wait
  pids=()
  rm -rf "$work/restored$round"
done
