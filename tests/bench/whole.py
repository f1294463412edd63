#!/usr/bin/env python3
"""Whole commands on a file of a gigabyte, against tshark and tcpdump, interleaved in one run: `./dev bench whole`.

The file repeats RoCE captures with ascending time stamps; it is in the page cache. Nothing is subtracted: start-up counts for
all alike. tshark reads a slice of the file, since it would take minutes, so it is compared by rate; the slice is long enough
that its start-up is a small part. Everything prints into /dev/null but `-w`, which writes into the build folder.
Figures vary by machine: this reports, it never fails.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIX = ["rxe-write-bw-64k", "rxe-read-bw-64k", "rxe-send-bw-64k", "rxe-write-bw-64", "rxe-read-bw-64", "rxe-send-bw-64", "rxe-verbs-atomic",
       "rxe-rping", "rxe-rc-pingpong", "rxe-ud-pingpong"]
EXPRESSION = "udp dst port 4791 and greater 200"


class Run:
    """Wall time and resident memory of one command."""

    def __init__(self, command, output=None):
        with open(output or os.devnull, "wb") as sink:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.PIPE,
                                       env={**os.environ, "TZ": "UTC", "NO_COLOR": "1"})
            message = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit status {process.returncode}: {message.decode(errors='replace')[-500:]}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1024


def interleaved(rounds, **runs):
    """Each command in turn, `rounds` times; median seconds and greatest memory of each."""
    found = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    return {name: (statistics.median(one.seconds for one in several), max(one.megabytes for one in several))
            for name, several in found.items()}


def frames_in(path):
    data = subprocess.run(["capinfos", "-Mc", str(path)], capture_output=True, text=True, check=True).stdout
    return int(data.split()[-1])


def first_octets(path, octets, out):
    """The records of a pcap file up to about so many octets."""
    with open(path, "rb") as source, open(out, "wb") as sink:
        sink.write(source.read(24))
        written = 24
        while written < octets:
            header = source.read(16)
            if len(header) < 16:
                break
            captured = int.from_bytes(header[8:12], "little")
            sink.write(header + source.read(captured))
            written += 16 + captured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build/release/rdmascope")
    parser.add_argument("--maker", help="bench_make_file; default: beside the binary")
    parser.add_argument("--octets", type=int, default=1_100_000_000)
    parser.add_argument("--slice", type=int, default=120_000_000, help="octets of the file that tshark reads")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    maker = arguments.maker or str(pathlib.Path(binary).parent / "bench_make_file")
    folder = pathlib.Path(binary).parent / "bench"
    folder.mkdir(exist_ok=True)
    large, part = folder / "roce.pcap", folder / "slice.pcap"
    copies = {"ours": folder / "ours.pcap", "theirs": folder / "theirs.pcap"}
    subprocess.run([maker, str(large), str(arguments.octets), *(str(ROOT / f"pcaps/{name}.pcap") for name in MIX)], check=True)
    first_octets(large, arguments.slice, part)
    packets, slice_packets = frames_in(large), frames_in(part)
    print(f"{large.stat().st_size / 1e9:.2f} GB, {packets} packets; tshark reads the first {slice_packets}; medians of {arguments.rounds} runs")
    for path in (large, part):
        with open(path, "rb") as file:  # into the page cache
            while file.read(1 << 24):
                pass

    opcode = ["-T", "fields", "-e", "infiniband.bth.opcode"]
    rows = []

    def against_tshark(what, flags, target):
        times = interleaved(arguments.rounds, ours=lambda: Run([binary, "dump", "-n", "-r", str(large), *flags]),
                            theirs=lambda: Run(["tshark", "-n", "-r", str(part), *flags]))
        ours, theirs = packets / times["ours"][0], slice_packets / times["theirs"][0]
        rows.append((what, f"{ours / 1e6:.2f} M packets/s, {large.stat().st_size / times['ours'][0] / 1e9:.2f} GB/s", f"tshark {theirs / 1e3:.0f} k packets/s",
                     f"{ours / theirs:.1f} x", f">= {target} x", ours / theirs >= target))
        return times["ours"][1]

    memory = [against_tshark("-T fields, one opcode", opcode, 30), against_tshark("text", [], 10)]
    reading = interleaved(arguments.rounds,
                          ours=lambda: Run([binary, "dump", "-n", "-r", str(large), "-w", str(copies["ours"]), "--format", "pcap", *EXPRESSION.split()]),
                          theirs=lambda: Run(["tcpdump", "-n", "-r", str(large), "-w", str(copies["theirs"]), *EXPRESSION.split()]))
    if copies["ours"].stat().st_size != copies["theirs"].stat().st_size:
        print("the filtered copies of rdmascope and tcpdump differ in size")
    rows.append(("-w of a filtered copy", f"{reading['ours'][0]:.2f} s", f"tcpdump {reading['theirs'][0]:.2f} s",
                 f"{reading['theirs'][0] / reading['ours'][0]:.2f} x", ">= 1.0 x", reading["theirs"][0] >= reading["ours"][0]))
    memory.append(reading["ours"][1])
    tree = Run([binary, "dump", "-n", "-r", str(part), "-V"])
    json = Run([binary, "dump", "-n", "-r", str(part), "-T", "json"])
    memory += [tree.megabytes, json.megabytes]
    rows.append(("resident memory", f"{max(memory):.0f} MB at most", "", "", "< 100 MB", max(memory) < 100))
    rows.append(("-V", f"{slice_packets / tree.seconds / 1e3:.0f} k packets/s", "", "", "", None))
    rows.append(("-T json", f"{slice_packets / json.seconds / 1e3:.0f} k packets/s", "", "", "", None))

    widths = [max(len(str(row[i])) for row in rows) for i in range(5)]
    for row in rows:
        verdict = {True: "reached", False: "MISSED", None: ""}[row[5]]
        print("  ".join(str(row[i]).ljust(widths[i]) for i in range(5)), verdict)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
