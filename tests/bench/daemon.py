#!/usr/bin/env python3
"""What the daemon costs, and what it misses: `./dev bench daemon`, as root.

One end of a veth pair sends as fast as the machine can; on the other end tcpdump, dumpcap and the daemon take turns, with the same
snapshot length and ring, and each says what it lost. tcpdump and dumpcap write into /dev/null; the daemon dissects, measures and
publishes. Then each one's processor time at 100,000 packets/s, and what the software endpoints still carry while the loopback
interface is watched. Medians of the rounds. Figures vary by machine: this reports, it never fails.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
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
    def __init__(self, space, interface, _):
        super().__init__(space, ["tcpdump", "-i", interface, "-n", "-s", SNAPLEN, "-B", RING_MIB * 1024, "-w", "/dev/null", EXPRESSION])

    def seen(self, text):
        return int(re.search(r"(\d+) packets? captured", text).group(1))


class Dumpcap(Watcher):
    ready = "File:"

    def __init__(self, space, interface, _):
        super().__init__(space, ["dumpcap", "-i", interface, "-s", SNAPLEN, "-B", RING_MIB, "-w", "/dev/null", "-f", EXPRESSION])

    def seen(self, text):
        return int(re.search(r"received/dropped on interface.*: (\d+)/", text).group(1))


class Daemon(Watcher):
    ready = "^ready"

    def __init__(self, space, interface, binary):
        super().__init__(space, [binary, "daemon", "-i", interface, "--snaplen", SNAPLEN, "--socket", "off", "--log-level", "error"])

    def seen(self, text):
        return int(re.search(r"(\d+) packets captured", text).group(1))


WATCHERS = {"tcpdump -w": Tcpdump, "dumpcap": Dumpcap, "rdmascope daemon": Daemon}


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
    print(f"\nProcessor time at 100,000 packets/s, of one core")
    for name, capture in TRAFFIC.items():
        for watcher, kind in WATCHERS.items():
            shares = []
            for _ in range(options.rounds):
                running = kind(space, "tap0", options.binary)
                before = running.cpu_seconds()
                sent = send(space, capture, "--rate", 100000, "--loop", 0, "--seconds", options.seconds)
                time.sleep(0.5)
                used = running.cpu_seconds() - before
                running.end()
                shares.append(used / sent["seconds"])
            print(f"{watcher:>18}: {100 * statistics.median(shares):6.1f} %   {name}")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=BUILD / "rdmascope")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--part", choices=["loss", "processor", "endpoints"], action="append")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    for tool in ("tcpdump", "dumpcap"):
        if not shutil.which(tool):
            print(f"{tool} is not installed and takes no part")
            WATCHERS.pop({"tcpdump": "tcpdump -w"}.get(tool, tool))
    with Namespace() as space:
        for part in options.part or ["loss", "processor", "endpoints"]:
            {"loss": loss, "processor": processor, "endpoints": endpoints}[part](space, options)


if __name__ == "__main__":
    main()
