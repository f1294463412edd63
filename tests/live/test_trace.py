"""The stack's static trace points in running endpoints on loopback: what the kernel delivers of them is what the endpoints
report in JSON."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

BINARY = os.environ["RDMASCOPE_BINARY"]
PROBE = os.environ["RDMASCOPE_TRACE_PROBE"]
ENVIRONMENT = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
POST_SEND, POST_RECEIVE, COMPLETION, QUEUE_PAIR = 1, 2, 3, 5
# ibv_wr_opcode, ibv_wc_opcode, ibv_qp_state.
WRITE, SEND, READ, FETCH_ADD = 0, 2, 4, 6
RECEIVED = 128
RTS = 3


class Traced:
    """All endpoints of this program, until stop()."""

    def __init__(self, process=0):
        self.process = subprocess.Popen([PROBE, BINARY, str(process)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            out, error = self.process.communicate()
            if self.process.returncode == 77:
                raise unittest.SkipTest(error.strip())
            raise AssertionError(f"trace_probe: {error}")

    def stop(self):
        out, error = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, error
        assert error == "", error
        lines = [json.loads(line) for line in out.splitlines()]
        self.records = [line for line in lines if "kind" in line]
        self.counts = {line["event"]: line["count"] for line in lines if "event" in line}
        self.lost = lines[-1]["lost"]
        return self.records


class Server:
    def __enter__(self):
        self.process = subprocess.Popen([BINARY, "endpoint", "serve", "--listen", "127.0.0.1:0", "--json"],
                                        stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.address = re.search(r"ready (\S+)", self.process.stdout.readline())[1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=20)


def endpoint(*arguments):
    """A client's pid and its report."""
    client = subprocess.Popen([BINARY, "endpoint", *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True,
                              env=ENVIRONMENT)
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 0
    return client.pid, json.loads(out)


def setUpModule():
    if shutil.which("readelf"):
        notes = subprocess.run(["readelf", "-n", BINARY], capture_output=True, text=True, env=ENVIRONMENT).stdout
        if "stapsdt" not in notes:
            raise unittest.SkipTest("this rdmascope was built without <sys/sdt.h>: it has no trace points")
    Traced().stop()


class Trace(unittest.TestCase):
    def posted(self, records, process):
        return collections.Counter(r["opcode"] for r in records if r["kind"] == POST_SEND and r["process"] == process)

    def test_bench(self):
        for part, opcode, size in (("write", WRITE, 4096), ("read", READ, 100), ("send", SEND, 64), ("atomic", FETCH_ADD, 8)):
            with self.subTest(part=part), Server() as server:
                traced = Traced()
                arguments = [] if part == "atomic" else ["--size", size]
                process, report = endpoint("bench", part, "--to", server.address, "--count", 700, *arguments)
                records = traced.stop()
                self.assertEqual(traced.lost, 0)
                self.assertEqual(report["messages"]["fetch_add" if part == "atomic" else part]["count"],
                                 self.posted(records, process)[opcode], report["messages"])
                mine = [r for r in records if r["process"] == process]
                data = [r for r in mine if r["kind"] == POST_SEND and r["opcode"] == opcode]
                self.assertEqual(sum(r["bytes"] == size for r in data), 700)
                # What was posted is completed, under its own number, once.
                pair = data[0]["number"]
                posts = [r["id"] for r in mine if r["kind"] == POST_SEND and r["number"] == pair]
                done = [r["id"] for r in mine if r["kind"] == COMPLETION and r["number"] == pair and not r["flags"]]
                self.assertEqual([identifier for identifier in done if identifier not in set(posts)], [])
                self.assertTrue(all(r["status"] == 0 for r in mine if r["kind"] == COMPLETION and r["opcode"] == opcode))
                self.assertIn(RTS, [r["state"] for r in mine if r["kind"] == QUEUE_PAIR and r["number"] == pair])
                times = [r["time_ns"] for r in records]
                self.assertEqual(times, sorted(times))

    def test_ping(self):
        with Server() as server:
            traced = Traced()
            process, report = endpoint("ping", "--to", server.address, "-c", 25, "--interval", 0)
            records = traced.stop()
            self.assertEqual(report["answered"], 25)
            self.assertEqual(self.posted(records, process)[SEND], report["messages"]["send"]["count"])
            served = self.posted(records, server.process.pid)
            self.assertEqual((served[READ], served[WRITE]), (25, 25))
            received = [r for r in records if r["kind"] == COMPLETION and r["opcode"] == RECEIVED and r["status"] == 0
                        and r["process"] == server.process.pid]
            self.assertEqual(len(received), report["messages"]["send"]["count"])
            self.assertEqual(sum(r["bytes"] for r in received), report["messages"]["send"]["bytes"])

    def test_one_process_of_several(self):
        with Server() as server, Server() as other:
            traced = Traced(server.process.pid)
            endpoint("ping", "--to", server.address, "-c", 3, "--interval", 0)
            endpoint("ping", "--to", other.address, "-c", 4, "--interval", 0)
            records = traced.stop()
            self.assertEqual({r["process"] for r in records}, {server.process.pid})
            self.assertEqual(self.posted(records, server.process.pid)[WRITE], 3)

    def test_nothing_stays_behind(self):
        events = pathlib.Path("/sys/kernel/tracing/uprobe_events")
        if not events.exists():
            self.skipTest("tracefs is elsewhere")
        self.assertNotIn("rdmascope_", events.read_text())


if __name__ == "__main__":
    unittest.main()
