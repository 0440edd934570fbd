#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A lab: hosts with a network between them, made out of one Linux machine.

    lab.py up [--hosts N] [--rate MBIT] [--delay MS]    make it
    lab.py exec HOST COMMAND...    run a command on a host, n1 to nN
    lab.py down                    remove it
    lab.py run [OPTION]... HOST COMMAND...    make it, run, remove it

A host is a network, process, mount, host name and IPC namespace with an sshd
of its own, /run and /dev/shm of its own, and files that all share. Its network
card eth0 is one end of a veth pair; the other end is a port of a bridge in a
network namespace of its own, "the switch". So nothing of the lab can be reached
from outside, and nothing outside from the lab: there is no route. Keys are made
for the run, and known to the lab's own ssh_config only.

Nothing is left behind. All processes are in the lab's process namespace, whose
first process is killed with whoever made the lab (all but `up`): then the kernel
ends the rest, and takes away namespaces, mounts and cards that nobody uses. One
folder remains, with keys and logs; `down`, and the end of `run`, remove it.

It needs root, and the programs in PROGRAMS. Without them: exit code 77 and why.
"""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from jobs import Skip  # noqa: E402

SKIPPED = 77
PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "bridge": "iproute2",
            "unshare": "util-linux", "nsenter": "util-linux",
            "sshd": "openssh-server", "ssh": "openssh-client",
            "ssh-keygen": "openssh-client"}
SUBNET = "10.250.77"  # seen by nobody but the lab's hosts
START_S = 60 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
PR_SET_PDEATHSIG = 1
# What tests are run with: sshd gives it to what it starts, ssh does not pass it on.
SANITIZERS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SSHD_CONFIG = """\
Port 22
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/user_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups 300
"""
SSH_CONFIG = """\
Host *
  User root
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  LogLevel ERROR
"""


def check_machine():
    """Raise Skip if no lab can be made here."""
    if os.geteuid() != 0:
        raise Skip("a lab needs root")
    for program, package in PROGRAMS.items():
        if shutil.which(program, path=PATH) is None:
            raise Skip(f"no {program}: on Debian, apt-get install {package}")
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork",
         "sh", "-c", "ip link add tm0 type veth peer name tm1 && "
         "ip link add tm2 type bridge"],
        env={"PATH": PATH}, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise Skip("no namespaces or network cards can be made here: " +
                   tried.stderr.strip())


def die_with_parent():
    """In a child: be killed when its maker ends, however that happens."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def stand_alone():
    """In a child of `up`: live on, where no terminal's signal comes."""
    os.setsid()


def output_of(*command):
    return subprocess.run(command, env={"PATH": PATH}, capture_output=True,
                          text=True, check=True).stdout


def child_of(pid):
    """The first child of a process, in this process namespace; 0: none yet."""
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return 0
    return int(text.split()[0]) if text.split() else 0


def wait_until(condition, what, seconds=START_S):
    """Poll a condition; its last value. Time in which this process was stopped
    does not count."""
    waited = 0.0
    last = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if waited > seconds:
            raise TimeoutError(what)
        time.sleep(0.02)
        now = time.monotonic()
        waited += min(now - last, 0.5)
        last = now


def be_first_process():
    """Process 1 of a namespace: reap what ends, for ever."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    print("up", flush=True)
    while True:
        signal.sigwait({signal.SIGCHLD})
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass


def be_host(name, folder):
    """Process 1 of a host, in its namespaces."""
    for command in (
            ["mount", "-t", "tmpfs", "tmpfs", "/run"],
            ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"],
            ["mount", "--bind", f"{folder}/hosts", "/etc/hosts"],
            ["ip", "link", "set", "lo", "up"]):
        subprocess.run(command, check=True)
    # What a user's shell does when it starts may take seconds.
    for file in (".bashrc", ".profile"):
        path = os.path.join(pwd.getpwuid(0).pw_dir, file)
        if os.path.exists(path):
            subprocess.run(["mount", "--bind", "/dev/null", path], check=True)
    os.mkdir("/run/sshd")
    subprocess.run(["hostname", name], check=True)
    subprocess.run([shutil.which("sshd"), "-f", f"{folder}/sshd_config",
                    "-E", f"{folder}/{name}.sshd.log"], check=True)
    be_first_process()


class Lab:
    """A lab that is up. All numbers of processes are those outside of it."""

    def __init__(self, folder, hosts, switch, makers):
        self.folder = folder
        self.hosts = hosts    # name: its process 1
        self.switch = switch  # the lab's process 1
        self.makers = makers  # unshare and nsenter, outside of the lab
        self.wired = set()    # hosts that are on a bad wire

    # ---- making and removing ----

    @classmethod
    def make(cls, n_hosts=4, rate_mbit=None, delay_ms=0, folder=None,
             detached=False):
        check_machine()
        folder = folder or tempfile.mkdtemp(prefix="teamster-lab-")
        lab = cls(folder, {}, 0, [])
        try:
            lab._write_files(n_hosts)
            lab._make_switch(detached)
            for number in range(1, n_hosts + 1):
                lab._make_host(number, detached)
            for host in lab.hosts:
                lab.set_link(host, rate_mbit, delay_ms)
                lab._wait_for_sshd(host)
        except BaseException:
            lab.remove()
            raise
        return lab

    def _write(self, name, text):
        pathlib.Path(self.folder, name).write_text(text)

    def _write_files(self, n_hosts):
        for key in ("user_key", "host_key"):
            output_of("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                      "teamster-lab", "-f", f"{self.folder}/{key}")
        host_key = pathlib.Path(self.folder, "host_key.pub").read_text()
        names = [(f"n{i}", f"{SUBNET}.{i}") for i in range(1, n_hosts + 1)]
        passed = [f'"{name}={os.environ[name]}"' for name in SANITIZERS
                  if name in os.environ]
        self._write("sshd_config", SSHD_CONFIG.format(folder=self.folder) +
                    (f"SetEnv {' '.join(passed)}\n" if passed else ""))
        self._write("ssh_config", SSH_CONFIG.format(folder=self.folder))
        self._write("known_hosts", "".join(
            f"{name},{address} {host_key}" for name, address in names))
        self._write("hosts", "127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for name, address in names))

    def _spawn(self, log, detached, *command):
        """Start process 1 of namespaces: the child of unshare."""
        before = stand_alone if detached else die_with_parent
        with open(f"{self.folder}/{log}.log", "w", encoding="ascii") as file:
            made = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={"PATH": PATH, "PYTHONDONTWRITEBYTECODE": "1"},
                preexec_fn=before, cwd="/")
        self.makers.append(made.pid)

        def is_up():
            if made.poll() is not None:
                raise RuntimeError(f"{log} did not come up: " + pathlib.Path(
                    file.name).read_text())
            return "up" in pathlib.Path(file.name).read_text()

        wait_until(is_up, f"{log} does not come up")
        return made.pid

    def _make_switch(self, detached):
        maker = self._spawn(
            "switch", detached, "unshare", "--net", "--mount", "--pid", "--fork",
            "--kill-child=KILL", "--mount-proc",
            sys.executable, __file__, "first")
        self.switch = child_of(maker)
        for command in ("link add br0 type bridge", "link set br0 up"):
            self.on_switch("ip", *command.split())

    def _make_host(self, number, detached):
        name = f"n{number}"
        entered = self._spawn(
            name, detached, "nsenter", f"--target={self.switch}", "--pid",
            "unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork",
            "--kill-child=KILL", "--mount-proc",
            sys.executable, __file__, "host", name, self.folder)
        # nsenter forks unshare into the lab's namespace, which forks the host.
        first = child_of(child_of(entered))
        self.hosts[name] = first
        self.on_switch("ip", "link", "add", f"p{number}", "type", "veth",
                       "peer", "name", "eth0", "netns", str(first))
        self.on_switch("ip", "link", "set", f"p{number}", "master", "br0",
                       "up")
        self.inside(name, "ip", "address", "add", f"{SUBNET}.{number}/24",
                    "dev", "eth0")
        self.inside(name, "ip", "link", "set", "eth0", "up")

    def _wait_for_sshd(self, host):
        listening = ":0016 "  # port 22, as /proc/net/tcp has it
        wait_until(lambda: listening in self.inside(host, "cat",
                                                    "/proc/net/tcp"),
                   f"sshd of {host} does not listen")

    def remove(self):
        if self.switch:
            kill_ours(self.switch)
            wait_until(lambda: not os.path.exists(f"/proc/{self.switch}/ns") or
                       not child_of(self.switch), "the lab does not end")
            wait_until(lambda: not any(map(is_alive, self.hosts.values())),
                       "the lab's hosts do not end")
        # They end with what they wait for, but not while they are stopped, and
        # they stop when that does.
        for pid in self.makers:
            kill_ours(pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    def save(self):
        self._write("lab.json", json.dumps(
            {"hosts": self.hosts, "switch": self.switch,
             "makers": self.makers}))

    @classmethod
    def load(cls, folder):
        try:
            text = pathlib.Path(folder, "lab.json").read_text()
        except OSError:
            sys.exit(f"lab.py: there is no lab in {folder}")
        return cls(folder, **json.loads(text))

    # ---- using it ----

    def command_on(self, host, *command):
        """The words that run a command on a host, with this environment."""
        return ["nsenter", f"--target={self.hosts[host]}", "--net", "--uts",
                "--ipc", "--mount", "--pid", "--", *command]

    def inside(self, host, *command):
        return output_of(*self.command_on(host, *command))

    def on_switch(self, *command):
        return output_of("nsenter", f"--target={self.switch}", "--net", "--",
                         *command)

    def ssh(self):
        """For TEAMSTER_SSH."""
        return f"ssh -F {self.folder}/ssh_config"

    def processes(self, host):
        """What runs on a host besides its process 1 and the sshds."""
        namespace = os.readlink(f"/proc/{self.hosts[host]}/ns/pid")
        found = {}
        for pid in (int(name) for name in os.listdir("/proc")
                    if name.isdigit()):
            try:
                if (os.readlink(f"/proc/{pid}/ns/pid") != namespace or
                        pid == self.hosts[host] or not is_alive(pid)):
                    continue
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue  # it has ended
            text = words.replace(b"\0", b" ").decode(errors="replace").strip()
            if text and not text.startswith("sshd"): # without words: it is ending
                found[pid] = text
        return found

    def agent(self, host):
        """The launcher's agent, None if there is none. Not its keeper, which has the
        same name and comes later: numbers of processes begin again, times do not."""
        return min((pid for pid, text in self.processes(host).items()
                    if text.endswith("teamster agent")),
                   key=started_at, default=None)

    def state(self):
        """What the lab looks like, for who has to find out why a test failed."""
        lines = [f"load of the machine: {os.getloadavg()}"]
        for host, first in self.hosts.items():
            log = pathlib.Path(self.folder, f"{host}.sshd.log")
            found = self.processes(host) if is_alive(first) else {0: "no power"}
            lines += [f"{host}: {pid} {text}" for pid, text in found.items()]
            lines += [f"{host} sshd: {line}" for line in
                      (log.read_text().splitlines() if log.exists() else ())[-4:]]
        return "\n".join(lines)

    # ---- the network, and what may happen to it ----

    def set_link(self, host, rate_mbit=None, delay_ms=0):
        """Both directions: the host's end, and the switch's."""
        port = "p" + host[1:]
        for end, card in ((lambda *words: self.inside(host, *words), "eth0"),
                          (self.on_switch, port)):
            with contextlib.suppress(subprocess.CalledProcessError):
                end("tc", "qdisc", "delete", "dev", card, "root")
            parent = ["root"]
            try:
                if delay_ms:
                    end("tc", "qdisc", "add", "dev", card, "root", "handle",
                        "1:", "netem", "delay", f"{delay_ms}ms", "limit",
                        "100000")
                    parent = ["parent", "1:1"]
            except subprocess.CalledProcessError as error:
                raise Skip("this kernel has no netem: no delay can be set"
                           ) from error
            if rate_mbit:
                end("tc", "qdisc", "add", "dev", card, *parent, "tbf", "rate",
                    f"{rate_mbit}mbit", "burst", "64kbit", "latency", "50ms")

    def port(self, host):
        """The port of the switch that the host's cable, or bad wire, ends at."""
        return ("x" if host in self.wired else "p") + host[1:]

    def cut(self, host):
        """Pull the host's cable, without a word to anybody."""
        self.on_switch("ip", "link", "set", self.port(host), "nomaster")

    def mend(self, host):
        self.on_switch("ip", "link", "set", self.port(host), "master", "br0")

    def part(self, *hosts):
        """These hosts do not see each other any more, but all others."""
        for host in hosts:
            self.on_switch("bridge", "link", "set", "dev", self.port(host),
                           "isolated", "on")

    def rejoin(self, *hosts):
        for host in hosts:
            self.on_switch("bridge", "link", "set", "dev", self.port(host),
                           "isolated", "off")

    def partition(self, *hosts):
        """These hosts see each other, and nobody else."""
        for command in ("link add br1 type bridge", "link set br1 up"):
            self.on_switch("ip", *command.split())
        for host in hosts:
            self.on_switch("ip", "link", "set", self.port(host), "master", "br1")

    def unify(self):
        """The end of partition()."""
        self.on_switch("ip", "link", "del", "br1")
        for host in self.hosts:
            self.mend(host)

    def lose_way(self, host, other):
        """What a host sends to another one is lost; the other way is not."""
        self.inside(host, "ip", "neighbour", "replace",
                    f"{SUBNET}.{other[1:]}", "lladdr", "02:00:00:00:00:01",
                    "dev", "eth0", "nud", "permanent")

    def find_way(self, host, other):
        self.inside(host, "ip", "neighbour", "del", f"{SUBNET}.{other[1:]}",
                    "dev", "eth0")

    def freeze(self, host):
        """All of a host stops: its programs, its sshd, everything."""
        self._signal_all(host, signal.SIGSTOP)

    def thaw(self, host):
        self._signal_all(host, signal.SIGCONT)

    def _signal_all(self, host, number):
        """Twice: somebody may just have been started."""
        namespace = os.readlink(f"/proc/{self.hosts[host]}/ns/pid")
        for pid in 2 * [int(name) for name in os.listdir("/proc")
                        if name.isdigit()]:
            with contextlib.suppress(OSError):
                if (pid != self.hosts[host] and
                        os.readlink(f"/proc/{pid}/ns/pid") == namespace):
                    os.kill(pid, number)

    @contextlib.contextmanager
    def bad_wire(self, host, wire, delay_ms=0, loss=0, duplicate=0, reorder=0,
                 seed=1):
        """While this lasts, wire.c is between a host and the switch; in percent."""
        number = host[1:]
        self.on_switch("ip", "link", "add", f"w{number}", "up", "type", "veth",
                       "peer", "name", f"x{number}")
        self.on_switch("ip", "link", "set", f"x{number}", "master", "br0", "up")
        self.cut(host)
        with subprocess.Popen(
                ["nsenter", f"--target={self.switch}", "--net", "--", wire,
                 f"p{number}", f"w{number}", *map(str, (delay_ms, loss, duplicate,
                                                        reorder, seed))],
                stdout=subprocess.PIPE, text=True,
                preexec_fn=die_with_parent) as process:
            try:
                if process.stdout.readline() != "up\n":
                    raise RuntimeError(f"no wire to {host}")
                self.wired.add(host)
                yield
            finally:
                process.kill()
                self.wired.discard(host)
                if is_alive(self.hosts[host]): # else it has lost power, and its card
                    self.mend(host)
                self.on_switch("ip", "link", "del", f"w{number}")

    def power_off(self, host):
        """First the cable, so that nobody hears that connections end."""
        self.cut(host)
        os.kill(self.hosts[host], signal.SIGKILL)


def kill_ours(pid):
    """A number may have become somebody else's since `up`."""
    with contextlib.suppress(OSError):
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if os.fsencode(__file__) in words:
            os.kill(pid, signal.SIGKILL)


def started_at(pid):
    """When a process was started, and its number, which tells two of one tick."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return int(words.split()[19]), pid


def is_alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


@contextlib.contextmanager
def lab(**options):
    """A lab for a with statement; signals that end this process remove it."""
    def end(number, _):
        sys.exit(128 + number)

    before = {number: signal.signal(number, end)
              for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    made = Lab.make(**options)
    try:
        yield made
    except Exception:
        print(made.state(), flush=True)
        raise
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        made.remove()
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- the command ----

def default_folder():
    return os.path.join(tempfile.gettempdir(), f"teamster-lab-{os.getuid()}")


def up(options):
    if os.path.exists(os.path.join(options.folder, "lab.json")):
        sys.exit(f"lab.py: there is a lab in {options.folder}; "
                 "\"lab.py down\" removes it")
    os.makedirs(options.folder, mode=0o700)
    made = Lab.make(options.hosts, options.rate, options.delay, options.folder,
                    detached=True)
    made.save()
    print(f"{', '.join(made.hosts)} are up; TEAMSTER_SSH=\"{made.ssh()}\"")
    return 0


def execute(made, command):
    environment = dict(os.environ, TEAMSTER_SSH=made.ssh())
    host, *words = command
    return subprocess.run(
        made.command_on(host, "env", "-C", os.getcwd(), *words),
        env=environment, check=False).returncode


def run(options):
    with lab(n_hosts=options.hosts, rate_mbit=options.rate,
             delay_ms=options.delay) as made:
        return execute(made, options.command)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=default_folder(),
                        help="of the lab that `up` makes; default %(default)s")
    commands = parser.add_subparsers(dest="what", required=True)
    for what in ("up", "run"):
        command = commands.add_parser(what)
        command.add_argument("--hosts", type=int, default=4)
        command.add_argument("--rate", type=float, metavar="MBIT",
                             help="of each card; default: no limit")
        command.add_argument("--delay", type=float, default=0, metavar="MS",
                             help="of each card and direction")
        if what == "run":
            command.add_argument("command", nargs=argparse.REMAINDER)
    commands.add_parser("down")
    commands.add_parser("exec").add_argument("command",
                                             nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    if sys.argv[1:2] == ["first"]:
        be_first_process()
    if sys.argv[1:2] == ["host"]:
        be_host(*sys.argv[2:4])
    options = parse_arguments()
    try:
        if options.what == "up":
            return up(options)
        if options.what == "run":
            return run(options)
        made = Lab.load(options.folder)
        if options.what == "exec":
            return execute(made, options.command)
        made.remove()
        return 0
    except Skip as reason:
        print(f"lab.py: no lab here: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
