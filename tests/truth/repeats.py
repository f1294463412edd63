#!/usr/bin/env python3
"""What `dump` names as repeated (`rdma.repeats_frame`) against the second reader and against what `flows` counts.

    repeats.py --binary PATH [--only GLOB]

The second reader (packets.py) remembers every PSN and every octet of a TCP stream: what passed before passes again. `dump`
names a frame for each of these. `flows` counts more as sent again, since it also knows why: what the first transmission
of was lost before the tap, or damaged (the reader's late packets), and READs that were restarted in their middle, with a PSN
that no request had. Captures without a reader's figures agree, or have a line in repeats.tsv with the difference and its
reason; a line that nothing needs any more fails.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import counters
import expected
import packets

HERE = pathlib.Path(__file__).resolve().parent


def run(binary, *arguments):
    result = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: exit status {result.returncode}: {result.stderr[-500:]}")
    return result.stdout


def counted(binary, path):
    """What `flows` counts as passed again, and the frames that `dump` says repeat others."""
    flows = json.loads(run(binary, "flows", "-n", "-r", path, "--json"))["flows"]
    again = sum((flow["retransmitted_packets"] or 0) + (flow["duplicate_packets"] or 0) for flow in flows)
    rows = run(binary, "dump", "-n", "-r", path, "-Y", "rdma.repeats_frame", "-T", "fields", "-e", "frame.number",
               "-e", "rdma.repeats_frame").splitlines()
    for row in rows:
        number, *earlier = re.split("[\t,]", row)
        if not all(int(each) < int(number) for each in earlier):
            raise RuntimeError(f"frame {number} repeats a later one: {row}")
    return again, len(rows)


def read(path, truth):
    """What the second reader saw again, and what `flows` counts beyond that."""
    figures = packets.count(path, truth)
    of = lambda *names: sum(figures[f"{name}/{node}"] for name in names for node in "AB")
    again = of("requests_again", "responses_again", "segments_again")
    late = of("requests_late", "responses_late", "late_segments")
    restarted = of("requests_restarted")
    beyond = restarted if counters.kind_of(truth) in ("reorder", "duplicate") else restarted + late - again
    return again - restarted, beyond


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--only", default="*")
    arguments = parser.parse_args()
    lab = expected.captures()
    reasons = {}
    for line in (HERE / "repeats.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, beyond, _ = line.split("\t")
            reasons[name] = int(beyond)
    chosen = {}
    for path in sorted(expected.PCAPS.rglob("*.pcap*")):
        name = re.sub(r"\.pcap(ng)?(\.gz)?$", "", path.name)
        if fnmatch.fnmatch(name, arguments.only):
            chosen[name] = path

    def check(item):
        name, path = item
        failures = []
        try:
            again, named = counted(arguments.binary, path)
            beyond = reasons.get(name, 0)
            if name in lab and path == lab[name][0]:
                passed, beyond = read(*lab[name])
                if named != passed:
                    failures.append(f"{name}: {passed} packets passed again, dump names {named}")
            if again != named + beyond:
                failures.append(f"{name}: flows counts {again} as sent again, dump names {named}, expected {beyond} between")
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
        return failures

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [failure for found in pool.map(check, chosen.items()) for failure in found]
    if arguments.only == "*":
        failures += [f"repeats.tsv: {name}: no such capture, or the second reader knows it" for name in reasons
                     if name not in chosen or name in lab]
    print("\n".join(failures))
    print(f"{len(chosen)} captures, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
