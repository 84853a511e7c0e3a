#!/usr/bin/env bash
# Measures an iteration of a training on nodes joined by slow links, with
# reduction = 'tree' and 'gather': seconds, and what crosses each node's link.
# Usage, as root on Linux with iproute2 and psql, from the repository:
#
#     bash tools/bench/peer/links.sh [directory for files]
#
# Each node is a process in a network namespace of its own, on a bridge through a
# veth whose two ends tbf shapes. NODES (8), RATE (1gbit), ROWS (1048576: 32
# leaves), PARAMETERS (1000000), ITERATIONS (6), MEMORY (2GiB) and THREADS (1) may
# be set. Rows have COLUMNS (8) categories, each of PARAMETERS/COLUMNS: enough for a
# leaf to have something to say of most parameters, and few beside them. Bytes and times
# are of iterations alone: those of a training of so many less those of one of one, and
# the median and the least of ml.training_history. With PROFILE=S all nodes' processors are profiled for
# the first S seconds of the second training (profile.tree.1 …).
set -euo pipefail
dir=${1:-$(mktemp -d)}
nodes=${NODES:-8} rate=${RATE:-1gbit} rows=${ROWS:-1048576} parameters=${PARAMETERS:-1000000} iterations=${ITERATIONS:-6}
memory=${MEMORY:-2GiB} threads=${THREADS:-1} columns=${COLUMNS:-8} PROFILE=${PROFILE:-0}
id=links$$ net=10.77.0
mkdir -p "$dir"
cd "$(dirname "$0")/../../.."
[ -x "$dir/tributary" ] || CGO_ENABLED=0 go build -o "$dir/tributary" ./cmd/tributary

pids=()
cleanup() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  for k in $(seq "$nodes"); do ip netns del "$id-$k" 2>/dev/null || true; done
  ip link del "br$$" 2>/dev/null || true
}
trap cleanup EXIT

ip link add "br$$" type bridge
ip link set "br$$" up
for k in $(seq "$nodes"); do
  ip netns add "$id-$k"
  ip link add "v$$-$k" type veth peer name eth0 netns "$id-$k"
  ip link set "v$$-$k" master "br$$" up
  ip netns exec "$id-$k" ip addr add "$net.$k/24" dev eth0
  ip netns exec "$id-$k" ip link set eth0 up
  ip netns exec "$id-$k" ip link set lo up
  tc qdisc add dev "v$$-$k" root tbf rate "$rate" burst 256kb latency 100ms
  ip netns exec "$id-$k" tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 100ms
done

for k in $(seq "$nodes"); do
  args=(--data "$dir/n$k" --node "n$k" --listen-pg 127.0.0.1:5432 --listen-http 127.0.0.1:8080 --listen-cluster "$net.$k:7400" --insecure
    --memory "$memory" --threads "$threads")
  if [ "$k" -gt 1 ]; then args+=(--join "$net.1:7400" --join-secret "$dir/n1/cluster-secret"); fi
  : >"$dir/n$k.out"
  ip netns exec "$id-$k" "$dir/tributary" serve "${args[@]}" >"$dir/n$k.out" 2>"$dir/n$k.log" &
  pids+=($!)
  until grep -q ^ready "$dir/n$k.out"; do sleep 0.2; kill -0 "${pids[-1]}"; done
done

sql() { ip netns exec "$id-1" "${PSQL:-psql}" -h 127.0.0.1 -U tributary -d tributary -AtqX -v ON_ERROR_STOP=1 -c "$1"; }
bytes() { for k in $(seq "$nodes"); do ip netns exec "$id-$k" cat /sys/class/net/eth0/statistics/rx_bytes /sys/class/net/eth0/statistics/tx_bytes | tr '\n' ' '; echo; done; }
# settle waits until models have reached all who keep them.
settle() {
  local was=0 now
  for _ in $(seq 60); do
    now=$(bytes | awk '{s += $1} END {printf "%d", s}')
    if [ $((now - was)) -lt 1000000 ]; then return; fi
    was=$now
    sleep 1
  done
}
# busy is the CPU seconds that the nodes have used.
busy() { for p in "${pids[@]}"; do awk '{print ($14 + $15) / '"$(getconf CLK_TCK)"'}' "/proc/$p/stat"; done | awk '{s += $1} END {print s}'; }
each=$((parameters / columns)) made='' encoded='' features=''
for k in $(seq "$columns"); do # all categories come, and no two rows are alike
  made+="((i * ($k * 10 + 7919)::bigint + i / $each * ($k * $k * 31 + 1)) % $each)::int AS c$k, "
  encoded+="ml.one_hot_encoder(c$k, 'none', $each), "
  features+="c$k, "
done
sql "CREATE TABLE d AS SELECT $made (i % 7 < 3)::int AS y FROM generate_series(1, $rows) AS g(i)" >/dev/null

# train MODEL REDUCTION ITERATIONS
train() {
  sql "TRAIN MODEL $1 USING logistic_regression PREDICT y TRANSFORM (${encoded}y)
       WITH (optimizer = 'sgd', batch_size = 1000000000, max_iterations = $3, reduction = '$2', checkpoint_every = 0) AS SELECT ${features}y FROM d" 2>>"$dir/notices" >/dev/null
  settle
}
for how in tree gather; do
  train "${how}_first" "$how" 1 # and leaves its dataset to the others
  bytes >"$dir/$how.0"
  t0=$(busy)
  train "${how}_one" "$how" 1
  bytes >"$dir/$how.1"
  t1=$(busy)
  for k in $(seq $((PROFILE ? nodes : 0))); do
    ip netns exec "$id-$k" curl -s -o "$dir/profile.$how.$k" "http://127.0.0.1:8080/debug/pprof/profile?seconds=$PROFILE" &
  done
  train "${how}_all" "$how" $((iterations + 1))
  bytes >"$dir/$how.2"
  cpu=$(awk "BEGIN {print ($(busy) - 2 * $t1 + $t0) / $iterations}")
  echo "$how: $(sql "SELECT format('%s s an iteration, at best %s', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 3), round(min(seconds)::numeric, 3)) FROM ml.training_history WHERE model = '${how}_all' AND iteration > 1"), $cpu of CPU on all nodes; MB in and out of each node's link:"
  paste "$dir/$how.0" "$dir/$how.1" "$dir/$how.2" | awk -v n="$iterations" '{printf "  n%d %8.2f %8.2f\n", NR, ($5 - 2*$3 + $1)/n/1e6, ($6 - 2*$4 + $2)/n/1e6}'
done
sql "SELECT CASE WHEN count(DISTINCT sha256) = 1 THEN 'the same model' ELSE 'ANOTHER MODEL' END FROM ml.models WHERE name IN ('tree_all', 'gather_all')"
