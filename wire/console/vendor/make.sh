#!/usr/bin/env bash
# Makes ../assets/vendor from package-lock.json with npm. Only who changes package.json or entry.js runs it: what it makes is in the repository.
set -euo pipefail
cd "$(dirname "$0")"
out=../assets/vendor
npm ci --no-audit --no-fund --ignore-scripts
node_modules/.bin/esbuild entry.js --bundle --minify --format=esm --target=es2022 --legal-comments=none --metafile=node_modules/meta.json --outfile="$out/vendor.js"

# The licence of each package that has come into the bundle.
node -e '
  const fs = require("fs"), path = require("path")
  const inputs = Object.keys(JSON.parse(fs.readFileSync("node_modules/meta.json")).inputs)
  const names = [...new Set(inputs.map(i => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(i)?.[1]).filter(Boolean))].sort()
  for (const name of names) {
    const dir = path.join("node_modules", name)
    const { version, license } = JSON.parse(fs.readFileSync(path.join(dir, "package.json")))
    const file = fs.readdirSync(dir).find(f => /^licen[cs]e/i.test(f))
    if (!file) throw new Error(name + " has no licence file")
    console.log(`${name} ${version} (${license})\n\n${fs.readFileSync(path.join(dir, file), "utf8").trim()}\n\n${"-".repeat(80)}\n`)
  }' > "$out/LICENSES.txt"
rm -rf node_modules
gzip -9nf "$out/vendor.js" # it is embedded packed; assets.go serves it as vendor.js
echo "$(wc -c <"$out/vendor.js.gz") bytes of vendor.js after gzip"
