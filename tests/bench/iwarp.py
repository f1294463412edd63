#!/usr/bin/env python3
"""The software iWARP stack against the sockets it stands on, and against a web server: `./dev bench iwarp`.

Raw TCP and the stack take turns in one run, over loopback, with the same sizes and congestion control; medians of the rounds,
processor time of both ends together. What the sockets' figures are, sockets.py tells.
`pull` is the question of 2009: a thousand clients that pull 8.7 Mbit/s each out of one server, by RDMA Read from `endpoint
serve`, and over HTTP from nginx with sendfile on and off; what does it cost the server, and how many deadlines are missed?
Figures vary by machine: this reports, it never fails.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from sockets import RAW, Sockets, cpu_ms_per_gb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
DEPTH = 128  # as perftest's: raw TCP has no bound but its sockets' buffers
SIZES = {"8K": 8192, "64K": 65536, "1M": 1 << 20}
WISHED = {"8K": {"on": 0.60}, "64K": {"off": 0.90, "on": 0.80}, "1M": {"off": 0.90, "on": 0.80}}  # of raw TCP, by size and CRC
CONGESTION = "cubic"


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Server:
    """`endpoint serve` on a free port, ended with its summary."""

    def __init__(self, binary, *options):
        self.process = subprocess.Popen([binary, "endpoint", "serve", "--listen", "127.0.0.1:0", "--json", *options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            sys.exit(f"endpoint serve did not start: {line}")
        self.address = line.split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)


def throughput(options):
    scope = options.binary
    print(f"\nGoodput over loopback, one connection, {CONGESTION}; medians of {options.rounds} rounds of {options.seconds} s")
    for word, size in SIZES.items():
        sockets = Sockets(size, seconds=options.seconds, congestion=CONGESTION)
        runs = {(operation, placement, crc): [] for operation in ("write", "read", "send") for placement, crc in
                (("direct", "off"), ("direct", "on"), ("strict", "on"))}
        with Server(scope, "--crc", "off", "--placement", "direct", "--congestion", CONGESTION) as direct, \
                Server(scope, "--crc", "off", "--placement", "strict", "--congestion", CONGESTION) as strict:
            for _ in range(options.rounds):
                sockets.measure()
                for (operation, placement, crc), found in runs.items():
                    to = direct if placement == "direct" else strict
                    result = run([scope, "endpoint", "bench", operation, "--to", to.address, "--size", size, "--seconds",
                                  options.seconds, "--depth", DEPTH, "--crc", crc, "--placement", placement, "--congestion",
                                  CONGESTION, "--json"])
                    found.append((result["bytes_per_sec"], cpu_ms_per_gb(result)))
        rows = [((operation, placement), crc, *map(statistics.median, zip(*found))) for (operation, placement, crc), found in runs.items()]
        sockets.print(word, [("operation", 9), ("placement", 9)], rows, WISHED[word])


def latency(options):
    scope, raw = options.binary, RAW
    print(f"\nRound trip of a message and its answer over loopback; medians of {options.rounds} rounds")
    print(f"{'size':>5} {'CRC':>4} {'p50':>9} {'raw TCP':>9} {'ratio':>6} {'wished':>7}")
    with Server(scope, "--crc", "off", "--congestion", CONGESTION) as server:
        for size in (1, 64, 4096):
            found = {"raw": [], "off": [], "on": []}
            for _ in range(options.rounds):
                found["raw"].append(run([raw, "ping-pong", "--size", size, "--seconds", options.seconds / 2, "--congestion", CONGESTION]))
                for crc in ("off", "on"):
                    found[crc].append(run([scope, "endpoint", "bench", "send", "--ping-pong", "--depth", 1, "--to", server.address,
                                           "--size", size, "--seconds", options.seconds / 2, "--crc", crc, "--congestion", CONGESTION, "--json"]))
            p50 = {key: statistics.median(one["latency_ns"]["p50"] for one in several) / 1000 for key, several in found.items()}
            for crc in ("off", "on"):
                print(f"{size:>5} {crc:>4} {p50[crc]:6.1f} us {p50['raw']:6.1f} us {p50[crc] / p50['raw']:6.2f} {'<= 1.30':>7}")
        print(f"\nMessages of 64 octets, depth 128; medians of {options.rounds} rounds")
        for operation in ("write", "send", "read"):
            for crc in ("off", "on"):
                rate = statistics.median(run([scope, "endpoint", "bench", operation, "--to", server.address, "--size", 64, "--depth", 128,
                                              "--seconds", options.seconds, "--crc", crc, "--congestion", CONGESTION, "--json"])
                                         ["messages_per_sec"] for _ in range(options.rounds))
                print(f"{operation:>9}, CRC {crc:>3}: {rate / 1e6:.2f} M messages/s")


def cpu_seconds(pids):
    """User and system time of processes that run."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for pid in pids:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(words[11]) + int(words[12])) / tick
    return total


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def pull_from_nginx(options, size, sendfile):
    with tempfile.TemporaryDirectory(prefix="rdmascope-nginx-") as folder:
        home = pathlib.Path(folder)
        (home / "object").write_bytes(os.urandom(size))
        os.chmod(folder, 0o755)
        (home / "nginx.conf").write_text(f"""
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 600s; tcp_nodelay on; sendfile {sendfile};
  client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{ listen 127.0.0.1:{options.port}; root {home}; open_file_cache max=16; }}
}}""")
        nginx = subprocess.Popen(["nginx", "-c", str(home / "nginx.conf"), "-p", folder], stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{options.port}"], stderr=subprocess.DEVNULL).returncode == 0:
                    break
                if nginx.poll() is not None:
                    sys.exit(f"nginx ended: {(home / 'error.log').read_text()}")
            before = cpu_seconds([nginx.pid])
            result = run([BUILD / "bench_http_pull", "127.0.0.1", options.port, "/object", options.connections, options.rate, options.pull_seconds])
            used = cpu_seconds([nginx.pid]) - before
        finally:
            nginx.terminate()
            nginx.wait()
    return (f"nginx, sendfile {sendfile}", used, result["cpu_seconds"], result["bytes"], result["missed_deadlines"] + result["skipped"],
            result["requests"])


def pull_from_serve(options, size, crc):
    with Server(options.binary, "--crc", "off", "--connections", str(options.connections + 8)) as server:
        before = cpu_seconds([server.process.pid])
        result = run([options.binary, "endpoint", "bench", "read", "--to", server.address, "--size", size, "--depth", 1, "--connections",
                      options.connections, "--rate", int(options.rate), "--seconds", options.pull_seconds, "--crc", crc, "--placement", "direct", "--json"])
        used = cpu_seconds([server.process.pid]) - before
    deadlines = result["deadlines"]
    return (f"RDMA Read, CRC {crc}", used, result["cpu"]["user_seconds"] + result["cpu"]["system_seconds"], result["completed"]["bytes"],
            deadlines["missed"], result["completed"]["count"])


def pull(options):
    size = 65536
    print(f"\n{options.connections} connections pull {options.rate / 1e6:g} Mbit/s each, {size >> 10} KiB at a time, for {options.pull_seconds} s, "
          "client and server on one machine")
    rows = [pull_from_serve(options, size, "off"), pull_from_serve(options, size, "on")]
    if shutil.which("nginx"):
        rows += [pull_from_nginx(options, size, "on"), pull_from_nginx(options, size, "off")]
    else:
        print("nginx is not installed: left out")
    print(f"{'server':<22} {'Gbit/s':>7} {'server CPU':>11} {'ms/GB':>6} {'client CPU':>11} {'missed deadlines':>17}")
    for name, server, client, octets, missed, answers in rows:
        print(f"{name:<22} {octets * 8e-9 / options.pull_seconds:7.2f} {server / options.pull_seconds:10.1%}  {1000 * server / (octets / 1e9):6.0f} "
              f"{client / options.pull_seconds:10.1%} {missed:>9} of {answers}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", default=str(BUILD / "rdmascope"))
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=1)
    arguments.add_argument("--only", choices=["throughput", "latency", "pull"])
    arguments.add_argument("--connections", type=int, default=1000)
    arguments.add_argument("--rate", type=float, default=8.7e6, help="bit/s of each connection")
    arguments.add_argument("--pull-seconds", type=int, default=30)
    arguments.add_argument("--port", type=int, default=18089, help="nginx listens there, on loopback")
    options = arguments.parse_args()
    options.seconds = options.seconds if options.seconds != int(options.seconds) else int(options.seconds)
    for name, part in (("throughput", throughput), ("latency", latency), ("pull", pull)):
        if options.only in (None, name):
            part(options)


main()
