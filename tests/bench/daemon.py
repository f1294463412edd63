#!/usr/bin/env python3
"""What the daemon costs, and what it misses: `./dev bench daemon`, as root.

One end of a veth pair sends as fast as the machine can; on the other end tcpdump, dumpcap and the daemon take turns, with the same
snapshot length and ring, and each says what it lost. tcpdump and dumpcap write into /dev/null; the daemon dissects, measures and
publishes. Then each one's processor time at 100,000 packets/s; the same and the highest rate without loss where 95 of 100 packets are
other TCP; what the kernel's program costs for each of those; and what the software endpoints still carry while the loopback interface
is watched. Medians of the rounds. Figures vary by machine: this reports, it never fails.
"""
import argparse
import json
import os
import pathlib
import re
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
SNAPLEN, RING_MIB = 192, 64
TICKS = os.sysconf("SC_CLK_TCK")
EXPRESSION = "udp port 4791"  # captures hold a little else, too: what programs agreed on over TCP
USUAL_RATE = 300_000  # packets/s, to choose how often a capture is sent
TRAFFIC = {"64-octet SENDs": "rxe-send-bw-64.pcap", "64 KiB WRITEs in packets of 1 KiB": "rxe-write-bw-64k.pcap"}


class Namespace:
    def __init__(self):
        self.name = f"rdmascope-bench-{os.getpid()}"

    def __enter__(self):
        made = subprocess.run(["ip", "netns", "add", self.name], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"bench daemon needs network namespaces: {made.stderr.strip()}")
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        self.run("ip", "link", "add", "send0", "type", "veth", "peer", "name", "tap0")
        for interface in ("lo", "send0", "tap0"):
            self.run("ip", "link", "set", interface, "up")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name])

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.name, *map(str, arguments)]

    def run(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}\nexit status {done.returncode}: {done.stderr.strip()}")
        return done.stdout


class Watcher:
    """A program that listens on an interface: started, asked for its processor time, ended, and asked what it saw."""

    ready = "listening on"

    def __init__(self, space, command):
        self.process = subprocess.Popen(space.command(*command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            if re.search(self.ready, line, re.IGNORECASE):
                break
        time.sleep(2.5)  # the daemon looks at all of TCP for its first two seconds

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.lines += self.process.stderr.readlines()
        self.process.wait(30)
        return self.seen("".join(self.lines))


class Tcpdump(Watcher):
    def __init__(self, space, interface, _, snaplen=SNAPLEN, expression=EXPRESSION):
        super().__init__(space, ["tcpdump", "-i", interface, "-n", "-s", snaplen, "-B", RING_MIB * 1024, "-w", "/dev/null", expression])

    def seen(self, text):
        return int(re.search(r"(\d+) packets? captured", text).group(1))


class Dumpcap(Watcher):
    ready = "File:"

    def __init__(self, space, interface, _, snaplen=SNAPLEN, expression=EXPRESSION):
        super().__init__(space, ["dumpcap", "-i", interface, "-s", snaplen, "-B", RING_MIB, "-w", "/dev/null", "-f", expression])

    def seen(self, text):
        return int(re.search(r"received/dropped on interface.*: (\d+)/", text).group(1))


class Daemon(Watcher):
    ready = "^ready"
    threads = 1

    def __init__(self, space, interface, binary, snaplen=SNAPLEN, expression=EXPRESSION):
        """The daemon needs no expression. Without a snapshot length, the daemon chooses one for each kind of packet."""
        length = ["--snaplen", snaplen] if snaplen else []
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(f"[capture]\nthreads = {self.threads}\n")
            file.flush()
            super().__init__(space, [binary, "daemon", "--config", file.name, "-i", interface, *length, "--socket", "off",
                                     "--log-level", "error"])

    def seen(self, text):
        return int(re.search(r"(\d+) packets captured", text).group(1))


class DaemonWithTwoRings(Daemon):
    threads = 2


WATCHERS = {"tcpdump -w": Tcpdump, "dumpcap": Dumpcap, "rdmascope daemon": Daemon, "with 2 threads": DaemonWithTwoRings}


def frames_of(path):
    octets, at, frames = path.read_bytes(), 24, []
    while at < len(octets):
        size = struct.unpack_from("<I", octets, at + 8)[0]
        frames.append(octets[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def other_tcp(number, source):
    """A full segment of one of 64 connections that were there before, with payload that is no FPDU."""
    connection = number % 64
    payload = source.randbytes(1000)
    tcp = struct.pack("!HHIIBBHHH", 443, 40000 + connection, number // 64 * 1000 + 1, 1, 0x50, 0x18, 512, 0, 0) + payload
    ends = struct.pack("!II", 0xc0a80001, 0xc0a80100 + connection)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), number & 0xffff, 0, 64, 6, 0) + ends
    return bytes.fromhex("0200000000020200000000010800") + ip + tcp


def mixed(folder, rdma, share, count=40_000):
    """`count` frames: `share` of them RoCE, spread evenly, and else TCP."""
    source, roce, every = random.Random(1), frames_of(ROOT / "pcaps" / rdma), round(1 / share) if share else 0
    roce = [frame for frame in roce if frame[12:14] == b"\x08\x00" and frame[23] == 17]
    path = folder / f"mixed-{share}.pcap"
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for number in range(count):
            frame = roce[number // every % len(roce)] if every and number % every == 0 else other_tcp(number, source)
            file.write(struct.pack("<IIII", 1 + number // 1_000_000, number % 1_000_000, len(frame), len(frame)) + frame)
    return path


def send(space, capture, *options):
    return json.loads(space.run(BUILD / "frame_sender", "send0", ROOT / "pcaps" / capture, *options))


def counted(capture, *expression):
    done = subprocess.run(["tcpdump", "-r", ROOT / "pcaps" / capture, "--count", *expression], capture_output=True, text=True, check=True)
    return int(re.search(r"(\d+) packets?", done.stdout).group(1))


def loss(space, options):
    for name, capture in TRAFFIC.items():
        print(f"\nLost of {name}, sent as fast as it goes for some {options.seconds} s; snapshot length {SNAPLEN}, ring {RING_MIB} MiB")
        lost, rates = {watcher: [] for watcher in WATCHERS}, []
        loops = max(1, options.seconds * USUAL_RATE // counted(capture))
        wanted = loops * counted(capture, EXPRESSION)
        for _ in range(options.rounds):
            for watcher, kind in WATCHERS.items():
                running = kind(space, "tap0", options.binary)
                sent = send(space, capture, "--speed", "max", "--loop", loops)
                time.sleep(1.5)
                rates.append(sent["frames"] / sent["seconds"])
                lost[watcher].append(max(0, 1 - running.end() / wanted))
        print(f"{'sent':>18}: {statistics.median(rates) / 1e6:.2f} M packets/s")
        for watcher, shares in lost.items():
            print(f"{watcher:>18}: {100 * statistics.median(shares):6.2f} %   ({', '.join(f'{100 * share:.2f}' for share in shares)})")


def processor(space, options):
    print("\nProcessor time at 100,000 packets/s, of one core")
    for name, capture in TRAFFIC.items():
        path = ROOT / "pcaps" / capture
        used_at_rate(space, options, name, path, "--loop", 0, "--seconds", options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        # The file lasts as long as it is sent, because connections that begin again would be repeats.
        path = pathlib.Path(folder) / "iwarp.pcap"
        subprocess.run([BUILD / "make_traffic", "iwarp-1420", path, str(options.seconds * 100_000 * 1500)], check=True)
        used_at_rate(space, options, "iWARP, whole segments of 1,420 bytes", path, snaplen=0, expression="tcp")


def used_at_rate(space, options, name, path, *how, **watched):
    for watcher, kind in WATCHERS.items():
        shares = []
        for _ in range(options.rounds):
            running = kind(space, "tap0", options.binary, **watched)
            before = running.cpu_seconds()
            sent = send(space, path, "--rate", 100000, *how)
            time.sleep(0.5)
            used = running.cpu_seconds() - before
            running.end()
            shares.append(used / sent["seconds"])
        print(f"{watcher:>18}: {100 * statistics.median(shares):6.1f} %   {name}")


def mix(space, options):
    """Rates rise by a quarter until packets are lost. The sender takes a processor of the same machine: its own limit ends the search."""
    share, count = 0.05, 40_000
    with tempfile.TemporaryDirectory() as folder:
        path = mixed(pathlib.Path(folder), "rxe-send-bw-64.pcap", share, count)
        print("\n95 of 100 packets are other TCP: processor time at 100,000 packets/s, of one core; the highest rate without loss")
        results = {watcher: ([], []) for watcher in WATCHERS}
        for _ in range(options.rounds):
            for watcher, kind in WATCHERS.items():
                running = kind(space, "tap0", options.binary)
                before = running.cpu_seconds()
                sent = send(space, path, "--rate", 100000, "--loop", 0, "--seconds", options.seconds)
                time.sleep(0.5)
                results[watcher][0].append((running.cpu_seconds() - before) / sent["seconds"])
                running.end()
                results[watcher][1].append(first_loss(space, kind, path, share, count, options))
        for watcher, (shares, rates) in results.items():
            print(f"{watcher:>18}: {100 * statistics.median(shares):6.2f} %   {statistics.median(rates) / 1e3:6.0f} k packets/s   "
                  f"({', '.join(f'{rate / 1e3:.0f}' for rate in rates)})")


def first_loss(space, kind, path, share, count, options):
    rate, reached = 100_000, 0
    while True:
        running = kind(space, "tap0", options.binary)
        loops = max(1, round(rate * min(options.seconds, 2) / count))
        sent = send(space, path, "--rate", rate, "--loop", loops)
        time.sleep(1)
        seen, actual = running.end(), sent["frames"] / sent["seconds"]
        if seen < sent["frames"] * share:
            return reached
        reached = max(reached, actual)
        if actual < 0.9 * rate:
            return reached
        rate *= 1.25


def ordinary(space, options):
    """The kernel counts the runs of a program and their time while kernel.bpf_stats_enabled is set; fdinfo shows both."""
    switch = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    with tempfile.TemporaryDirectory() as folder:
        path = mixed(pathlib.Path(folder), "rxe-send-bw-64.pcap", 0)
        costs = []
        try:
            switch.write_text("1")
            for _ in range(options.rounds):
                running = Daemon(space, "tap0", options.binary)
                first = program_time(running.process.pid)
                send(space, path, "--rate", 100000, "--loop", 0, "--seconds", options.seconds)
                last = program_time(running.process.pid)
                running.end()
                costs.append((last[0] - first[0]) / max(1, last[1] - first[1]))
        finally:
            switch.write_text(before)
    print(f"\nThe kernel's program, for each ordinary TCP packet: {statistics.median(costs):.0f} ns   ({', '.join(f'{one:.0f}' for one in costs)}),"
          f" the kernel's own measuring of some 20 ns among it")


def program_time(pid):
    """Nanoseconds and runs of the busiest program of a process."""
    best = (0, 0)
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
        if "run_cnt" in fields:
            best = max(best, (int(fields["run_time_ns"]), int(fields["run_cnt"])))
    return best


def endpoints(space, options):
    print("\nThe software endpoints over loopback, 64 KiB WRITEs, unwatched and watched (two cores carry client, server and watcher)")
    results = {name: [] for name in ("unwatched", *WATCHERS)}
    for _ in range(options.rounds):
        for name in results:
            watcher = None if name == "unwatched" else WATCHERS[name](space, "lo", options.binary)
            server = subprocess.Popen(space.command(options.binary, "endpoint", "serve", "--listen", "127.0.0.1:0"), stdout=subprocess.PIPE, text=True)
            address = server.stdout.readline().split()[1]
            done = space.run(options.binary, "endpoint", "bench", "write", "--to", address, "--size", "64K", "--seconds", options.seconds, "--json")
            results[name].append(json.loads(done)["bytes_per_sec"])
            server.terminate()
            server.wait(20)
            if watcher:
                watcher.end()
    alone = statistics.median(results["unwatched"])
    for name, rates in results.items():
        print(f"{name:>18}: {statistics.median(rates) / 1e9:6.2f} GB/s, {statistics.median(rates) / alone:.2f} of unwatched")


PARTS = {"loss": loss, "processor": processor, "mix": mix, "ordinary": ordinary, "endpoints": endpoints}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=BUILD / "rdmascope")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    for tool in ("tcpdump", "dumpcap"):
        if not shutil.which(tool):
            print(f"{tool} is not installed and takes no part")
            WATCHERS.pop({"tcpdump": "tcpdump -w"}.get(tool, tool))
    with Namespace() as space:
        for part in options.part or PARTS:
            PARTS[part](space, options)


if __name__ == "__main__":
    main()
