#!/usr/bin/env bash
# Installs what the comparison needs beside Go: bun, better-sqlite3 and Hono, from npm, into js/node_modules. Needs Node.js. A side
# that is not installed is named in the tables as not run; everything else works without this script.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/js"

npm install --no-audit --no-fund --no-package-lock

./node_modules/.bin/bun --version
node -e 'new (require("better-sqlite3"))(":memory:")'
(cd .. && node -e 'import("./js/crud-app.mjs")') # finds Hono
command -v taskset >/dev/null || echo 'no taskset: the sides that run on one processor will not run'
command -v gcc >/dev/null || echo 'no gcc: the sides C and mattn will not run'
