#!/usr/bin/env python3
"""`./dev lab samples`: the programs of docs/samples/verbs on Linux rxe and siw, in two virtual machines.

Each is built here against Debian's rdma-core, as its reader builds it, and runs with the guests' own libraries: server in guest A,
client in guest B. Expected are the bytes that were sent, sums that follow from the numbers of clients, and for each mistake the
statuses that the specifications give: InfiniBand 9.9 (a NAK completes the request with an error), RFC 5040 and 5041 (a Terminate ends
the connection). What a device does not have is said in words. A line a case; evidence in build/lab/samples, the table that
docs/samples/verbs/README.md has in build/lab/samples/table.md.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import machines
from machines import A, LIMIT

SAMPLES = machines.ROOT / "docs" / "samples" / "verbs"
PORT = 7471
MODES = ("rxe", "siw")
IN_ORDER = ("hello", "ping_pong", "echo_server", "echo_client", "file_server", "key_value", "counter", "datagram", "robust_client", "extended", "mistakes")
WITHOUT = {"key_value": "no Write with Immediate", "counter": "no atomic operations", "datagram": "no datagrams", "extended": "no extended calls"}  # of siw; the program says so
FLUSHED = "Work Request Flushed Error"
# What client and server print of each mistake. On rxe the request itself fails; on siw a Write or a Send is complete when TCP has
# its bytes, then the connection ends, and the next request is flushed.
ENDS = f"completion of request 1: success\nevent: RDMA_CM_EVENT_DISCONNECTED\ncompletion of request 2: {FLUSHED}\n"
# siw flushes nothing that is posted after the end of the connection; and of a list that is too long it performs what fits, and
# says that it took all.
SIW_ENDS = "completion of request 1: success\nevent: RDMA_CM_EVENT_DISCONNECTED\n(completion of request 2: " + FLUSHED + "|no further completion within 5 s)\n"
# A send queue of four, or more where the device rounds it up: all before the request that is refused are performed.
FULL = r"post of request (\d+): Cannot allocate memory\n((?:completion of request \d+: success\n)*)"
MISTAKES = {
    "rxe": {
        "no-receive": ("completion of request 1: RNR retry counter exceeded\n", "no completion here"),
        "too-long": ("completion of request 1: remote (operation|invalid request) error\n", "the receive: local (length|QP operation) error"),
        "wrong-key": ("completion of request 1: remote access error\n", f"the receive: {FLUSHED}"),
        "out-of-bounds": ("completion of request 1: remote access error\n", f"the receive: {FLUSHED}"),
        "wrong-access": ("completion of request 1: remote access error\n", f"the receive: {FLUSHED}"),
        "queue-full": (FULL, f"the receive: {FLUSHED}"),
        "cq-overrun": ("event: CQ error\n(completion of request \\d: success\n)*\\d completions? (are|is) lost\n", f"the receive: {FLUSHED}"),
        "peer-gone": (ENDS, "the server leaves"),
    },
    "siw": {
        "no-receive": (SIW_ENDS, "no completion here"),
        "too-long": (SIW_ENDS, f"the receive: (local length error|{FLUSHED})"),
        "wrong-key": (SIW_ENDS, f"the receive: {FLUSHED}"),
        "out-of-bounds": ("completion of request 1: (remote access error|" + FLUSHED + ")\n", f"the receive: {FLUSHED}"),
        "wrong-access": (SIW_ENDS, f"the receive: {FLUSHED}"),
        "queue-full": ("(completion of request \\d: success\n){4}no further completion within 5 s\n", f"the receive: {FLUSHED}"),
        "cq-overrun": ("event: CQ error\n(completion of request \\d: success\n)*\\d completions? (are|is) lost\n", f"the receive: {FLUSHED}"),
        "peer-gone": (SIW_ENDS, "the server leaves"),
    },
}


def build(folder):
    """Every program, as docs/samples/verbs/README.md says."""
    source = os.path.join(folder, "verbs")
    shutil.copytree(SAMPLES, source)
    subprocess.run(["make", "-s", "-j2", "-C", source], check=True)
    return [os.path.join(source, name) for name in IN_ORDER]


class Programs:
    """The cases of one device. A program is called as its reader calls it, from the folder that has them all."""

    def __init__(self, device):
        self.device = device
        # siw may leave unread what comes too early (machines.py says why): a client that waits a moment avoids it.
        self.caller = machines.CALLER + " " if device == "siw" else ""

    @staticmethod
    def server(case, command, port=PORT, statuses=(0,)):
        return case.start("A", f"/lab/bin/samples/{command} 2>&1", port, statuses)

    def client(self, case, command, statuses=(0,)):
        return case.ex("B", f"{self.caller}/lab/bin/samples/{command} 2>&1", LIMIT, statuses)

    @staticmethod
    def says(case, output, *texts):
        for text in texts:
            case.check(text in output, f"does not say {text!r}: {output.strip()[-600:]}")

    @staticmethod
    def stop(case, job, program):
        """A server that would go on for ever."""
        case.lab.ex("A", f"killall -q -INT {program}; true", LIMIT)
        return case.finish(job, range(256))

    def hello(self, case):
        server = self.server(case, f"hello server {PORT}")
        self.says(case, self.client(case, f"hello client {A} {PORT}"), "sent: hello from the client\nreceived: hello from the server\n")
        self.says(case, case.finish(server), "received: hello from the client\nsent: hello from the server\n")
        refused = self.client(case, f"hello client {A} {PORT}", (1,))
        self.says(case, refused, 'hello: start "hello server" there first, with the same port')
        self.says(case, self.client(case, "hello", (2,)), "Usage: hello server")

    def ping_pong(self, case):
        for how, words in (("event", "events"), ("poll", "polling")):
            for size in (1, 64, 65, 65536):  # 64 bytes go inline
                server = self.server(case, f"ping_pong -w {how} server {PORT}")
                said = self.client(case, f"ping_pong -w {how} -n 50 -s {size} client {A} {PORT}")
                self.says(case, said, f"50 round trips of {size} bytes, {words}: median ")
                self.says(case, case.finish(server), "answered 50 messages")

    def echo_server(self, case):
        """Five clients at the same time, each with messages of its own size and depth."""
        server = self.server(case, f"echo_server -n 5 {PORT}")
        clients = "".join(f"{self.caller}/lab/bin/samples/echo_client -n 60 -s {1 + 700 * i} -d {1 + 3 * i} {A} {PORT} & " for i in range(5))
        said = case.ex("B", clients + "failed=0; for i in $(jobs -p); do wait $i || failed=1; done; exit $failed")
        for i in range(5):
            self.says(case, said, f"60 messages of {1 + 700 * i} bytes returned, depth {1 + 3 * i}: ")
        self.says(case, case.finish(server), "served 5 clients")

    def echo_client(self, case):
        server = self.server(case, f"echo_server -n 2 {PORT}")
        for size, depth in ((4096, 16), (1, 1)):
            self.says(case, self.client(case, f"echo_client -n 100 -s {size} -d {depth} {A} {PORT}"), f"100 messages of {size} bytes returned, depth {depth}: ")
        self.says(case, case.finish(server), "served 2 clients")
        self.says(case, self.client(case, f"echo_client {A} {PORT}", (1,)), "echo_client: start ")

    def file_server(self, case):
        case.ex("A", "mkdir -p /tmp/shown; cd /tmp/shown; : > empty; echo x > small; head -c 3145733 /dev/urandom > large; echo not for clients > /tmp/hidden")
        server = self.server(case, f"file_server serve /tmp/shown {PORT}")
        for name in ("empty", "small", "large"):
            self.client(case, f"file_server get {A} {name} /tmp/got-{name} {PORT}")
        sums = [case.ex(node, f"cat {files} | sha256sum; stat -c %s {files}") for node, files in
                (("A", "/tmp/shown/empty /tmp/shown/small /tmp/shown/large"), ("B", "/tmp/got-empty /tmp/got-small /tmp/got-large"))]
        case.equal("contents", sums[1], sums[0])
        for name in ("absent", "../hidden"):
            self.says(case, self.client(case, f"file_server get {A} {name} /tmp/got {PORT}", (1,)), "the server has no such file")
        self.says(case, self.stop(case, server, "file_server"), "large: fetched")

    def key_value(self, case):
        server = self.server(case, f"key_value server {PORT}")
        if self.device == "siw":
            self.says(case, self.client(case, f"key_value client {A} -p {PORT} get colour", (1,)), "key_value: this device has no Write with Immediate")
            self.stop(case, server, "key_value")
            return
        said = self.client(case, f"key_value client {A} -p {PORT} put colour blue put size 9 get colour")
        self.says(case, said, "colour = blue\nsize = 9\ncolour = blue\n")
        said = self.client(case, f"key_value client {A} -p {PORT} put colour red get size get shape")
        self.says(case, said, "colour = red\nsize = 9\nshape is not there\n")
        self.says(case, self.client(case, f"key_value client {A} -p {PORT} get {'k' * 64}", (1,)), "a key has 1 to 63 bytes")
        self.stop(case, server, "key_value")

    def counter(self, case):
        if self.device == "siw":
            server = self.server(case, f"counter server {PORT}")
            self.says(case, self.client(case, f"counter client {A} {PORT}", (1,)), "counter: the device siw0 has no atomic operations\n")
            self.stop(case, server, "counter")
            return
        for mode, times in (("add", 100), ("lock", 10)):
            server = self.server(case, f"counter -n 3 server {PORT}")
            said = case.ex("B", f"for i in 1 2 3; do /lab/bin/samples/counter client -m {mode} -n {times} {A} {PORT} & done; "
                                "failed=0; for i in $(jobs -p); do wait $i || failed=1; done; exit $failed")
            case.check(said.count(f"added 1 {times} times; ") == 3, f"not all clients added: {said}")
            self.says(case, case.finish(server), f"a client left; the counter is {3 * times}\n")

    def datagram(self, case):
        if self.device == "siw":
            for node, words in (("A", f"server {PORT}"), ("B", f"client {A} {PORT}")):
                said = case.ex(node, f"/lab/bin/samples/datagram {words} 2>&1", 60, (1,))
                self.says(case, said, "datagram: this device has no datagrams: iWARP has connections only\n",
                          "datagram: use an InfiniBand or RoCE device; Linux rxe is one in software\n")
            return
        server = case.bg("A", f"/lab/bin/samples/datagram -n 3 server {PORT} 2>&1", "listening")
        for _ in range(3):
            said = self.client(case, f"datagram client {A} {PORT}")
            case.check(re.fullmatch(r"try \d: you said: are you there\?\n", said), f"another answer: {said}")
        case.finish(server)

    def robust_client(self, case):
        address = f"{A} {PORT}"
        late = case.lab.bg("B", f"{self.caller}/lab/bin/samples/robust_client -n 3 -i 0 -t 20000 {address} 2>&1", LIMIT)
        case.check(late.wait_out("next try in", LIMIT), f"never tried again: {late.out()}")
        server = self.server(case, f"echo_server -n 1 {PORT}")
        case.judged(late.wait(LIMIT))
        self.says(case, late.out(), "no server listens there", "connected; 0 messages answered so far", "all 3 messages answered")
        self.stop(case, server, "echo_server")

        server = self.server(case, f"echo_server {PORT}")
        client = case.lab.bg("B", f"{self.caller}/lab/bin/samples/robust_client -n 40 -i 250 -t 20000 {address} 2>&1", LIMIT)
        case.check(client.wait_out("connected; 0 messages", LIMIT), f"never connected: {client.out()}")
        case.lab.ex("A", "killall -q -KILL echo_server; true", LIMIT)
        case.finish(server, range(256))
        case.check(client.wait_out("next try in", LIMIT), f"did not see the server's end: {client.out()}")
        server = self.server(case, f"echo_server -n 1 {PORT}")
        case.judged(client.wait(LIMIT))
        self.says(case, client.out(), "all 40 messages answered")
        self.stop(case, server, "echo_server")

        server = self.server(case, f"echo_server {PORT}")
        case.lab.ex("A", "killall -q -STOP echo_server; true", LIMIT)
        said = self.client(case, f"robust_client -n 1 -t 3000 -r 2 {address}", (1,))
        self.says(case, said, "within 3000 ms", "given up after 2 tries; 0 of 1 messages were answered")
        case.lab.ex("A", "killall -q -CONT echo_server; true", LIMIT)
        self.stop(case, server, "echo_server")

    def extended(self, case):
        if self.device == "siw":
            server = self.server(case, f"extended server {PORT}")
            self.says(case, self.client(case, f"extended client {A} -p {PORT} one", (1,)), "extended: the provider of this device has no extended calls (siw has none)")
            self.stop(case, server, "extended")
            return
        server = self.server(case, f"extended server {PORT}")
        self.says(case, self.client(case, f"extended client {A} -p {PORT} one two three"), "request 4 completed")
        self.says(case, case.finish(server), "written: onetwothree\n")

    def mistakes(self, case):
        server = self.server(case, f"mistakes server {PORT}")
        for name, (client, served) in MISTAKES[self.device].items():
            said = self.client(case, f"mistakes client {A} -p {PORT} {name}")
            seen = re.fullmatch(client, said)
            case.check(seen, f"{name}: another report: {said}")
            if seen and name == "queue-full" and self.device == "rxe":
                case.equal("requests that were performed", seen[2].count("\n"), int(seen[1]) - 1)
            case.check(server.wait_out(f"{name}: ", 60), f"{name}: the server reports nothing")
            case.check(re.search(f"^{name}: ({served})$", server.out(), re.M), f"{name}: the server reports something else: {server.out()}")
        case.finish(server)  # the last mistake is that it leaves


class Bench(machines.Machines):
    def install(self):
        """The samples, and a sleep that costs the emulated processor nothing (the laboratory's agent calls it often)."""
        folder = self.share / "samples"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with tempfile.TemporaryDirectory(prefix="rdmascope-samples-") as work:
            for file in build(work):
                shutil.copy(file, folder)
        subprocess.run(["gcc", "-O2", "-static", "-o", str(folder / "sleep"), str(machines.HERE / "sleep.c")], check=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(folder / "late"), str(machines.HERE / "late.c")], check=True)
        for result in self.lab.both("cp /lab/bin/samples/late /usr/local/lib/late.so; cp /lab/bin/samples/sleep /usr/bin/sleep.new; mv /usr/bin/sleep.new /usr/bin/sleep", LIMIT):
            if result["rc"] != 0:
                sys.exit(f"lab: guest {result['node']}: {result['output']}")

    def run(self):
        for device in self.options.mode or MODES:
            for node in "AB":
                self.adapter(node, device)
            programs = Programs(device)
            for name in IN_ORDER:
                self.case(f"samples-{name}-{device}", f"{name} of docs/samples/verbs over {device}", getattr(programs, name), capture=False, tries=3)
        self.write_table()
        return self.report()

    def write_table(self):
        """A row a program; only what was run in this call."""
        lines = ["| program | rxe | siw |", "| --- | --- | --- |"]
        for name in IN_ORDER:
            cells = []
            for device in MODES:
                case = f"samples-{name}-{device}"
                passed = WITHOUT[name] if device == "siw" and name in WITHOUT else "works"
                cells.append("fails" if case in self.failed else passed if case in self.done else "not run")
            lines.append(f"| {name} | {' | '.join(cells)} |")
        self.options.results.mkdir(parents=True, exist_ok=True)
        (self.options.results / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    found = machines.options(__doc__, MODES)
    if found.results == machines.ROOT / "build" / "lab":
        found.results /= "samples"
    sys.exit(Bench(found).run())
