#!/usr/bin/env python3
"""Debian's perftest on the software stack, against the sockets it stands on: `./dev bench software`.

Raw TCP and the unmodified programs, under `rdmascope run --software`, take turns in one run, over loopback, with the same sizes;
medians of the rounds, processor time of both ends together. What the sockets' figures are, sockets.py tells. And what the interposer of `rdmascope run -- CMD` adds to a post and a poll. Figures vary by machine: this reports, it never fails.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

from sockets import Sockets, free_port, raw

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ROOT / "build" / "release" / "bench_interposer"
INTERPOSER = ROOT / "build" / "release" / "librdmascope-trace.so"
SIZES = {"8K": 8192, "64K": 65536, "1M": 1 << 20}
OCTETS = 1 << 29  # of a round
WISHED = {"64K": {"on": 0.75}}  # of raw TCP, by size and CRC
WISHED_NS = 50
PATIENCE = 60


def is_listening(port):
    wanted = f":{port:04X}"
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines() + pathlib.Path("/proc/net/tcp6").read_text().splitlines()
    return any(words[1].endswith(wanted) and words[3] == "0A" for words in map(str.split, lines))


def last_figures(text):
    """The line of figures that a program of perftest ends with."""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"[\s\d.]+", line) and len(line.split()) > 3]
    return [float(word) for word in rows[-1]] if rows else None


def perftest(options, crc, program, *words):
    """Both ends; the client's last row, and seconds of processor time of both."""
    port = free_port()
    command = [options.binary, "run", "--software", "--crc", crc, "--", program, "-R", "-F", "-p", str(port), *map(str, words)]
    before = os.times()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE
        while not is_listening(port):
            if server.poll() is not None or time.monotonic() > end:
                sys.exit(f"{program} does not listen: {server.stderr.read().decode().strip()}")
            time.sleep(0.01)
        client = subprocess.run(command + ["127.0.0.1"], capture_output=True, text=True, timeout=PATIENCE)
        server.wait(PATIENCE)
    finally:
        server.kill()
        server.wait()
    after = os.times()
    figures = last_figures(client.stdout)
    if client.returncode != 0 or figures is None:
        sys.exit(f"{' '.join(command)}: exit status {client.returncode}\n{client.stdout}{client.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return figures, cpu


def throughput(options):
    print(f"Goodput over loopback, one connection; medians of {options.rounds} rounds of {OCTETS >> 20} MiB")
    programs = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
    for word, size in SIZES.items():
        sockets = Sockets(size, count=OCTETS // size)
        ours = {(program, crc): [] for program in programs for crc in ("on", "off")}
        for number in range(options.rounds):
            print(f"{word}, round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            sockets.measure()
            for (program, crc), found in ours.items():
                figures, cpu = perftest(options, crc, program, "-s", size, "-n", OCTETS // size, "--report_gbits")
                found.append((figures[3] * 1e9 / 8, 1000 * cpu / (OCTETS / 1e9)))  # [3]: the average, in Gbit/s
        rows = [((program,), crc, *map(statistics.median, zip(*found))) for (program, crc), found in ours.items()]
        sockets.print(word, [("program", 12)], rows, WISHED.get(word, {}))


def latency(options):
    print(f"\nRound trip over loopback (twice what perftest says); medians of {options.rounds} rounds")
    print(f"{'size':>5} {'program':>12} {'CRC':>4} {'typical':>9} {'raw TCP':>9} {'ratio':>6}")
    for size in (8, 4096):
        found = {(program, crc): [] for program in ("ib_send_lat", "ib_write_lat", "ib_read_lat") for crc in ("on", "off")}
        plain = []
        for _ in range(options.rounds):
            plain.append(raw("ping-pong", "--size", size, "--seconds", 2)["latency_ns"]["p50"] / 1000)
            for (program, crc), several in found.items():
                figures, _ = perftest(options, crc, program, "-s", size, "-n", 20000)
                typical = figures[4]
                # A Read is a round trip as it is.
                several.append(typical if program == "ib_read_lat" else 2 * typical)
        reference = statistics.median(plain)
        for (program, crc), several in found.items():
            print(f"{size:>5} {program:>12} {crc:>4} {statistics.median(several):6.1f} us {reference:6.1f} us "
                  f"{statistics.median(several) / reference:6.2f}", flush=True)


def costs(preload):
    """Nanoseconds of each call, per request: of a provider that does next to nothing, with the interposer or without."""
    environment = {**os.environ, **({"LD_PRELOAD": str(INTERPOSER)} if preload else {})}
    done = subprocess.run([PARTS, "--benchmark_filter=verbs", "--benchmark_format=json", "--benchmark_min_time=0.2"],
                          capture_output=True, text=True, env=environment, timeout=PATIENCE)
    if done.returncode != 0:
        sys.exit(f"{PARTS}: {done.stderr.strip()}")
    return {one["name"]: 1e9 / one["items_per_second"] if "items_per_second" in one else one["cpu_time"]
            for one in json.loads(done.stdout)["benchmarks"]}


def interposer(options):
    rounds = max(5, options.rounds)
    found = [(costs(False), costs(True)) for _ in range(rounds)]
    print(f"\nWhat the interposer adds to a request, processor time; medians of {rounds} rounds")
    print(f"{'call':>20} {'without':>9} {'with':>9} {'added':>9} {'wished':>9}")
    for name in found[0][0]:
        without, with_it = (statistics.median(one[i][name] for one in found) for i in (0, 1))
        added = statistics.median(one[1][name] - one[0][name] for one in found)
        print(f"{name.removeprefix('verbs_'):>20} {without:6.1f} ns {with_it:6.1f} ns {added:6.1f} ns {'<=':>3} {WISHED_NS} ns",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="rdmascope")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("what", nargs="?", choices=["throughput", "latency", "interposer"], help="default: all")
    options = parser.parse_args()
    if shutil.which("ib_write_bw") is None:
        sys.exit("ib_write_bw is not installed (Debian: perftest)")
    for name, measure in (("throughput", throughput), ("latency", latency), ("interposer", interposer)):
        if options.what in (None, name):
            measure(options)


if __name__ == "__main__":
    main()
