#!/usr/bin/env python3
"""What the plugin costs: tshark with and without it on the same capture, in turns, medians of the processor's time: `./dev bench
wireshark [ROUNDS [CAPTURE...]]`. The aim is 1.3 at most. Figures vary by machine: this reports, it never fails."""
import os
import pathlib
import resource
import statistics
import subprocess
import sys

from plugged import capture, tshark

DEFAULT = ("rxe-write-bw-64k", "rxe-send-bw-4k", "rxe-loss1pct-send-bw", "siw-write-bw-64k-crc")
USES = (("one field", ("-T", "fields", "-e", "infiniband.bth.opcode")), ("lines", ()), ("two passes", ("-2", "-q")))


def seconds(path, arguments, plugged):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.devnull, "wb") as nowhere:
        result = tshark("-n", "-r", path, *arguments, plugged=plugged, capture_output=False, stdout=nowhere,
                        stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        raise SystemExit(f"tshark failed on {path}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    paths = [pathlib.Path(p).resolve() for p in sys.argv[2:]] or [capture(name) for name in DEFAULT]
    print(f"{'capture':28} {'use':11} {'without':>9} {'with':>9} {'ratio':>6}")
    worst = 0.0
    for path in paths:
        for use, arguments in USES:
            pairs = [(seconds(path, arguments, False), seconds(path, arguments, True)) for _ in range(rounds)]
            ratio = statistics.median(b / a for a, b in pairs)
            worst = max(worst, ratio)
            print(f"{path.name:28} {use:11} {statistics.median(a for a, _ in pairs):8.2f}s"
                  f" {statistics.median(b for _, b in pairs):8.2f}s {ratio:6.2f}")
    print(f"at most {worst:.2f}; the aim is 1.30")


if __name__ == "__main__":
    main()
