#!/usr/bin/env python3
"""Whole commands on files of a gigabyte, against tshark and tcpdump, interleaved in one run: `./dev bench whole`.

`dump` reads a file that repeats RoCE captures, each round between hosts of its own; `flows` reads synthetic traffic between
many pairs of hosts, of large packets, small messages, and iWARP, and then real captures that are repeated in the same way; `io`
reads real captures with commands of upper layers. Files are in the page cache. Nothing is subtracted: start-up counts for
all alike. tshark reads a slice of the file, since it would take minutes, so it is compared by rate; the slice is long enough
that its start-up is a small part. Everything prints into /dev/null but `-w`, which writes into the build folder, and where
it is compared with `flows`, into /dev/null too. Figures vary by machine: this reports, it never fails.
"""
import argparse
import concurrent.futures
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
# What `flows` reads, as make_traffic calls it, and the field that tshark prints of it.
TRAFFIC = {"roce-1k": "infiniband.bth.opcode", "roce-64": "infiniband.bth.opcode", "iwarp-64": "iwarp_rdma.opcode",
           "iwarp-1420": "iwarp_rdma.opcode"}
# What people have: 200 MB of real captures, each repeated between hosts of its own, and the field that tshark prints.
REAL = {"nvme-rdma-rxe": "infiniband.bth.opcode", "iser-rxe": "infiniband.bth.opcode", "nfs-rdma-rxe": "infiniband.bth.opcode",
        "nfs-rdma-siw": "iwarp_rdma.opcode", "rxe-atomic-fetchadd-bw": "infiniband.bth.opcode",
        "rxe-read-bw-64k": "infiniband.bth.opcode", "rxe-write-bw-64k": "infiniband.bth.opcode",
        "siw-write-bw-64k-crc": "iwarp_rdma.opcode"}
REAL_BYTES = 200_000_000
# The captures for `io`: packets that `io` should read in a second, and the field that tshark prints.
COMMANDS = {"nvme-rdma-rxe": (6_000_000, "nvme.cmd.opc"), "nfs-rdma-rxe": (4_000_000, "rpc.procedure"),
            "iser-rxe": (None, "iscsi.opcode"), "srp-rxe": (None, "infiniband.bth.opcode")}
PAIRS = 32  # of hosts
FLOWS = 16  # connections of each


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


def twice_at_once(command):
    """The wall time of both: what two processors do where nothing is shared."""
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(2) as both:
        first, _ = both.map(Run, [command] * 2)
    first.seconds = time.perf_counter() - begin
    return first


def interleaved(rounds, **runs):
    """Each command in turn, `rounds` times; median seconds, greatest memory, median processor time of each."""
    found = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    return {name: (statistics.median(one.seconds for one in several), max(one.megabytes for one in several),
                   statistics.median(one.cpu for one in several))
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


def into_cache(*paths):
    """And a day old, as captures are, which are then mapped: one of the last minute is read, since its writer may cut it."""
    yesterday = time.time() - 86400
    for path in paths:
        os.utime(path, (yesterday, yesterday))
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass


def show(rows):
    """Rows of what, ours, theirs, ratio, target, and whether it was reached (None: there is no target)."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(5)]
    for row in rows:
        verdict = {True: "reached", False: "MISSED", None: ""}[row[5]]
        print("  ".join(str(row[i]).ljust(widths[i]) for i in range(5)), verdict)


def bench_dump(arguments, binary, folder):
    maker = arguments.maker or str(pathlib.Path(binary).parent / "bench_make_file")
    large, part = folder / "roce.pcap", folder / "slice.pcap"
    copies = {"ours": folder / "ours.pcap", "theirs": folder / "theirs.pcap"}
    subprocess.run([maker, str(large), str(arguments.octets), *(str(capture_named(name)) for name in MIX)], check=True)
    first_octets(large, arguments.slice, part)
    packets, slice_packets = frames_in(large), frames_in(part)
    print(f"dump: {large.stat().st_size / 1e9:.2f} GB, {packets} packets; tshark reads the first {slice_packets}; medians of {arguments.rounds} runs")
    into_cache(large, part)

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
    show(rows)
    for path in (large, part, *copies.values()):
        path.unlink()


def bench_flows(arguments, binary, folder):
    maker = str(pathlib.Path(binary).parent / "make_traffic")
    for kind, field in TRAFFIC.items():
        large, part = folder / f"{kind}.pcap", folder / "slice.pcap"
        subprocess.run([maker, kind, str(large), str(arguments.octets), str(PAIRS), str(FLOWS)], check=True)
        first_octets(large, arguments.slice // 2, part)
        packets, slice_packets = frames_in(large), frames_in(part)
        size = large.stat().st_size
        into_cache(large, part)
        print(f"flows, {kind}: {size / 1e9:.2f} GB, {packets} packets, {PAIRS} pairs of hosts with {FLOWS} connections each; "
              f"tshark reads the first {slice_packets}; medians of {arguments.rounds} runs")
        ours = [binary, "flows", "-n", "--json", "-r", str(large)]
        one = [*ours, "--threads", "1"]
        times = interleaved(arguments.rounds,
                            plain=lambda: Run([*one, "--no-crc"]), checked=lambda: Run([*one, "--crc"]),
                            two=lambda: Run([*ours, "--no-crc", "--threads", "2"]),
                            both=lambda: Run([*ours, "--crc", "--threads", "2"]),
                            pair=lambda: twice_at_once([*one, "--no-crc"]),
                            tcpdump=lambda: Run(["tcpdump", "-n", "-r", str(large), "-w", "/dev/null"]),
                            tshark=lambda: Run(["tshark", "-n", "-r", str(part), "-T", "fields", "-e", field]))
        theirs = slice_packets / times["tshark"][0]
        dumped = times["tcpdump"][0]
        rows = []
        for name, what in (("plain", "one thread"), ("checked", "one thread, CRCs verified"), ("two", "two threads"),
                           ("both", "two threads, CRCs verified")):
            seconds, megabytes, cpu = times[name]
            figure = (f"{packets / seconds / 1e6:.2f} M packets/s ({packets / cpu / 1e6:.2f} a processor's second), "
                      f"{size / seconds / 1e9:.2f} GB/s, {megabytes:.0f} MB resident")
            rate = packets / seconds
            rows.append((what, figure, f"tshark {theirs / 1e3:.0f} k packets/s", f"{rate / theirs:.0f} x", ">= 200 x", rate / theirs >= 200))
            rows.append(("", f"{seconds:.2f} s", f"tcpdump -w /dev/null {dumped:.2f} s", f"{dumped / seconds:.2f} x", ">= 1.0 x", dumped >= seconds))
        for one, two, what in (("plain", "two", "two threads by one"), ("checked", "both", "the same, CRCs verified")):
            gain = times[one][0] / times[two][0]
            rows.append((what, "", "", f"{gain:.2f} x", ">= 1.7 x", gain >= 1.7))
        rows.append(("two processes by one, on this machine", "", "", f"{2 * times['plain'][0] / times['pair'][0]:.2f} x", "", None))
        show(rows)
        large.unlink()
        part.unlink()


def capture_named(name):
    return next(ROOT.glob(f"pcaps/{name}.pcap*"))


def bench_real(arguments, binary, folder):
    """With the defaults of `flows`: one thread for each processor, CRCs verified."""
    maker = arguments.maker or str(pathlib.Path(binary).parent / "bench_make_file")
    rows = []
    for name, field in REAL.items():
        large, part, fresh = folder / f"{name}.pcap", folder / "slice.pcap", folder / "fresh.pcap"
        subprocess.run([maker, str(large), str(REAL_BYTES), str(capture_named(name))], check=True)
        first_octets(large, REAL_BYTES // 10, part)
        packets, slice_packets = frames_in(large), frames_in(part)
        shutil.copyfile(large, fresh)
        into_cache(large, part)

        def read_fresh():
            os.utime(fresh)
            return Run([binary, "flows", "-n", "--json", "-r", str(fresh)])

        times = interleaved(arguments.rounds, ours=lambda: Run([binary, "flows", "-n", "--json", "-r", str(large)]),
                            one=lambda: Run([binary, "flows", "-n", "--json", "--threads", "1", "-r", str(large)]), fresh=read_fresh,
                            tcpdump=lambda: Run(["tcpdump", "-n", "-r", str(large), "-w", "/dev/null"]),
                            tshark=lambda: Run(["tshark", "-n", "-r", str(part), "-T", "fields", "-e", field]))
        theirs, dumped = slice_packets / times["tshark"][0], times["tcpdump"][0]
        for run, what, target in (("ours", name, 1.0), ("one", "one thread", None), ("fresh", "written within the last minute", None)):
            seconds = times[run][0]
            reached = None if target is None else dumped >= seconds * target
            rows.append((what, f"{packets / seconds / 1e6:.2f} M packets/s", f"tcpdump {packets / dumped / 1e6:.2f} M packets/s",
                         f"{dumped / seconds:.2f} x", f">= {target} x" if target else "", reached))
        rate = packets / times["ours"][0]
        rows.append(("", "", f"tshark {theirs / 1e3:.0f} k packets/s", f"{rate / theirs:.0f} x", ">= 100 x", rate / theirs >= 100))
        for path in (large, part, fresh):
            path.unlink()
    print(f"flows, real captures repeated to {REAL_BYTES / 1e6:.0f} MB; medians of {arguments.rounds} runs")
    show(rows)


def bench_io(arguments, binary, folder):
    """Commands of upper layers; and what reading them costs `flows`, which has the same figures for each flow."""
    maker = arguments.maker or str(pathlib.Path(binary).parent / "bench_make_file")
    rows = []
    for name, (target, field) in COMMANDS.items():
        large, part = folder / f"{name}.pcap", folder / "slice.pcap"
        subprocess.run([maker, str(large), str(REAL_BYTES), str(capture_named(name))], check=True)
        first_octets(large, REAL_BYTES // 10, part)
        packets, slice_packets = frames_in(large), frames_in(part)
        into_cache(large, part)
        flows = [binary, "flows", "-n", "--csv", "--threads", "1", "-r", str(large), "--columns"]
        times = interleaved(arguments.rounds, ours=lambda: Run([binary, "io", "-n", "--json", "-r", str(large)]),
                            flows=lambda: Run([*flows, "packets,io.commands"]), without=lambda: Run([*flows, "packets"]),
                            tshark=lambda: Run(["tshark", "-n", "-r", str(part), "-T", "fields", "-e", field]))
        rate, theirs = packets / times["ours"][0], slice_packets / times["tshark"][0]
        rows.append((f"io, {name}", f"{rate / 1e6:.2f} M packets/s, {times['ours'][1]:.0f} MB resident",
                     f"tshark {theirs / 1e3:.0f} k packets/s", f"{rate / theirs:.0f} x",
                     f">= {target / 1e6:.0f} M packets/s" if target else "", None if target is None else rate >= target))
        rows.append(("flows with commands", f"{packets / times['flows'][0] / 1e6:.2f} M packets/s",
                     f"without {packets / times['without'][0] / 1e6:.2f} M packets/s",
                     f"{times['without'][0] / times['flows'][0]:.2f} x", "", None))
        for path in (large, part):
            path.unlink()
    print(f"io, real captures repeated to {REAL_BYTES / 1e6:.0f} MB, one thread; medians of {arguments.rounds} runs")
    show(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build/release/rdmascope")
    parser.add_argument("--maker", help="bench_make_file; default: beside the binary")
    parser.add_argument("--octets", type=int, default=1_100_000_000)
    parser.add_argument("--slice", type=int, default=120_000_000, help="octets of the file that tshark reads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("dump", "flows", "real", "io"), help="one of the parts; real: flows of real captures")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    folder = pathlib.Path(binary).parent / "bench"
    folder.mkdir(exist_ok=True)
    print(f"load at the beginning: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    try:
        for part, bench in (("dump", bench_dump), ("flows", bench_flows), ("real", bench_real), ("io", bench_io)):
            if arguments.only in (None, part):
                bench(arguments, binary, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
