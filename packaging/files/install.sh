#!/bin/sh
# Installs the tributary program for Linux and macOS, with its checksum compared.
#
#   sh install.sh [VERSION]
#
#   PREFIX=DIR   where to: DIR/bin/tributary and DIR/share/man (default: /usr/local as root, else ~/.local)
#   FROM=URL     where from: a URL or a directory with the archives and checksums.txt; https, but for this machine's own
set -eu

version=${1:-${VERSION:-0.2.0}}
from=${FROM:-https://github.com/tributarydb/tributary/releases/download/v$version}
if [ "$(id -u)" = 0 ]; then prefix=${PREFIX:-/usr/local}; else prefix=${PREFIX:-$HOME/.local}; fi

fail() {
  echo "install.sh: $*" >&2
  exit 1
}
case $from in
http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
http://*) fail "$from is not https" ;;
esac

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no program for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no program for $(uname -m)" ;;
esac
name=tributary_${version}_${os}_${arch}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fetch() { # file
  if [ -d "$from" ]; then
    cp "$from/$1" "$work/$1"
  elif command -v curl >/dev/null 2>&1; then
    curl -fsSL --proto '=https,http' --proto-redir '=https' --tlsv1.2 -o "$work/$1" "$from/$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q --https-only -O "$work/$1" "$from/$1"
  else
    fail "curl or wget is needed"
  fi || fail "$from/$1 cannot be fetched"
}

fetch checksums.txt
fetch "$name.tar.gz"
want=$(awk -v f="$name.tar.gz" '$2 == f { print $1 }' "$work/checksums.txt")
[ -n "$want" ] || fail "checksums.txt has no $name.tar.gz"
if command -v sha256sum >/dev/null 2>&1; then
  got=$(sha256sum "$work/$name.tar.gz" | cut -d' ' -f1)
else
  got=$(shasum -a 256 "$work/$name.tar.gz" | cut -d' ' -f1)
fi
[ "$got" = "$want" ] || fail "the checksum of $name.tar.gz is $got and should be $want: nothing was installed"

tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$prefix/bin" "$prefix/share/man/man1"
# Beside its place first, then renamed: a running program is not overwritten.
cp "$work/$name/tributary" "$prefix/bin/.tributary.new"
chmod 755 "$prefix/bin/.tributary.new"
mv -f "$prefix/bin/.tributary.new" "$prefix/bin/tributary"
cp "$work/$name"/man/*.1.gz "$prefix/share/man/man1/"

"$prefix/bin/tributary" version
echo
case :$PATH: in
*:"$prefix/bin":*) echo "Next: tributary demo, or tributary serve" ;;
*) echo "Next: put $prefix/bin into PATH, then: tributary demo, or tributary serve" ;;
esac
