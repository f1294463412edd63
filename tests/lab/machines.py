"""The two virtual machines of the laboratory, with this build installed, and cases whose evidence is kept.

The laboratory itself (images, boot, capture on the virtual link) is not part of this repository: RDMASCOPE_LAB names the
folder of its lab.py (default: ../shared/lab next to this checkout). Guest A is 192.0.2.1, guest B 192.0.2.2. Emulated machines
on a busy host are slow by a factor that nobody knows: nothing here waits for a time, all wait for something to happen, and
the limits are there only to end what hangs.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
LAB = pathlib.Path(os.environ.get("RDMASCOPE_LAB", ROOT.parent / "shared" / "lab"))
A, B = "192.0.2.1", "192.0.2.2"
ADDRESS = {"A": A, "B": B}
LIMIT = 600  # seconds, of anything
MODULE = {"siw": "siw", "rxe": "rdma_rxe"}
# What is tried again, as it is not ours: perftest with -R connects twice, and its client does not know whether the server listens
# again: rejected, it crashes. And siw sends its Reply before it has set its callbacks on the socket (siw_accept, Linux 6.1): a first
# FPDU that arrives in between wakes no process, and both ends wait for ever; a server whose processor is emulated is slow enough.
CALLER = "LD_PRELOAD=/usr/local/lib/late.so"  # makes both less likely
UNREAD = "siw left unread what had come"
LOST_RACE = re.compile(r"Segmentation fault|Failed to connect RDMA CM|Unable to perform rdma_client function|Unexpected CM event|" + UNREAD)
PATIENCE = 150  # seconds in which a client is expected to end


def libraries(files):
    """Every library that these need, by name."""
    found = {}
    for file in files:
        listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
        found.update((os.path.basename(path), path) for path in re.findall(r"=> (/\S+)", listed))
    return found


class Case:
    """What was run in the guests, what it said, and what was wrong with it."""

    def __init__(self, machines, name, about):
        self.machines, self.lab, self.name, self.about = machines, machines.lab, name, about
        self.log, self.problems, self.jobs, self.notes = [], [], [], {}

    def check(self, right, what):
        if not right:
            self.problems.append(what)
        return right

    def equal(self, what, ours, theirs):
        """Ours against a second source; both are kept."""
        self.notes[what] = {"ours": ours, "second source": theirs}
        return self.check(ours == theirs, f"{what}: {ours}, but the second source says {theirs}")

    def judged(self, result, statuses=(0,)):
        self.log.append(result)
        self.check(result["rc"] in statuses, f"{result['node']}: {result['cmd']}: exit status {result['rc']}: {result['output'].strip()[-400:]}")
        return result["output"]

    def ex(self, node, command, timeout=LIMIT, statuses=(0,)):
        return self.judged(self.lab.ex(node, command, timeout), statuses)

    def bg(self, node, command, ready):
        """In the background, once it has said `ready`."""
        job = self.lab.bg(node, command, LIMIT)
        self.jobs.append(job)
        self.check(job.wait_out(ready, LIMIT), f"{node}: {command}: never said {ready!r}: {job.out().strip()[-400:]}")
        return job

    def start(self, node, command, port, statuses=(0,)):
        """A server in the background, once something listens on the port of that guest."""
        job = self.lab.bg(node, command, LIMIT)
        job.statuses = statuses
        self.jobs.append(job)
        listens = self.lab.ex(node, f"for i in $(seq 600); do (ss -Hltn 'sport = :{port}'; rdma resource show cm_id | grep 'state LISTEN.*:{port} ') | grep -q . && exit 0; sleep 0.5; done; exit 1", LIMIT)
        self.check(listens["rc"] == 0 or job.done(), f"{node}: {command}: nothing listens on port {port}: {job.out().strip()[-400:]}")
        return job

    def finish(self, job, statuses=(0,)):
        self.jobs.remove(job)
        return self.judged(job.wait(LIMIT), statuses)

    def both(self, server, client, port):
        """(node, command) each; their outputs, the client's first. Both end by themselves, and well."""
        job = self.start(*server, port)
        asking = self.lab.bg(*client, LIMIT)
        if asking.wait(PATIENCE)["rc"] is None:
            sockets = self.lab.ex(server[0], f"ss -Htin 'sport = :{port}'", LIMIT)
            self.log.append(sockets)
            # All that it has read of the connection is the MPA Request, at most 20 octets and 512 of private data.
            found = re.search(r"^ESTAB +(\d+) .*\n.*bytes_received:(\d+)", sockets["output"], re.M)
            if found and 0 < int(found[1]) and int(found[2]) - int(found[1]) <= 532:
                self.problems.append(UNREAD)
                self.jobs.append(asking)
                return "", ""
        said = self.judged(asking.wait(LIMIT))
        return said, self.finish(job)

    def end(self, stop):
        """What is still running ends."""
        for job in self.jobs:
            if not job.done():
                self.lab.ex(job.node, stop, 60)
            self.judged(job.wait(60), (0, 124, 130, 143) if not self.problems else range(-1, 256))
        self.jobs = []


class Machines:
    def __init__(self, options):
        sys.path.insert(0, str(LAB))
        os.environ.setdefault("OUT", str(options.cache))
        import lab
        self.module, self.lab, self.options = lab, lab.Lab(), options
        if not self.lab.alive():
            print("guests: %.0f s to boot" % self.lab.start(timeout=900), flush=True)
        self.share = pathlib.Path(lab.SHARE, "bin")
        self.failed, self.done = [], []
        self.install()

    def install(self):
        """This build as a package would put it there, and the libraries that the guests lack: a traced program runs with the
        guest's own."""
        build = self.options.binary.parent
        ours = self.share / "ours"
        shutil.rmtree(ours, ignore_errors=True)
        (ours / "needed").mkdir(parents=True)
        files = [self.options.binary, *(build / name for name in ("librdmascope-verbs.so", "librdmascope-trace.so", "verified_transfers", "kernel_view"))]
        for file in files:  # without symbols: the guests read slowly
            subprocess.run(["strip", "--strip-unneeded", "-o", str(ours / file.name), str(file)], check=True)
        for path in libraries(files).values():
            shutil.copy(path, ours / "needed")
        shutil.copy(build / "siw_peer", ours)
        subprocess.run(["gcc", "-O2", "-static", "-o", str(ours / "sleep"), str(HERE / "sleep.c")], check=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(ours / "late"), str(HERE / "late.c")], check=True)
        (self.share / "install").write_text(
            "set -e\nmkdir -p /usr/local/bin /usr/local/lib/rdmascope\ncd /lab/bin/ours\n"
            "cp rdmascope verified_transfers siw_peer kernel_view /usr/local/bin/\ncp *.so /usr/local/lib/rdmascope/\ncp late /usr/local/lib/late.so\n"
            "for l in needed/*; do ldconfig -p | grep -q \"^\\s*$(basename $l) \" || cp $l /usr/local/lib/; done\nldconfig\n"
            # The laboratory's agent asks for work ten times a second, which is most of what an emulated processor can do.
            "cp sleep /usr/bin/sleep.new; mv /usr/bin/sleep.new /usr/bin/sleep\nrdmascope --version\n")
        for result in self.lab.both("bash /lab/bin/install", LIMIT):
            if result["rc"] != 0:
                sys.exit(f"lab: guest {result['node']}: {result['output']}")

    def adapter(self, node, driver, **parameters):
        """The guest's only RDMA device: siw0 or rxe0 over eth0, with these parameters of siw and the usual others; None: none."""
        usual = {"mpa_crc_required": 0, "mpa_crc_strict": 0, "peer_to_peer": 0, "try_gso": 0, "mpa_version": 2} if driver == "siw" else {}
        lines = [r"for l in $(rdma link show | sed -n 's/^link \([^/]*\).*/\1/p'); do rdma link del $l; done"]
        if driver:
            lines.append(f"modprobe -a {MODULE[driver]} rdma_ucm ib_uverbs ib_umad")
            lines += [f"echo {value} > /sys/module/{MODULE[driver]}/parameters/{name}" for name, value in {**usual, **parameters}.items()]
            lines.append(f"rdma link add {driver}0 type {driver} netdev eth0; for i in $(seq 100); do [ -e /sys/class/infiniband_verbs/uverbs0 ] && break; sleep 0.1; done")
        lines.append("rdma link; ping -q -c 1 -w 60 " + (B if node == "A" else A))
        result = self.lab.ex(node, "\n".join(lines), LIMIT)
        if result["rc"] != 0 or (driver and f"{driver}0/1" not in result["output"]):
            sys.exit(f"lab: guest {node} has no {driver}0: {result['output']}")

    def case(self, name, about, steps, capture=True, tries=1, judge=None):
        """`steps(case)` runs commands; what is captured on the link is judged, and everything kept."""
        if self.options.only and not re.search(self.options.only, name):
            return
        out = self.options.results
        out.mkdir(parents=True, exist_ok=True)
        pcap = out / f"{name}.pcap"
        for attempt in range(tries):
            case = Case(self, name, about)
            if capture:
                self.lab.cap_start(str(pcap))
            try:
                steps(case)
            except Exception as problem:  # noqa: BLE001: the other cases go on
                case.problems.append(f"{type(problem).__name__}: {problem}")
            finally:
                case.end("killall -q -INT rdmascope rping siw_peer ib_write_bw ib_read_bw ib_send_bw ib_write_lat ucmatose verified_transfers; true")
                if capture:
                    self.lab.cap_stop()
            if not case.problems or attempt + 1 == tries or not any(LOST_RACE.search(said) for said in [*case.problems, *(each["output"] for each in case.log)]):
                break
            print(f"again  {name}: {case.problems[0]}".replace("\n", " | "), flush=True)
        if capture:
            case.problems += (judge or self.judge)(pcap)
        (out / f"{name}.json").write_text(json.dumps({"name": name, "scenario": about, "guest_kernel": getattr(self.lab, "kernel", "") or None, "attempts": attempt + 1,
                                                      "commands": case.log, **({"compared": case.notes} if case.notes else {}), "problems": case.problems}, indent=1))
        self.done.append(name)
        print(("FAILED " if case.problems else "ok     ") + name + ": " + about, flush=True)
        for problem in case.problems:
            print("       " + problem.replace("\n", " | "), flush=True)
        if case.problems:
            self.failed.append(name)

    def judge(self, pcap):
        """tshark and our own dissector read the capture without a complaint."""
        problems = []
        tshark = subprocess.run(["tshark", "-n", "-r", str(pcap), "-Y", "_ws.malformed || iwarp_mpa.bad_length || iwarp_mpa.crc.bad", "-T", "fields",
                                 "-e", "frame.number"], capture_output=True, text=True)
        if tshark.stdout.strip():
            problems.append(f"tshark finds malformed frames: {tshark.stdout.split()[:10]}")
        scope = subprocess.run([str(self.options.binary), "flows", "-n", "--json", "-r", str(pcap)], capture_output=True, text=True)
        if scope.returncode != 0:
            return problems + [f"rdmascope flows: {scope.stderr.strip()}"]
        flows = json.loads(scope.stdout)
        if flows["capture"]["malformed"] or any(flow["crc_bad"] for flow in flows["flows"]):
            problems.append("rdmascope finds malformed frames or bad CRCs")
        if not any(flow["transport"] == "iwarp" and flow["messages"] for flow in flows["flows"]):
            problems.append("rdmascope sees no iWARP flow")
        return problems

    def report(self):
        """The exit status."""
        if not self.options.keep:
            self.lab.stop()
        print(f"{len(self.done)} cases, {len(self.failed)} failed; evidence in {self.options.results}")
        return 1 if self.failed or not self.done else 0


def options(about, modes):
    arguments = argparse.ArgumentParser(description=about.splitlines()[0])
    arguments.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "rdmascope")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "lab")
    arguments.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "rdma-lab")
    arguments.add_argument("--mode", action="append", choices=list(modes), help="only these")
    arguments.add_argument("--only", help="only cases whose name matches")
    arguments.add_argument("--keep", action="store_true", help="leave the guests running")
    found = arguments.parse_args()
    if not (LAB / "lab.py").exists():
        sys.exit(f"lab: no lab.py in {LAB}; set RDMASCOPE_LAB to the folder of the laboratory")
    return found
