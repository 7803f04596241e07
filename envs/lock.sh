#!/usr/bin/env bash
# Resolve the pip pins of every environment for Linux (x86-64) and Python 3.12 into *.lock.txt, what an installation of
# today would bring. With --check: compare instead. Needs uv (pip install uv) and a package index.
set -euo pipefail
cd "$(dirname "$0")"
for env in *.yaml; do
  lock=${env%.yaml}.lock.txt
  new=$(mktemp)
  # An existing lock keeps its versions as far as the pins allow.
  if [ -s "$lock" ]; then cp "$lock" "$new"; fi
  sed -n 's/^      - //p' "$env" | "${UV:-uv}" pip compile --quiet --python-platform x86_64-manylinux_2_28 \
    --python-version 3.12 --no-header --no-annotate --output-file "$new" - >/dev/null
  if [ "${1:-}" = --check ]; then
    diff -u "$lock" "$new" || { echo "envs/$lock is not what envs/$env resolves to: run envs/lock.sh" >&2; exit 1; }
    rm "$new"
  else
    chmod 644 "$new"
    mv "$new" "$lock"
  fi
  echo "$env: $(grep -c == "$lock") packages"
done
