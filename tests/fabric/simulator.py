"""A simulated InfiniBand subnet: Debian's ibsim, which programs reach by its libumad2sim.so instead of by /dev/infiniband.

Every simulator has sockets under a name of its own, so that tests run at the same time. Programs are ended by their pid.
"""
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

BINARY = os.environ["RDMASCOPE_BINARY"]
EXAMPLES = pathlib.Path("/usr/share/doc/ibsim-utils/net-examples")
PRELOADED = (glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") or [""])[0]
PROGRAMS = ("ibsim", "opensm", "ibnetdiscover", "perfquery", "saquery", "smpquery", "ibtracert")
# `./dev test` unpacks Debian's opensm there, without installing the service that comes with it.
UNPACKED = pathlib.Path(__file__).resolve().parents[2] / "build" / "tools" / "opensm" / "usr" / "sbin"
PATH = f'{os.environ.get("PATH", "")}:/usr/sbin:/sbin:{UNPACKED}'


def needs_simulator(case):
    """Skips a test where a part of the simulation is not installed."""
    missing = [program for program in PROGRAMS if not shutil.which(program, path=PATH)]
    if not PRELOADED:
        missing.append("libumad2sim.so")
    return unittest.skipUnless(not missing, f"not installed: {' '.join(missing)}")(case)


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def end_with_parent():
    """The kernel ends the program if this process is killed: ibsim reads a closed console for ever."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Simulator:
    """One subnet, from the text of a net file."""

    def __init__(self, net, folder):
        self.folder = pathlib.Path(folder)
        self.socket = f"rdmascope-{os.getpid()}-{id(self):x}"
        file = self.folder / "net"
        file.write_text(net, encoding="utf-8")
        self.managers = []
        self.output = ""
        self.process = subprocess.Popen(["ibsim", "-s", file], env=self.environment(), stdin=subprocess.PIPE, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        threading.Thread(target=self._read, daemon=True).start()
        wait_for(lambda: "sim> " in self.output, f"ibsim is ready: {self.output}")

    def _read(self):
        while octets := self.process.stdout.read(4096):
            self.output += octets.decode(errors="replace")

    def environment(self, host=None, preload=False):
        environment = {**os.environ, "PATH": PATH, "IBSIM_SOCKNAME": self.socket, "LC_ALL": "C.UTF-8", "TZ": "UTC",
                       "OSM_TMP_DIR": str(self.folder), "OSM_CACHE_DIR": str(self.folder)}
        environment.pop("IBSIM_SERVER_NAME", None)
        if host:
            environment["SIM_HOST"] = host
        if preload:
            environment["LD_PRELOAD"] = PRELOADED
        return environment

    def console(self, command):
        """Types a line at the simulator's console and returns what it answers."""
        before = len(self.output)
        self.process.stdin.write(f"{command}\n".encode())
        wait_for(lambda: "sim> " in self.output[before:], f"an answer to {command}")
        answer = self.output[before:].replace("sim> ", "")
        if "bad parameter" in answer or "not found" in answer or "can't" in answer:
            raise AssertionError(f"{command}: {answer}")
        return answer

    def run(self, *command, host=None, timeout=120):
        """Runs a program on a host of the subnet."""
        return subprocess.run([str(word) for word in command], env=self.environment(host, preload=True), text=True,
                              capture_output=True, timeout=timeout, cwd=self.folder, check=False)

    def output_of(self, *command, host=None):
        result = self.run(*command, host=host)
        if result.returncode != 0:
            raise AssertionError(f"{command}: {result.stdout}{result.stderr}")
        return result.stdout

    def rdmascope(self, *arguments, host=None, timeout=120):
        return self.run(BINARY, "fabric", *arguments, host=host, timeout=timeout)

    def start_manager(self, host, priority=1, wait="SUBNET UP", key="1", lmc=0):
        """Starts opensm on a host, and waits until it has configured the subnet, or for another line of its log."""
        log = self.folder / f"opensm-{host}-{len(self.managers)}.log"
        cache = self.folder / f"cache-{host}-{len(self.managers)}"
        cache.mkdir()
        environment = {**self.environment(host, preload=True), "OSM_TMP_DIR": str(cache), "OSM_CACHE_DIR": str(cache)}
        # A manager that waits asks the master whether it lives: more often than every ten seconds.
        settings = cache / "opensm.conf"
        settings.write_text(f"sminfo_polling_timeout 200\npolling_retry_number 2\nlmc {lmc}\n")
        with open(self.folder / "opensm.out", "ab") as out:
            # -d 2: each line of the log is written at once.
            manager = subprocess.Popen(["opensm", "-e", "-f", str(log), "-p", str(priority), "-s", "1", "-k", key, "-d", "2",
                                        "-F", str(settings)],
                                       env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       cwd=self.folder, preexec_fn=end_with_parent)
        self.managers.append(manager)
        manager.log = log
        self.wait_for_manager(manager, wait)
        return manager

    @staticmethod
    def wait_for_manager(manager, line):
        """Waits until opensm has written a line to its log."""
        wait_for(lambda: manager.log.exists() and line in manager.log.read_text(errors="replace"), f"opensm says {line}")

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self):
        for manager in self.managers:
            self.end(manager)
        self.process.stdin.close()
        self.end(self.process)
        self.process.stdout.close()


class Subnet(unittest.TestCase):
    """A test with a simulator: simulate(net) starts it, and it ends with the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-fabric-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def simulate(self, net):
        simulator = Simulator(net, self.folder)
        self.addCleanup(simulator.close)
        return simulator

    def read(self, simulator, *arguments, host=None):
        """What `rdmascope fabric --json` says."""
        return json.loads(self.succeeds(simulator.rdmascope("--json", *arguments, host=host)))

    def succeeds(self, result, status=0):
        self.assertEqual(result.returncode, status, f"{result.stdout}{result.stderr}")
        return result.stdout


def example(name):
    return (EXAMPLES / name).read_text(encoding="utf-8")


def fat_tree(leaves=36, spines=18, hosts_per_leaf=18):
    """A non-blocking tree of two levels: by default 648 hosts below 36 leaves of 36 ports, and 18 spines above."""
    lines = []
    for leaf in range(leaves):
        lines.append(f'Switch {hosts_per_leaf + spines} "leaf{leaf:02}"')
        lines += [f'[{port + 1}] "host{leaf * hosts_per_leaf + port:03}"[1]' for port in range(hosts_per_leaf)]
        lines += [f'[{hosts_per_leaf + spine + 1}] "spine{spine:02}"[{leaf + 1}]' for spine in range(spines)]
        lines.append("")
    for spine in range(spines):
        lines.append(f'Switch {leaves} "spine{spine:02}"')
        lines += [f'[{leaf + 1}] "leaf{leaf:02}"[{hosts_per_leaf + spine + 1}]' for leaf in range(leaves)]
        lines.append("")
    for host in range(leaves * hosts_per_leaf):
        lines.append(f'Hca 1 "host{host:03}"')
        lines.append(f'[1] "leaf{host // hosts_per_leaf:02}"[{host % hosts_per_leaf + 1}]')
        lines.append("")
    return "\n".join(lines) + "\n"


def links_of(document):
    """The links of our JSON, in the same form as links_of_ibnetdiscover()."""
    def end(link, side):
        return int(link[side]["guid"], 16), link[side]["port"]
    return {frozenset((end(link, "from"), end(link, "to"))): (link["width"], link["speed"]) for link in document["links"]}


def findings(document):
    """Kind and grade of each finding, with the names of its ends."""
    return {(one["kind"], one["grade"], one["at"] and one["at"]["name"], one["peer"] and one["peer"]["name"])
            for one in document["findings"]}


def links_of_ibnetdiscover(text):
    """The links that ibnetdiscover printed: pairs of (GUID, port), and the width and speed as it names them."""
    links = {}
    node = None
    for line in text.splitlines():
        heading = re.match(r'(?:Switch|Ca)\s+\d+\s+"[SH]-([0-9a-f]{16})"', line)
        if heading:
            node = int(heading[1], 16)
        port = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"[SH]-([0-9a-f]{16})"\[(\d+)\].* (\d+x)(\w+)$', line)
        if port:
            ends = frozenset(((node, int(port[1])), (int(port[2], 16), int(port[3]))))
            links[ends] = (port[4].upper(), port[5])
    return links


if __name__ == "__main__":
    raise SystemExit("this is no test by itself")
