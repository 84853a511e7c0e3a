#!/bin/sh
# Writes answers.txt anew: starts a PostgreSQL 15 of its own and asks it what
# TestPrivileges asks Tributary. Run it from this folder; PGBIN is where PostgreSQL is.
set -eu
PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
PORT=${PORT:-55432}
dir=$(mktemp -d)
as=""
if [ "$(id -u)" = 0 ]; then # PostgreSQL does not run as root
	chown postgres "$dir"
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
$as "$PGBIN/initdb" -D "$dir/data" -U tributary -A trust >/dev/null
$as "$PGBIN/pg_ctl" -D "$dir/data" -o "-p $PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$dir -c fsync=off" -l "$dir/log" -w start >/dev/null
trap '$as "$PGBIN/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null; rm -rf "$dir"' EXIT
$as "$PGBIN/createdb" -h 127.0.0.1 -p "$PORT" -U tributary tributary
cd ../..
go test . -run 'TestPrivileges$' -count=1 -postgres "postgres://tributary@127.0.0.1:$PORT/tributary?sslmode=disable"
