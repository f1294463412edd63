#!/usr/bin/env python3
"""`./dev lab`: our iWARP stack against Linux siw, in two virtual machines, both directions.

Guest A runs `rdmascope endpoint` on plain TCP, guest B the kernel's verbs over siw. Every case is captured on the link; the
capture is read by tshark and by `rdmascope flows`, which must agree that nothing in it is malformed and every CRC is right. A
line a case; evidence in build/lab/.
"""
import sys

import machines
from machines import A, B

PORT = 7471
# siw's parameters in guest B, and the settings of our side.
MODES = {
    "nocrc": ({}, ["--crc", "off"]),
    "crc": ({"mpa_crc_required": 1}, ["--crc", "off"]),   # siw alone asks
    "ourcrc": ({}, ["--crc", "on"]),                      # we alone ask
    "mpa1": ({"mpa_version": 1}, ["--mpa-revision", "1", "--crc", "on"]),
    "p2p": ({"peer_to_peer": 1, "mpa_crc_required": 1}, ["--peer-to-peer", "--crc", "on"]),
    "gso": ({"try_gso": 1}, ["--crc", "off"]),
}


class Bench(machines.Machines):
    def run(self):
        for mode, (siw, ours) in MODES.items():
            if self.options.mode and mode not in self.options.mode:
                continue
            self.adapter("A", None)
            self.adapter("B", "siw", **siw)
            words = " ".join(ours)

            def serve(case):
                return case.bg("A", f"exec rdmascope endpoint serve --listen {A}:{PORT} --region 16M {words}", "ready")

            def rping_to_us(case):
                serve(case)
                for count, size in ((10, 64), (5, 1000), (5, 4096), (3, 65535)):
                    case.ex("B", f"rping -c -a {A} -p {PORT} -v -V -C {count} -S {size}")

            def rping_from_us(case):
                for count, size in ((10, 64), (5, 1000), (3, 65535)):
                    case.bg("B", f"rping -s -a {B} -p {PORT} -V -C {count} -S {size} & sleep 0.5; echo up; wait", "up")
                    case.ex("A", f"rdmascope endpoint ping --to {B}:{PORT} -c {count} --size {size} {words}")

            def siw_client(case):
                serve(case)
                case.ex("B", f"siw_peer client {A} {PORT}")

            def siw_server(case):
                runs = ["write --size 1 --count 200 --depth 16", "write --size 64K --count 40 --depth 8", "write --size 16M --count 2 --depth 1",
                        "read --size 1 --count 200 --depth 16", "read --size 64K --count 40 --depth 8 --verify", "read --size 16M --count 2 --depth 1 --verify",
                        "send --size 1 --count 200 --depth 16 --verify", "send --size 64K --count 40 --depth 8 --verify", "send --size 1000 --count 50 --ping-pong --depth 1"]
                case.bg("B", f"siw_peer server {B} {PORT} {len(runs)}", "ready")
                for command in runs:
                    case.ex("A", f"rdmascope endpoint bench {command} --timeout 2m --to {B}:{PORT} --json {words}")

            self.case(f"interop-rping-to-serve-{mode}", f"Linux rping over siw to `endpoint serve`, {mode}", rping_to_us)
            # With revision 1 siw's server has no outbound reads, so that rping's server fails against siw itself, too
            # (pcaps/siw-rping-mpa1.json: "post send error").
            if mode != "mpa1":
                self.case(f"interop-ping-to-rping-{mode}", f"`endpoint ping` to Linux rping over siw, {mode}", rping_from_us)
            self.case(f"interop-siw-to-serve-{mode}", f"Read, Write 1 octet to 16 MiB, messages echoed, from siw to `endpoint serve`, {mode}", siw_client)
            self.case(f"interop-bench-to-siw-{mode}", f"`endpoint bench` write, read, send 1 octet to 16 MiB to siw, {mode}", siw_server)
        return self.report()


if __name__ == "__main__":
    sys.exit(Bench(machines.options(__doc__, MODES)).run())
