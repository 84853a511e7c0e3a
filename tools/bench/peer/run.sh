#!/usr/bin/env bash
# Measures Tributary and its peers on the same rows, one after the other, and
# prints markdown tables. Usage, from the repository:
#
#     bash tools/bench/peer/run.sh [directory for files]
#
# Needs Go and a Python with duckdb and scikit-learn ($PYTHON, default python3).
# SF, ROWS, SAMPLES, RUNS and THREADS may be set.
set -euo pipefail
dir=${1:-$(mktemp -d)}
python=${PYTHON:-python3}
sf=${SF:-1} rows=${ROWS:-10000000} samples=${SAMPLES:-1000000} runs=${RUNS:-5} threads=${THREADS:-2}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"

cd "$here/../../.."
CGO_ENABLED=0 go build -o "$dir/tributary" ./cmd/tributary
"$dir/tributary" bench tpch --sf "$sf" --load-only --export "$dir/csv" >"$dir/export.log"
"$dir/tributary" bench logistic ridge --samples "$samples" --load-only --export "$dir/csv" --threads "$threads" >>"$dir/export.log"
"$python" "$here/duckdb_peer.py" tpch --csv "$dir/csv" --sf "$sf" --runs "$runs" --threads "$threads" --answers "$dir/answers" --json "$dir/peer-tpch.json" >"$dir/peer.log"
for suite in groupby joins; do
  "$python" "$here/duckdb_peer.py" "$suite" --rows "$rows" --runs "$runs" --threads "$threads" --answers "$dir/answers" --json "$dir/peer-$suite.json" >>"$dir/peer.log"
done
for suite in logistic ridge; do
  "$python" "$here/sklearn_linear.py" "$suite" "$dir/csv" --runs "$runs" --threads "$threads" --answers "$dir/answers" --json "$dir/peer-$suite.json" >>"$dir/peer.log"
done
status=0
"$dir/tributary" bench all --sf "$sf" --rows "$rows" --samples "$samples" --runs "$runs" --threads "$threads" --check "$dir/answers" --json "$dir/tributary.json" >"$dir/tributary.log" || status=$?
"$python" "$here/tables.py" "$dir"/tributary.json "$dir"/peer-*.json
exit $status
