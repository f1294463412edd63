#!/usr/bin/env python3
"""Whole programs, traced: what the file holds against what the programs report, read by the format's description in
docs/trace.md and by nothing of ours. Debian's programs run on the software stack where it is built."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from trace_file import COMPLETION, CONNECTION, ESTABLISHED, POST_SEND, RDMA_WRITE, RECEIVE, SEND, SIGNALLED, Trace

RUN = [os.environ["RDMASCOPE_BINARY"], "run"]
VERBS = pathlib.Path(os.environ["RDMASCOPE_SOFTWARE_VERBS"])
PROGRAM = os.environ["RDMASCOPE_PROGRAM"]

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-trace-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "RDMASCOPE_TRACE_DIR": str(self.folder), "LC_ALL": "C.UTF-8"}

    def rings(self):
        return list(self.folder.glob("*.ring"))

    def run_traced(self, *command, **options):
        options = {"capture_output": True, "text": True, "timeout": 100, "env": self.environment, **options}
        return subprocess.run([*RUN, *map(str, command)], **options)


class TestRun(Base):
    def test_the_file_has_what_the_program_did(self):
        result = self.run_traced("--trace", self.folder / "trace", PROGRAM, "threads", 3000)
        self.assertEqual(result.returncode, 0, result.stderr)
        trace = Trace(self.folder / "trace")
        self.assertTrue(trace.complete)
        self.assertEqual(trace.lost, 0)
        said = [line.split() for line in result.stdout.splitlines()]
        posts = [(int(w[1]), int(w[2]), int(w[3]), int(w[4]), int(w[7])) for w in said if w[0] == "send"]
        traced = [(r.number, r.id, r.opcode, r.bytes, r.status) for r in trace.of(POST_SEND)]
        self.assertEqual(sorted(posts), sorted(traced))
        self.assertGreater(len(posts), 10000)
        (process,) = trace.processes.values()
        self.assertEqual(process, {"user": os.geteuid(), "command": f"{PROGRAM} threads 3000", "container": process["container"],
                                   "devices": ["fake0", "fake1"]})
        self.assertEqual(self.rings(), [])
        # The summary has the sums.
        for number in {post[0] for post in posts}:
            mine = [post for post in posts if post[0] == number and post[4] == 0]
            self.assertRegex(result.stderr, rf"QP {number:#x}: {len(mine)} posts of {sum(post[3] for post in mine)} bytes")

    def test_the_exit_status_is_the_programs_own(self):
        for command, status in ((("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -9 $$"), 128 + signal.SIGKILL), (("true",), 0)):
            result = self.run_traced(*command)
            self.assertEqual(result.returncode, status)
            self.assertIn("nothing was traced", result.stderr)

    def test_signals_reach_the_program(self):
        with subprocess.Popen([*RUN, "--trace", str(self.folder / "trace"), PROGRAM, "for-ever", "1"], env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
            deadline = time.monotonic() + 20
            while not self.rings() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.2)
            running.terminate()
            _, complaints = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 128 + signal.SIGTERM)
        trace = Trace(self.folder / "trace")
        self.assertTrue(trace.complete)
        self.assertIn("QP 0x101", complaints)
        self.assertGreater(len(trace.of(POST_SEND)), 1000)

    def test_refusals_say_what_to_do(self):
        result = self.run_traced("--trace", "/nonexistent/trace", "true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/trace: cannot be made", result.stderr)
        result = self.run_traced("true", env={**self.environment, "RDMASCOPE_TRACE_DIR": "/nonexistent"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("traces cannot be put into /nonexistent", result.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_told_of_and_the_program_runs_on(self):
        result = self.run_traced("--trace", "/dev/full", PROGRAM, "threads", 3000)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left on device", result.stderr)
        self.assertIn("gone 257", result.stdout)


@unittest.skipUnless(VERBS.exists(), "the software stack's face of libibverbs is not built here")
class TestSoftware(Base):
    """The software stack's library stands after ours."""

    def start(self, name, *command):
        output = open(self.folder / f"{name}.out", "w+", encoding="utf-8")
        self.addCleanup(output.close)
        running = subprocess.Popen([*RUN, "--software", "--trace", str(self.folder / name), "--", *map(str, command)],
                                   env=self.environment, stdout=output, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: (running.poll() is None and running.kill(), running.wait()))
        return running

    def both(self, server, client, port):
        first = self.start("server", *server)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not self.listens(port):
            time.sleep(0.05)
        second = self.start("client", *client)
        self.assertEqual(second.wait(60), 0, (self.folder / "client.out").read_text())
        self.assertEqual(first.wait(60), 0, (self.folder / "server.out").read_text())
        return Trace(self.folder / "server"), Trace(self.folder / "client")

    @staticmethod
    def listens(port):
        with contextlib.suppress(FileNotFoundError), open("/proc/net/tcp", encoding="ascii") as lines:
            return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(lines)[1:])
        return False

    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
    def test_ib_write_bw(self):
        depth, count, size, port = 32, 2000, 8192, free_port()
        arguments = ["ib_write_bw", "-R", "-p", port, "-n", count, "-t", depth, "-s", size]
        _, client = self.both(arguments, [*arguments, "127.0.0.1"], port)
        writes = [post for post in client.of(POST_SEND) if post.opcode == RDMA_WRITE]
        self.assertEqual(len(writes), count)
        self.assertEqual({post.bytes for post in writes}, {size})
        # The depth as the program bounds it: what is posted, less what its signalled completions have reported.
        number = writes[0].number
        outstanding, waiting, deepest = 0, [], 0
        for record in client.records:
            if record.number != number:
                continue
            if record.kind == POST_SEND:
                outstanding += 1
                waiting.append(record)
                deepest = max(deepest, outstanding)
            if record.kind == COMPLETION and not record.flags & RECEIVE:
                self.assertEqual(record.status, 0)
                while waiting:
                    done = waiting.pop(0)
                    outstanding -= 1
                    if done.flags & SIGNALLED:
                        break
        self.assertEqual(deepest, depth)
        self.assertEqual(outstanding, 0)

    @unittest.skipUnless(shutil.which("rping"), "rdmacm-utils is not installed")
    def test_rping(self):
        count, size, port = 40, 500, free_port()
        server, client = self.both(["rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", count, "-S", size, "-v"],
                                   ["rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", count, "-S", size, "-V"], port)
        # A ping is a Send that advertises memory, which the server reads and answers by a Send; then again, and it writes.
        self.assertEqual(len(client.of(POST_SEND)), 2 * count)
        self.assertEqual({post.opcode for post in client.of(POST_SEND)}, {SEND})
        kinds = [post.opcode for post in server.of(POST_SEND)]
        self.assertEqual({kind: kinds.count(kind) for kind in set(kinds)}, {SEND: 2 * count, RDMA_WRITE: count, 4: count})
        ends = []
        for trace in (client, server):
            established = [one for one in trace.of(CONNECTION) if one.rest[0] == ESTABLISHED]
            self.assertEqual(len(established), 1)
            _, family, local, peer, status = struct.unpack_from("<BBHHh", established[0].rest)
            self.assertEqual((family, status), (4, 0))
            self.assertEqual(established[0].rest[8:12], bytes([127, 0, 0, 1]))
            self.assertEqual(established[0].rest[24:28], bytes([127, 0, 0, 1]))
            ends.append((local, peer))
        self.assertEqual(ends[0], (ends[1][1], ends[1][0]))
        self.assertEqual(ends[0][1], port)
        self.assertTrue(re.search(r"rdmascope", next(iter(client.processes.values()))["devices"][0]))


if __name__ == "__main__":
    unittest.main()
