#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Slurm over the hosts of a lab: slurmctld on n1, slurmd and munged on each, with
keys, sockets, state and logs of its own. It needs no systemd, and ends with the lab.

    with lab.lab() as bed:
        conf = slurm.start(bed)         # for SLURM_CONF
"""
import os
import pathlib
import pwd
import shutil

import lab

PROGRAMS = {"srun": "slurm-client", "slurmctld": "slurmctld",
            "slurmd": "slurmd", "munged": "munge"}
DAEMONS = ("munged", "slurmctld", "slurmscriptd", "slurmd", "slurmstepd")
CONF = """\
ClusterName=teamsterlab
SlurmctldHost=n1({subnet}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/slurm.state
SlurmdSpoolDir={folder}/slurm.spool.%n
TmpFS={folder}/slurm.tmp.%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=30
SlurmdTimeout=15
KillWait=10
MessageTimeout=10
TCPTimeout=2
MpiDefault=none
NodeName=n[1-{n}] CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=400 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""
MUNGE = """\
install -d -o munge -g munge -m 755 /run/munge
install -d -o munge -g munge -m 700 /run/munge-key
install -o munge -g munge -m 600 "$1" /run/munge-key/key
setpriv --reuid munge --regid munge --clear-groups munged \
    --key-file=/run/munge-key/key --socket=/run/munge/munge.sock \
    --pid-file=/run/munge/munged.pid --log-file=/run/munge/munged.log \
    --seed-file=/run/munge-key/seed --force
"""


def check():
    """Raise Skip if Slurm cannot run here."""
    for program, package in PROGRAMS.items():
        if shutil.which(program, path=lab.PATH) is None:
            raise lab.Skip(f"no {program}: on Debian, apt-get install "
                           f"{package}")
    try:
        pwd.getpwnam("munge")
    except KeyError as error:
        raise lab.Skip("no user munge, whom the package munge makes"
                       ) from error


def is_daemon(text):
    """Is that the command line of a process of Slurm?"""
    return any(os.path.basename(word).rstrip(":") in DAEMONS
               for word in text.split()[:2])


def start(bed):
    """Start it. @return the path of its configuration"""
    conf = pathlib.Path(bed.folder, "slurm.conf")
    key = pathlib.Path(bed.folder, "munge.key")
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    conf.write_text(CONF.format(folder=bed.folder, subnet=lab.SUBNET,
                                n=len(bed.hosts)))
    os.mkdir(f"{bed.folder}/slurm.state")
    for host in bed.hosts:
        os.mkdir(f"{bed.folder}/slurm.spool.{host}")
        os.mkdir(f"{bed.folder}/slurm.tmp.{host}")
        bed.inside(host, "sh", "-ec", MUNGE, "sh", str(key))
    with_conf = ("env", f"SLURM_CONF={conf}")
    bed.inside("n1", *with_conf, "slurmctld", "-c")
    for host in bed.hosts:
        bed.inside(host, *with_conf, "slurmd", "-N", host)
    lab.wait_until(lambda: bed.inside(
        "n1", *with_conf, "sinfo", "--noheader", "--states=idle",
        "--format=%D").strip() == str(len(bed.hosts)), "Slurm is not ready")
    return str(conf)
