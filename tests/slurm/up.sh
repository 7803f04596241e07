#!/usr/bin/env bash
# Start a real, throw-away SLURM cluster on this machine for tests/slurm: munge, slurmctld and two slurmd of our own
# (Debian's packages, installed when missing), all of whose files lie below one folder. Needs root. Idempotent.
#
# Two nodes on this machine: cpu01 in partition cpu, gpu01 in partition h200. gpu01 offers gpu:h200 (FAKE devices:
# SLURM counts them, hands them out and sets CUDA_VISIBLE_DEVICES; there is no GPU behind them). CPUs, memory and time
# are really scheduled and memory overuse is really killed. The nodes may claim more than the machine has.
#
#   tests/slurm/up.sh      then sinfo, sbatch and snakemake --profile profiles/slurm work
#   tests/slurm/down.sh    ends what was started here
#
# Settings (environment), all of whose defaults the tests expect:
#   SLURM_TEST_STATE   folder of state and logs      [/tmp/docstructure-slurm]
set -euo pipefail

STATE=$(realpath -m "${SLURM_TEST_STATE:-/tmp/docstructure-slurm}")
CPUS=16
MEM=131072
GPUS=2
# Not SLURM's own ports, so that a cluster of the machine is left alone.
CTLD_PORT=16817
CPU_PORT=16821
GPU_PORT=16822

say() { printf 'slurm up: %s\n' "$*"; }
die() { printf 'slurm up: %s\n' "$*" >&2; exit 1; }
# alive NAME [COMM]: does the process of run/NAME.pid run, and is it still COMM? (A pid can have gone to another
# process, and where pid 1 is slow to reap, a dead daemon stays as a zombie.)
alive() {
  local pid
  [ -s "$STATE/run/$1.pid" ] || return 1
  pid=$(cat "$STATE/run/$1.pid")
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${2:-$1}" ] &&
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}

[ "$(id -u)" = 0 ] || die 'must run as root'

# --- packages: where no service manager runs or no /etc/slurm/slurm.conf exists, their own units stay down
need=()
for package in slurmctld slurmd slurm-client munge; do
  dpkg -s "$package" >/dev/null 2>&1 || need+=("$package")
done
if [ ${#need[@]} -gt 0 ]; then
  say "installing ${need[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi

mkdir -p "$STATE"/{etc,run,log,spool/ctld,spool/cpu01,spool/gpu01,dev}
chmod 755 "$STATE"
HOST=$(hostname -s)
# An unresolvable host name keeps slurmctld from starting.
getent hosts "$HOST" >/dev/null || echo "127.0.0.1 $HOST" >>/etc/hosts

# --- munge: own key and socket; --force, since /tmp is world-writable
if ! alive munged; then
  [ -s "$STATE/etc/munge.key" ] || (umask 077; head -c 1024 /dev/urandom >"$STATE/etc/munge.key")
  rm -f "$STATE"/run/munge.socket*
  /usr/sbin/munged --force --key-file="$STATE/etc/munge.key" --socket="$STATE/run/munge.socket" \
    --pid-file="$STATE/run/munged.pid" --log-file="$STATE/log/munged.log" \
    --seed-file="$STATE/run/munge.seed" >"$STATE/log/munged.out" 2>&1 ||
    { cat "$STATE/log/munged.out" >&2; die 'munged did not start'; }
fi
munge -n -S "$STATE/run/munge.socket" | unmunge -S "$STATE/run/munge.socket" >/dev/null || die 'munge does not answer'

# --- configuration
# slurmd wants a character device per GPU; these are twins of /dev/null. Only with File= is CUDA_VISIBLE_DEVICES set.
# Where mknod is forbidden, GPUs are counted only.
gres="NodeName=gpu01 Name=gpu Type=h200 Count=$GPUS"
for i in $(seq 0 $((GPUS - 1))); do
  [ -c "$STATE/dev/fakegpu$i" ] || mknod "$STATE/dev/fakegpu$i" c 1 3 2>/dev/null || break
done
if [ -c "$STATE/dev/fakegpu$((GPUS - 1))" ]; then
  gres="NodeName=gpu01 Name=gpu Type=h200 File=$STATE/dev/fakegpu[0-$((GPUS - 1))]"
fi
printf 'AutoDetect=off\n%s\n' "$gres" >"$STATE/etc/gres.conf"
# slurmd loads a cgroup plugin even where none is used; the v2 plugin dies in containers, v1 touches nothing.
printf 'CgroupPlugin=cgroup/v1\n' >"$STATE/etc/cgroup.conf"
cat >"$STATE/etc/slurm.conf" <<EOF
ClusterName=docstructure
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$CTLD_PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$STATE/run/munge.socket
StateSaveLocation=$STATE/spool/ctld
SlurmdSpoolDir=$STATE/spool/%n
SlurmctldPidFile=$STATE/run/slurmctld.pid
SlurmdPidFile=$STATE/run/%n.pid
SlurmctldLogFile=$STATE/log/slurmctld.log
SlurmdLogFile=$STATE/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# memory of each step is polled, and a step over its --mem is killed
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
DefMemPerCPU=1024
# finished jobs stay visible to squeue for an hour
MinJobAge=3600
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
KillWait=2
InactiveLimit=0
JobRequeue=0
# one line per finished job, on record without a database
JobCompType=jobcomp/filetxt
JobCompLoc=$STATE/log/jobcomp.txt
AccountingStorageType=accounting_storage/none
NodeName=DEFAULT CPUs=$CPUS RealMemory=$MEM State=UNKNOWN
NodeName=cpu01 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$CPU_PORT
NodeName=gpu01 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$GPU_PORT Gres=gpu:h200:$GPUS
PartitionName=cpu  Nodes=cpu01 Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=h200 Nodes=gpu01 Default=NO  MaxTime=1-00:00:00 State=UP
EOF
# Clients must find it without SLURM_CONF: the plugin drops that variable before it calls srun inside a job.
mkdir -p /etc/slurm
if [ -e /etc/slurm/slurm.conf ] && [ "$(readlink -f /etc/slurm/slurm.conf)" != "$STATE/etc/slurm.conf" ]; then
  die '/etc/slurm/slurm.conf is there already and is not ours'
fi
ln -sfn "$STATE/etc/slurm.conf" /etc/slurm/slurm.conf
export SLURM_CONF=$STATE/etc/slurm.conf

# --- controller and nodes
alive slurmctld || /usr/sbin/slurmctld || die "slurmctld did not start, see $STATE/log"
for node in cpu01 gpu01; do
  alive "$node" slurmd || /usr/sbin/slurmd -N "$node" || die "slurmd $node did not start, see $STATE/log"
done
for _ in $(seq 60); do
  up=$(sinfo -h -N -t idle,mixed,allocated -o %N 2>/dev/null | sort -u | wc -l)
  [ "$up" = 2 ] && break
  # a node that an unclean stop left down
  scontrol update nodename=cpu01,gpu01 state=resume >/dev/null 2>&1 || true
  sleep .5
done
[ "$up" = 2 ] || { tail -n 20 "$STATE"/log/slurm*.log >&2; die 'the nodes did not come up'; }
sinfo -N -o '%N %P %T %c %m %G'
say "up; state and logs in $STATE"
