#!/usr/bin/env python3
"""What the plugin costs: tshark with and without it on the same capture, in turns, medians of the processor's time: `./dev bench
wireshark [ROUNDS [CAPTURE...]]`. The aim is 1.3 at most. Figures vary by machine: this reports, it never fails. `--instructions`
in place of ROUNDS counts instructions instead, with valgrind: the same on a busy machine. In the last column tshark's start, in
which most small captures go under, is taken off both sides."""
import os
import pathlib
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile

from plugged import capture, tshark

DEFAULT = ("nvme-rdma-rxe", "rxe-write-bw-64k", "rxe-loss1pct-send-bw", "siw-write-bw-64k-crc")
# Without a filter or an output tshark dissects nothing.
USES = (("one field", ("-T", "fields", "-e", "infiniband.bth.opcode")), ("lines", ()), ("two passes", ("-2", "-Y", "frame")))


def run(path, arguments, plugged, **options):
    with open(os.devnull, "wb") as nowhere:
        result = tshark("-n", "-r", path, *arguments, plugged=plugged, capture_output=False, stdout=nowhere,
                        stderr=subprocess.PIPE, **options)
    if result.returncode != 0:
        raise SystemExit(f"tshark failed on {path}: {result.stderr.decode(errors='replace')[-500:]}")
    return result.stderr.decode(errors="replace")


def seconds(path, arguments, plugged):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(path, arguments, plugged)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(path, arguments, plugged):
    under = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    told = run(path, arguments, plugged, under=under)
    return int(re.search(r"Collected\s*:\s*(\d+)", told)[1]) / 1e6


def empty(folder):
    """A capture of no frames: what tshark's start takes."""
    os.chmod(folder, 0o755)
    path = pathlib.Path(folder) / "empty.pcap"
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    path.chmod(0o644)
    return path


def main():
    counted = sys.argv[1:2] == ["--instructions"]
    rounds = 1 if counted else int(sys.argv[1]) if len(sys.argv) > 1 else 7
    measure, unit = (instructions, "M") if counted else (seconds, "s")
    paths = [pathlib.Path(p).resolve() for p in sys.argv[2:]] or [capture(name) for name in DEFAULT]
    worst = 0.0
    print(f"{'capture':28} {'use':11} {'without':>9} {'with':>9} {'ratio':>6} {'frames':>7}")
    with tempfile.TemporaryDirectory(prefix="rdmascope-cost-") as folder:
        nothing = empty(folder)
        for use, arguments in USES:
            starts = [(measure(nothing, arguments, False), measure(nothing, arguments, True)) for _ in range(rounds)]
            start = [statistics.median(side) for side in zip(*starts)]
            for path in paths:
                pairs = [(measure(path, arguments, False), measure(path, arguments, True)) for _ in range(rounds)]
                ratio = statistics.median(b / a for a, b in pairs)
                sides = [statistics.median(side) for side in zip(*pairs)]
                frames = (sides[1] - start[1]) / max(sides[0] - start[0], 1e-9)
                worst = max(worst, ratio)
                print(f"{path.name:28} {use:11} {sides[0]:8.2f}{unit} {sides[1]:8.2f}{unit} {ratio:6.2f} {frames:7.2f}")
    print(f"at most {worst:.2f}; the aim is 1.30")


if __name__ == "__main__":
    main()
