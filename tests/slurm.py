"""A real SLURM on this machine: a controller and two nodes of one core each, with files and ports of their own."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from servers import free_port

IS_HERE = all(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("munged", "slurmctld", "slurmd"))
# Accounting would want a database: without it SLURM does not tell how a job ended that left no result.
CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=8000
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=8000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """While the block runs, the variables by which SLURM's commands find it."""
    ports = {name: free_port() for name in ("port", "first", "second")}
    host, user = socket.gethostname().partition(".")[0], getpass.getuser()
    text = CONFIGURATION.format(folder=folder, host=host, user=user, **ports)
    (folder / "slurm.conf").write_text(text)
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    found = {"SLURM_CONF": str(folder / "slurm.conf")}
    own = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "seed", "log")]
    daemons = [["munged", "-F", "--force", f"--socket={folder}/munge.sock", f"--key-file={folder}/key", *own]]
    daemons += [["slurmctld", "-D"], ["slurmd", "-D", "-N", "node1"], ["slurmd", "-D", "-N", "node2"]]
    environment = os.environ | found | {"PATH": f"{os.environ['PATH']}:/usr/sbin"}
    with ExitStack() as stack, (folder / "said").open("w") as said:
        for daemon in daemons:
            process = stack.enter_context(subprocess.Popen(daemon, env=environment, stdout=said, stderr=said))
            stack.callback(process.terminate)  # before it is waited for
        nodes, end = ["srun", "--nodes=2", "--immediate=5", "true"], time.monotonic() + 60
        while subprocess.run(nodes, env=environment, stderr=said).returncode:
            assert time.monotonic() < end, (folder / "said").read_text()
            time.sleep(0.5)
        try:
            yield found
        finally:  # or what is left of its jobs would outlive it
            subprocess.run(["scancel", f"--user={user}"], env=environment)
            while subprocess.run(["squeue", "--noheader"], env=environment, capture_output=True).stdout:
                time.sleep(0.5)
