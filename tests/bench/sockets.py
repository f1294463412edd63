"""What sockets alone make of messages of one size over loopback: the measure of the benches of the stack.

- raw TCP: one message a system call, each into memory of its size; our program, tests/bench/raw_tcp.cpp;
- with CRC: the same, and both ends compute a CRC of it that nobody compares;
- iperf3: the same messages by a program that nobody here wrote, where it is installed;
- at most: as many messages a system call as make 256 KiB, into 64 KiB that stay in the caches.
"""
import json
import math
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

RAW = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "release" / "bench_raw_tcp"
PATIENCE = 60


def raw(*words):
    done = subprocess.run([RAW, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench_raw_tcp {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_ms_per_gb(result):
    """Of both ends, of what raw TCP or `endpoint bench` says of itself."""
    return 1000 * (result["cpu"]["seconds_per_gb"] + (result["server_cpu"] or {"seconds_per_gb": 0})["seconds_per_gb"])


def iperf3(size, *words):
    """Octets a second that its server has received, and milliseconds of both ends' processors a GB."""
    port = free_port()
    server = subprocess.Popen(["iperf3", "-s", "-B", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-l", str(size), "-J", *map(str, words)]
    try:
        deadline = time.monotonic() + PATIENCE
        # It ends with 0 also where it says what was wrong: that the server does not listen yet.
        while "error" in (found := json.loads(subprocess.run(client, capture_output=True, text=True, timeout=PATIENCE).stdout)):
            if time.monotonic() > deadline or server.poll() is not None:
                sys.exit(f"{' '.join(client)}: {found['error']}")
            time.sleep(0.02)
    finally:
        server.kill()
        server.wait()
    received, processors = found["end"]["sum_received"], found["end"]["cpu_utilization_percent"]
    busy_seconds = (processors["host_total"] + processors["remote_total"]) / 100 * received["seconds"]
    return received["bits_per_second"] / 8, 1000 * busy_seconds / (received["bytes"] / 1e9)


class Sockets:
    """Measures of one size; `measure` once in each round, between those of what is to be compared."""

    def __init__(self, size, *, count=None, seconds=None, congestion=None):
        batch = max(1, (256 << 10) // size)
        ours = ["--size", size, *(["--count", count] if count else ["--seconds", seconds]), *(["--congestion", congestion] if congestion else [])]
        theirs = [*(["-n", size * count] if count else ["-t", math.ceil(seconds)]), *(["-C", congestion] if congestion else [])]

        def bulk(*words):
            result = raw("bulk", *ours, *words)
            return result["bytes_per_sec"], cpu_ms_per_gb(result)

        self._programs = {"raw TCP": lambda: bulk("--receive", "whole"), "with CRC": lambda: bulk("--receive", "whole", "--crc", "on")}
        if shutil.which("iperf3"):
            self._programs["iperf3"] = lambda: iperf3(size, *theirs)
        self._programs["at most"] = lambda: bulk("--batch", batch, "--receive", "any")
        self._found = {name: [] for name in self._programs}

    def measure(self):
        for name, program in self._programs.items():
            self._found[name].append(program())

    def print(self, title, first, rows, wished):
        """A table of rows (words of the columns `first`; CRC, on or off; goodput, octets a second; CPU ms a GB) in relation to
        each. `wished`: by CRC, the ratio to raw TCP that is asked."""
        found = {name: [statistics.median(column) for column in zip(*several)] for name, several in self._found.items()}
        print(f"\n{title}: " + ", ".join(f"{name} {speed / 1e9:.2f} GB/s ({cost:.0f} CPU ms/GB)" for name, (speed, cost) in found.items()))
        print(" ".join([*(f"{word:>{width}}" for word, width in first), f"{'CRC':>4} {'GB/s':>6} {'CPU ms/GB':>10}   of",
                        *(f"{name:>8}" + ("  asked" if name == "raw TCP" else "") for name in found)]))
        for words, crc, speed, cost in rows:
            line = [*(f"{word:>{width}}" for word, (_, width) in zip(words, first)), f"{crc:>4} {speed / 1e9:6.2f} {cost:10.0f}     "]
            for name, (theirs, _) in found.items():
                line.append(" " * 8 if name == "with CRC" and crc == "off" else f"{speed / theirs:8.2f}")
                if name == "raw TCP":
                    line.append(f">={wished[crc]:.2f}" if crc in wished else " " * 6)
            print(" ".join(line).rstrip(), flush=True)
