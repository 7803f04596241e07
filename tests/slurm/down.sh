#!/usr/bin/env bash
# End the cluster that up.sh started, and nothing else: the processes whose ids are in $SLURM_TEST_STATE/run, after
# checking that each is still the daemon it was. --purge also removes the state folder. Idempotent.
set -u
STATE=$(realpath -m "${SLURM_TEST_STATE:-/tmp/docstructure-slurm}")
[ -d "$STATE/run" ] || { echo 'slurm down: nothing was started'; exit 0; }
[ -s "$STATE/etc/slurm.conf" ] && export SLURM_CONF=$STATE/etc/slurm.conf

# stop NAME COMM: end the process of run/NAME.pid if its command is COMM
stop() {
  local file=$STATE/run/$1.pid pid
  [ -s "$file" ] || return 0
  pid=$(cat "$file")
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]; then
    kill "$pid"
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep .2; done
    kill -0 "$pid" 2>/dev/null && kill -9 "$pid"
    echo "slurm down: stopped $1 ($pid)"
  fi
  rm -f "$file"
}

# Jobs first: their steps are children of slurmstepd, not of slurmd.
[ -s "$STATE/run/slurmctld.pid" ] && scancel --user="$(id -un)" >/dev/null 2>&1 && sleep 1
stop cpu01 slurmd
stop gpu01 slurmd
stop slurmctld slurmctld
stop munged munged
[ "$(readlink /etc/slurm/slurm.conf 2>/dev/null)" = "$STATE/etc/slurm.conf" ] && rm -f /etc/slurm/slurm.conf
[ "${1:-}" = --purge ] && rm -rf -- "$STATE"
exit 0
