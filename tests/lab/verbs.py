#!/usr/bin/env python3
"""`./dev lab verbs`: unmodified programs on the software stack against the same programs on Linux siw, in two virtual machines.

Guest A runs them by `rdmascope run --software`, guest B on the kernel's verbs over siw; each is server once and client once,
with and without CRC, and one round with a siw device in guest A too, which the software stack must hide. rping and
verified_transfers look at what arrives; of the others exit status and report are judged. Every case is captured on the link,
and read by tshark and by `rdmascope flows`. A line a case; evidence in build/lab/.
"""
import re
import subprocess
import sys

import machines
from machines import A, B

# siw's parameters in guest B, and the settings of our side. siw asks for no peer-to-peer set-up unless it is configured.
MODES = {
    "crc": ({"mpa_crc_required": 1}, ["--crc", "on", "--peer-to-peer", "off"]),
    "nocrc": ({}, ["--crc", "off", "--peer-to-peer", "off"]),
    "p2p": ({"mpa_crc_required": 1, "peer_to_peer": 1}, ["--crc", "on"]),
    "shadow": ({"mpa_crc_required": 1}, ["--crc", "on", "--peer-to-peer", "off"]),  # guest A has a siw0 as well
}
PERFTEST = [("ib_write_bw", "-s 65536 -n 20"), ("ib_write_bw", "-s 64 -n 200"), ("ib_read_bw", "-s 65536 -n 20"), ("ib_send_bw", "-s 65536 -n 20"),
            ("ib_send_bw", "-s 64 -n 200"), ("ib_write_lat", "-s 64 -n 100"), ("ib_write_bw", "-b -s 4096 -n 60")]
# The accepting side sends first. Without peer-to-peer set-up ours waits for the client's first FPDU, which never comes (RFC 5044, 7.1.2);
# siw's does not wait.
SERVER_FIRST = ("ucmatose", "ib_write_lat")
PORT = 7471


def ours(command, options):
    return ("A", f"rdmascope run --software --verbose on --address {A} {' '.join(options)} -- {command}")


def theirs(command):
    return ("B", command)


def iterations(output):
    """The iterations in the row of perftest's report, 0 without one."""
    rows = re.findall(r"^ *\d+ +(\d+) +[\d.]+", output, re.M)
    return int(rows[-1]) if rows else 0


def late(start):
    return lambda command: (start(command)[0], f"{machines.CALLER} {start(command)[1]}")


class Programs:
    """One mode, one direction: `server` and `client` make (node, command) of a command."""

    def __init__(self, direction, options):
        mine = lambda command: ours(command, options)  # noqa: E731
        self.server, self.client = (mine, late(theirs)) if direction == "to-ours" else (theirs, late(mine))
        self.address = A if direction == "to-ours" else B

    def rping(self, case):
        for port, (count, size) in enumerate(((10, 64), (5, 4096), (3, 65535)), PORT):
            words = f"-a {self.address} -p {port} -v -V -C {count} -S {size}"
            said, _ = case.both(self.server(f"rping -s {words}"), self.client(f"rping -c {words}"), port)
            case.check(said.count("ping data:") == count, f"rping showed {said.count('ping data:')} of {count} pings")

    def ucmatose(self, case):
        said, _ = case.both(self.server(f"ucmatose -b {self.address} -p {PORT} -c 3 -C 10 -S 1000"),
                            self.client(f"ucmatose -s {self.address} -p {PORT} -c 3 -C 10 -S 1000"), PORT)
        case.check("data transfers complete" in said and "return status 0" in said, "ucmatose did not complete its transfers")

    def verified(self, case):
        said, _ = case.both(self.server(f"verified_transfers serve {self.address} {PORT}"),
                            self.client(f"verified_transfers check {self.address} {PORT} 3 1 2 7 64 1443 4096 65537 1048589"), PORT)
        case.check("all as it should be" in said, "verified_transfers found a difference")

    def perftest(self, tool, words):
        def steps(case):
            said, _ = case.both(self.server(f"{tool} -R -F -p {PORT} {words}"), self.client(f"{tool} -R -F -p {PORT} {words} {self.address}"), PORT)
            wanted = int(re.search(r"-n (\d+)", words)[1])
            case.check(iterations(said) == wanted, f"{tool} reports {iterations(said)} iterations, not {wanted}")
        return steps


class Bench(machines.Machines):
    def judged_crc(self, wanted):
        """As usual; and every FPDU has the CRC that was agreed on: of the Reply says tshark."""
        def judge(pcap):
            replies = subprocess.run(["tshark", "-n", "-r", str(pcap), "-Y", "iwarp_mpa.rep", "-T", "fields", "-e", "iwarp_mpa.crc_flag"], capture_output=True,
                                     text=True).stdout.split()
            problems = self.judge(pcap)
            if not replies or any((reply in ("1", "True")) != wanted for reply in replies):
                problems.append(f"the CRC flag of the MPA replies should be {wanted}: {replies}")
            return problems
        return judge

    def run(self):
        for mode, (siw, options) in MODES.items():
            if self.options.mode and mode not in self.options.mode:
                continue
            self.adapter("A", "siw" if mode == "shadow" else None, **(siw if mode == "shadow" else {}))
            self.adapter("B", "siw", **siw)
            judge = self.judged_crc(options[1] == "on")
            for direction in ("to-ours", "to-siw"):
                programs = Programs(direction, options)
                where = "siw's client to the software stack's server" if direction == "to-ours" else "the software stack's client to siw's server"
                can_work = lambda name: mode == "p2p" or direction == "to-siw" or name not in SERVER_FIRST  # noqa: E731
                for name in filter(can_work, ("rping", "verified", "ucmatose")):
                    self.case(f"verbs-{name}-{direction}-{mode}", f"{name}, {where}, {mode}", getattr(programs, name), tries=3, judge=judge)
                for tool, words in PERFTEST:
                    if mode == "shadow" or not can_work(tool) or (mode == "p2p" and tool not in SERVER_FIRST):
                        continue
                    kind = re.sub(r"\W+", "", re.sub(r"-n \d+", "", words))
                    self.case(f"verbs-{tool.replace('_', '-')}-{kind}-{direction}-{mode}", f"{tool} -R {words}, {where}, {mode}", programs.perftest(tool, words),
                              tries=3, judge=judge)
        return self.report()


if __name__ == "__main__":
    sys.exit(Bench(machines.options(__doc__, MODES)).run())
