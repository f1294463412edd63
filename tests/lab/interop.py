#!/usr/bin/env python3
"""`./dev lab`: our iWARP stack against Linux siw, in two virtual machines, both directions.

The laboratory itself (images, boot, capture on the virtual link) is not part of this repository: RDMASCOPE_LAB names the
folder of its lab.py (default: ../shared/lab beside this checkout). Guest A runs `rdmascope endpoint` on plain TCP, guest B
the kernel's verbs over siw. Every case is captured on the link; the capture is read by tshark and by `rdmascope dump`, which
must agree that nothing in it is malformed and every CRC is right. A line a case; evidence in build/lab/.
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
PORT = 7471
# siw's parameters in guest B, and what our side is told.
MODES = {
    "nocrc": ({}, ["--crc", "off"]),
    "crc": ({"mpa_crc_required": 1}, ["--crc", "off"]),   # siw alone asks
    "ourcrc": ({}, ["--crc", "on"]),                      # we alone ask
    "mpa1": ({"mpa_version": 1}, ["--mpa-revision", "1", "--crc", "on"]),
    "p2p": ({"peer_to_peer": 1, "mpa_crc_required": 1}, ["--peer-to-peer", "--crc", "on"]),
    "gso": ({"try_gso": 1}, ["--crc", "off"]),
}


def libraries(binary):
    """What the program needs at run time, but the C library: the guests have that."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [match for match in re.findall(r"=> (/\S+)", listed) if not re.search(r"/(libc|libm|ld-linux\S*|libpthread)\.so", match)]


class Bench:
    def __init__(self, options):
        sys.path.insert(0, str(LAB))
        os.environ.setdefault("OUT", str(options.cache))
        import lab
        import scenarios
        self.module, self.scenarios, self.lab = lab, scenarios, lab.Lab()
        self.options = options
        if not self.lab.alive():
            print("guests: %.0f s to boot" % self.lab.start(), flush=True)
        share = pathlib.Path(lab.SHARE, "bin")
        (share / "lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(options.binary, share / "rdmascope.bin")
        for library in libraries(options.binary):
            shutil.copy(library, share / "lib")
        (share / "rdmascope").write_text('#!/bin/sh\nLD_LIBRARY_PATH=/lab/bin/lib exec /lab/bin/rdmascope.bin "$@"\n')
        (share / "rdmascope").chmod(0o755)
        subprocess.run(["g++", "-std=c++20", "-O2", "-static-libstdc++", "-static-libgcc", "-o", str(share / "siw_peer"),
                        str(HERE / "siw_peer.cpp"), "-lrdmacm", "-libverbs"], check=True)
        self.failed, self.done = [], []

    def configure(self, mode):
        self.scenarios.use(self.lab, "siw", **MODES[mode][0])

    def case(self, name, about, steps):
        """`steps(ex, bg)` runs commands; each must end with 0, or it raises."""
        if self.options.only and not re.search(self.options.only, name):
            return
        out = self.options.results
        out.mkdir(parents=True, exist_ok=True)
        pcap, log = out / f"{name}.pcap", []
        self.lab.cap_start(str(pcap))
        jobs, problems = [], []

        def ex(node, command, timeout=120):
            result = self.lab.ex(node, command, timeout)
            log.append(result)
            if result["rc"] != 0:
                problems.append(f"{node}: {command}: exit status {result['rc']}: {result['output'].strip()[-300:]}")
            return result["output"]

        def bg(node, command, ready):
            job = self.lab.bg(node, command, 300)
            jobs.append(job)
            if not job.wait_out(ready, 30):
                problems.append(f"{node}: {command}: never said {ready!r}: {job.out().strip()[-300:]}")
            return job

        try:
            steps(ex, bg)
        finally:
            for job in jobs:
                if not job.done():
                    self.lab.ex(job.node, "pkill -INT -f 'rdmascope.bin endpoint'; pkill -INT rping; sleep 0.3; pkill siw_peer; true", 20)
                result = job.wait(20)
                log.append(result)
                if result["rc"] not in (0, 124, 130):
                    problems.append(f"{job.node}: {job.cmd_}: exit status {result['rc']}: {result['output'].strip()[-300:]}")
            self.lab.cap_stop()
        problems += self.judge(pcap)
        (out / f"{name}.json").write_text(json.dumps({"name": name, "scenario": about, "guest_kernel": getattr(self.lab, "kernel", ""),
                                                      "commands": log, "problems": problems}, indent=1))
        self.done.append(name)
        print(("FAILED " if problems else "ok     ") + name + ": " + about, flush=True)
        for problem in problems:
            print("       " + problem.replace("\n", " | "), flush=True)
        if problems:
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

    def run(self):
        for mode, (_, ours) in MODES.items():
            if self.options.mode and mode not in self.options.mode:
                continue
            self.configure(mode)
            words = " ".join(ours)

            def serve(bg):
                return bg("A", f"exec rdmascope endpoint serve --listen {A}:{PORT} --region 16M {words}", "ready")

            def rping_to_us(ex, bg):
                serve(bg)
                for count, size in ((10, 64), (5, 1000), (5, 4096), (3, 65535)):
                    ex("B", f"rping -c -a {A} -p {PORT} -v -V -C {count} -S {size}", 40)

            def rping_from_us(ex, bg):
                for count, size in ((10, 64), (5, 1000), (3, 65535)):
                    bg("B", f"rping -s -a {B} -p {PORT} -V -C {count} -S {size} & sleep 0.5; echo up; wait", "up")
                    ex("A", f"rdmascope endpoint ping --to {B}:{PORT} -c {count} --size {size} {words}", 60)

            def siw_client(ex, bg):
                serve(bg)
                ex("B", f"siw_peer client {A} {PORT}", 280)

            def siw_server(ex, bg):
                runs = ["write --size 1 --count 200 --depth 16", "write --size 64K --count 40 --depth 8", "write --size 16M --count 2 --depth 1",
                        "read --size 1 --count 200 --depth 16", "read --size 64K --count 40 --depth 8 --verify", "read --size 16M --count 2 --depth 1 --verify",
                        "send --size 1 --count 200 --depth 16 --verify", "send --size 64K --count 40 --depth 8 --verify", "send --size 1000 --count 50 --ping-pong --depth 1"]
                bg("B", f"siw_peer server {B} {PORT} {len(runs)}", "ready")
                for command in runs:
                    ex("A", f"rdmascope endpoint bench {command} --timeout 2m --to {B}:{PORT} --json {words}", 200)

            self.case(f"interop-rping-to-serve-{mode}", f"Linux rping over siw to `endpoint serve`, {mode}", rping_to_us)
            # With revision 1 siw's server has no outbound reads, so that rping's server fails against siw itself, too
            # (pcaps/siw-rping-mpa1.json: "post send error").
            if mode != "mpa1":
                self.case(f"interop-ping-to-rping-{mode}", f"`endpoint ping` to Linux rping over siw, {mode}", rping_from_us)
            self.case(f"interop-siw-to-serve-{mode}", f"Read, Write 1 octet to 16 MiB, messages echoed, from siw to `endpoint serve`, {mode}", siw_client)
            self.case(f"interop-bench-to-siw-{mode}", f"`endpoint bench` write, read, send 1 octet to 16 MiB to siw, {mode}", siw_server)
        if not self.options.keep:
            self.lab.stop()
        print(f"{len(self.done)} cases, {len(self.failed)} failed; evidence in {self.options.results}")
        return 1 if self.failed or not self.done else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "rdmascope")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "lab")
    arguments.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "rdma-lab")
    arguments.add_argument("--mode", action="append", choices=list(MODES), help="only these")
    arguments.add_argument("--only", help="only cases whose name matches")
    arguments.add_argument("--keep", action="store_true", help="leave the guests running")
    options = arguments.parse_args()
    if not (LAB / "lab.py").exists():
        sys.exit(f"lab: no lab.py in {LAB}; set RDMASCOPE_LAB to the folder of the laboratory")
    sys.exit(Bench(options).run())


main()
