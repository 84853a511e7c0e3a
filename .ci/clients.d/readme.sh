#!/usr/bin/env bash
# README.md, "Connect from": each snippet as it stands there, but for the port, on the tables and the model of the
# session above it. One whose tool is not there, or cannot be fetched, is skipped by name.
#   readme.sh CACHE, with PGHOST, PGPORT and the rest of the server
set -uo pipefail
cache=$1 venv=$1/readme-venv dbt=$1/dbt-venv
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
have() { command -v "$1" >/dev/null 2>&1; }
have psql || { echo "skipped: README, psql is not installed"; exit 0; }

# snippets: python-1, java-1, … of the section; console, the statements of the session.
awk -v dir="$work" -v at="$PGHOST:$PGPORT" -v port="$PGPORT" '
  /^## / { on = $0 == "## Connect from" }
  /^```/ { lang = substr($0, 4); name = ""; if (lang == "console") name = dir "/console"
    else if (lang != "" && on) name = dir "/" lang "-" ++n[lang]; next }
  name == "" { next }
  lang == "console" { if (sub(/^tributary=# /, "") || sub(/^tributary-# /, "")) print > name; next }
  { gsub(/127\.0\.0\.1:5432/, at); gsub(/Port=5432/, "Port=" port); gsub(/port: 5432/, "port: " port); print > name }
' README.md
psql -Xq -v ON_ERROR_STOP=1 -f "$work/console" >"$work/out" 2>&1 || { echo "FAILED: README, the session"; tail -n 5 "$work/out"; exit 1; }

failed=0
try() { # name, what it prints, command
  local name=$1 want=$2
  shift 2
  if timeout 120 "$@" >"$work/out" 2>&1 && grep -q -- "$want" "$work/out"; then
    echo "README, $name: ok"
  else
    echo "FAILED: README, $name"
    tail -n 20 "$work/out"
    failed=1
  fi
}
skip() { echo "skipped: README, $1"; }
fetch() { # ready file, command
  [ -e "$1" ] || { have python3 && (python3 -m venv "${1%/*}" && timeout 300 "${1%/*}/bin/pip" install -q --disable-pip-version-check "${@:2}" && touch "$1") >"$work/fetch" 2>&1; }
}

if fetch "$venv/ready" 'psycopg[binary]' pandas sqlalchemy pyyaml; then try pandas chance "$venv/bin/python" "$work/python-1"; else skip "pandas cannot be fetched"; fi
jar=$(find "$cache" -name 'postgresql-42*.jar' 2>/dev/null | head -n 1)
if have java && [ -n "$jar" ]; then
  mv "$work/java-1" "$work/Late.java"
  try JDBC '^[A-Z]* 0\.' java -cp "$jar" "$work/Late.java"
else skip "java or the JDBC driver is not there"; fi
if have node && [ -d "$cache/node/node_modules/pg" ]; then
  mv "$work/javascript-1" "$work/late.js"
  NODE_PATH=$cache/node/node_modules try Node 'predict: ' node "$work/late.js"
else skip "node-postgres is not there"; fi
mv "$work/go-1" "$work/late.go"
CGO_ENABLED=0 try Go '[1-9][0-9]* flights' go run "$work/late.go"
if have isql && odbcinst -q -d -n 'PostgreSQL Unicode' >/dev/null 2>&1; then
  try ODBC '[A-Z][A-Z][A-Z]' bash -o pipefail "$work/sh-1"
else skip "psqlODBC is not installed"; fi

# Grafana's data source writes its macros out as this before it sends the query.
sed -e "s/\$__timeGroup(departed, '1d')/floor(extract(epoch from departed)\/86400)*86400/" \
  -e "s/\$__timeFilter(departed)/departed BETWEEN '2001-01-01T00:00:00Z' AND '2001-02-01T00:00:00Z'/" "$work/sql-1" >"$work/panel.sql"
try "a panel of Grafana" '^31 rows' psql -X -v ON_ERROR_STOP=1 -c "SELECT count(*) || ' rows' AS n, min(time) > 0, max(delay) > 0 FROM ($(cat "$work/panel.sql")) q" -At -F ' '
if [ -e "$venv/ready" ]; then
  try "Grafana's data source" "$PGHOST:$PGPORT" "$venv/bin/python" -c 'import sys, yaml; d = yaml.safe_load(open(sys.argv[1]))["datasources"][0]; print(d["type"], d["url"], d["jsonData"]["database"])' "$work/yaml-1"
fi
if fetch "$dbt/ready" 'dbt-postgres<1.10' 'dbt-core<1.10'; then
  mkdir -p "$work/dbt/models"
  mv "$work/yaml-2" "$work/dbt/profiles.yml"
  printf 'name: late\nprofile: tributary\nversion: "1.0.0"\n' >"$work/dbt/dbt_project.yml"
  printf "{{ config(materialized='table') }}\nSELECT origin, avg(delay) AS delay FROM flights GROUP BY 1\n" >"$work/dbt/models/by_origin.sql"
  printf "SELECT * FROM {{ ref('by_origin') }} WHERE delay > 10\n" >"$work/dbt/models/slow.sql"
  DO_NOT_TRACK=1 try dbt 'PASS=2 ' "$dbt/bin/dbt" run --project-dir "$work/dbt" --profiles-dir "$work/dbt"
else skip "dbt cannot be fetched"; fi

cd "$root" && psql -Xq -c 'DROP TABLE flights, airports CASCADE' -c 'DROP TABLE IF EXISTS by_origin CASCADE' -c 'DROP MODEL late' >"$work/out" 2>&1
exit $failed
