#!/usr/bin/env python3
"""What the live screen costs: `./dev bench top`. In a terminal of tmux, `top` shows 1,000 flows that all move, once a second: those of
a daemon, which has measured them, and those of a file, which it measures itself; and htop, where it is installed, next to it. Then
100,000 flows: how long it takes from a key to the picture. And the resident memory of `top -i` on 40 flows, minute by minute.
Medians of the rounds. Figures vary by machine: this reports, it never
fails.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
PACKETS_PER_SECOND = 10_000_000  # that make_traffic stamps


class Place:
    """What a Screen needs of a test."""

    def __init__(self, folder, stack):
        self.folder, self.addCleanup = folder, stack.callback


def capture(folder, flows, octets):
    """Synthetic RoCE traffic of so many flows, two a connection, all of them all the time."""
    path = folder / f"{flows}.pcap"
    subprocess.run([BUILD / "make_traffic", "roce-64", path, str(octets), str(flows // 20), "10"], check=True)
    return path


def share(screen_module, screen, seconds):
    """Processor time of the program, of one core."""
    process = screen.process()
    time.sleep(3)  # the first pictures find out how large everything is
    before, begun = screen_module.processor_seconds(process), time.monotonic()
    time.sleep(seconds)
    return (screen_module.processor_seconds(process) - before) / (time.monotonic() - begun)


def thousand_flows(screen_module, folder, options):
    path = capture(folder, 1000, 60_000_000)
    whole = 60_000_000 / 126 / PACKETS_PER_SECOND  # seconds of its own clock, about: 110 octets a packet, and 16 of pcap
    speed = max(0.001, whole / (options.seconds + 8))
    commands = {"of a daemon": None, "of a file": [options.binary, "top", "-n", "-K", "-r", path, "--speed", f"{speed:.6f}"]}
    if shutil.which("htop"):
        commands["htop, its own way"] = ["htop", "-d", "10"]
    print(f"Processor time of one core, 1,000 flows at 1 s, 160x50, {options.seconds} s")
    for name, command in commands.items():
        shares = []
        for _ in range(options.rounds):
            with contextlib.ExitStack() as stack:
                place = Place(folder, stack)
                if name == "of a daemon":
                    socket = stack.enter_context(daemon(folder, path, steps=options.seconds + 10))
                    command = [options.binary, "top", "-n", f"--connect={socket}"]
                shares.append(share(screen_module, screen_module.Screen(place, command=command, width=160, height=50), options.seconds))
        print(f"{name:>20}: {100 * statistics.median(shares):5.2f} %   ({', '.join(f'{100 * one:.2f}' for one in shares)})")


@contextlib.contextmanager
def daemon(folder, capture_path, steps=None):
    """A program that answers for a capture as the daemon does; its socket."""
    socket = folder / f"{capture_path.stem}.sock"
    server = subprocess.Popen([BUILD / "control_server", capture_path, socket, *([str(steps)] if steps else [])],
                              stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        yield socket
    finally:
        server.terminate()
        server.wait()


def many_flows(screen_module, folder, options):
    path = capture(folder, 100_000, 200_000_000)
    print("\n100,000 flows of a daemon: from a key to the picture, tmux' own time among it")
    with contextlib.ExitStack() as stack:
        socket = stack.enter_context(daemon(folder, path))
        screen = screen_module.Screen(Place(folder, stack), command=[options.binary, "top", "-n", f"--connect={socket}"],
                                      width=160, height=50)
        screen.shows("/100k flows")
        screen.press("t")
        screen.shows("since the start", "1 of 100,000")
        for what, key in (("the next row", "j"), ("the last row", "End"), ("the other order", "r"), ("the next view", "Tab")):
            times = []
            for _ in range(5):
                before, begun = body(screen), time.monotonic()
                screen.press(key)
                screen_module.wait_for(what, lambda: body(screen) != before)
                times.append(time.monotonic() - begun)
                screen.press("1", "Home")
                screen.shows("1 of 100,000")
            print(f"{what:>20}: {1000 * statistics.median(times):5.0f} ms   (at most {1000 * max(times):.0f})")


def memory(screen_module, folder, options):
    """40 flows over loopback for some minutes: its ring counts, as it is mapped."""
    print(f"\nResident memory of `top -i lo`, 40 flows, after each of {options.minutes} minutes")
    server = subprocess.Popen([options.binary, "endpoint", "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().split()[1]
    client = subprocess.Popen([options.binary, "endpoint", "bench", "write", "--to", address, "--size", "4096", "--rate", "4M", "--connections", "20",
                               "--seconds", str(60 * options.minutes + 30)], stdout=subprocess.DEVNULL)
    try:
        with contextlib.ExitStack() as stack:
            screen = screen_module.Screen(Place(folder, stack), command=[options.binary, "top", "-n", "-i", "lo"], width=160, height=50)
            screen.shows("/40 flows")
            process = screen.process()
            for _ in range(options.minutes):
                time.sleep(60)
                fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines())
                sizes = {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}
                print("   ".join(f"{name} {size:.1f} MiB" for name, size in sizes.items()), flush=True)
    finally:
        for process in (client, server):
            process.terminate()
            process.wait()


def body(screen):
    """What keys change: without the header, where the clock goes on."""
    return screen.lines()[3:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=BUILD / "rdmascope")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--part", choices=["thousand", "many", "memory"], action="append")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    os.environ["RDMASCOPE_BINARY"] = str(options.binary)
    sys.path.insert(0, str(ROOT / "tests" / "cli"))
    import screen as screen_module
    if not shutil.which("tmux"):
        sys.exit("bench top needs tmux")
    with tempfile.TemporaryDirectory(prefix="rdmascope-bench-") as folder:
        for part in options.part or ["thousand", "many", "memory"]:
            {"thousand": thousand_flows, "many": many_flows, "memory": memory}[part](screen_module, pathlib.Path(folder), options)


if __name__ == "__main__":
    main()
