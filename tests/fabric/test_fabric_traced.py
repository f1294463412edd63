"""`run --mads`: the datagrams that Debian's programs exchange with the simulator, by our tables, by tshark's reading of the
capture, and by what the programs themselves say."""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

from simulator import BINARY, Subnet, example, needs_simulator, wait_for

LIBRARY = pathlib.Path(BINARY).parent / "librdmascope-trace.so"
TRACER = pathlib.Path(__file__).resolve().parents[1] / "trace"
sys.path.insert(0, str(TRACER))
from trace_file import Trace  # noqa: E402

MAD, MAD_BYTES = 10, 11
SENT, RECEIVED, RETURNED = 1, 2, 3
GET, GET_RESP, GET_TABLE = "0x01", "0x81", "0x12"
SUBNET, ADMINISTRATION, DIRECTED = "0x01", "0x03", "0x81"


# Threads send at the same time, while the process forks. The functions are looked up where the dynamic linker looks
# first, and libibumad is loaded late, for itself alone.
THREADS = r"""
import ctypes, os, struct, sys, threading
threads, each, lid = (int(word) for word in sys.argv[1:])
ctypes.CDLL("libibumad.so.3")
umad = ctypes.CDLL(None)
umad.umad_get_mad.restype = ctypes.c_void_p
umad.umad_size.restype = ctypes.c_size_t
assert umad.umad_init() == 0
port = umad.umad_open_port(None, 0)
assert port >= 0, port
agent = umad.umad_register(port, 1, 1, 0, None)
assert agent >= 0, agent
size = umad.umad_size() + 256
def send(thread):
    for i in range(each):
        buffer = ctypes.create_string_buffer(size)
        mad = struct.pack(">BBBBHHQHHI", 1, 1, 1, 1, 0, 0, thread * 1000 + i + 1, 0x11, 0, 0)
        ctypes.memmove(umad.umad_get_mad(buffer), mad, len(mad))
        umad.umad_set_addr(buffer, lid, 0, 0, 0)
        assert umad.umad_send(port, agent, buffer, 256, 1000, 3) == 0
        if i % 10 == 0 and os.fork() == 0:
            os._exit(0)
workers = [threading.Thread(target=send, args=(i,)) for i in range(threads)]
for one in workers: one.start()
answers = 0
for _ in range(threads * each):
    buffer = ctypes.create_string_buffer(size)
    length = ctypes.c_int(256)
    assert umad.umad_recv(port, buffer, ctypes.byref(length), 5000) >= 0
    answers += umad.umad_status(buffer) == 0
for one in workers: one.join()
print(answers)
"""


def tables(text):
    """The rows of our tables: {(part, "SubnGet(NodeInfo)"): {column: text}}."""
    rows, part, columns = {}, None, []
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] in ("asked", "answered", "sent", "received"):
            part, columns = cells[0], cells[1:]
        elif part and line.startswith("  "):
            rows[part, cells[0]] = dict(zip(columns, cells[1:]))
        else:
            part = None
    return rows


def fields(path, *names):
    """What tshark reads of each packet."""
    options = [word for name in names for word in ("-e", name)]
    result = subprocess.run(["tshark", "-n", "-r", str(path), "-T", "fields", *options], capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in result.stdout.splitlines()]


@needs_simulator
@unittest.skipUnless(LIBRARY.exists() and shutil.which("tshark"), "the interposer or tshark is missing")
class Traced(Subnet):
    def setUp(self):
        super().setUp()
        self.simulator = self.simulate(example("net.2sw2path4hca"))
        rings = self.folder / "rings"
        rings.mkdir()
        os.environ["RDMASCOPE_TRACE_DIR"] = str(rings)
        self.addCleanup(os.environ.pop, "RDMASCOPE_TRACE_DIR")
        self.capture = self.folder / "mads.pcapng"

    def trace(self, *command, options=(), host="Hca2"):
        result = self.simulator.run(BINARY, "run", "--mads", self.capture, *options, "--", *command, host=host)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def own_lids(self, host):
        """The LIDs of a host's ports, as its system says."""
        return {int(lid, 0) for lid in re.findall(r"Base lid: *(\w+)", self.simulator.output_of("ibstat", host=host))}

    def test_discovery_is_as_tshark_counts_it_and_prints_the_same(self):
        self.simulator.start_manager("Hca1")
        plain = self.simulator.output_of("ibnetdiscover", host="Hca2")
        result = self.trace("ibnetdiscover", options=("--trace", self.folder / "trace"))
        without_time = [re.sub(r"(?m)^# Topology file.*$", "", text) for text in (plain, result.stdout)]
        self.assertEqual(*without_time)
        seen = fields(self.capture, "infiniband.mad.method", "infiniband.mad.mgmtclass", "infiniband.mad.attributeid",
                      "infiniband.lrh.dlid", "infiniband.bth.destqp")
        self.assertEqual({(one[1], one[4]) for one in seen}, {(DIRECTED, "0x000000")})
        asked = collections.Counter(one[2] for one in seen if one[0] == GET)
        ours = tables(result.stderr)
        names = {"0x0010": "NodeDescription", "0x0011": "NodeInfo", "0x0012": "SwitchInfo", "0x0015": "PortInfo"}
        self.assertEqual({("asked", f"SubnGet({names[one]})"): str(count) for one, count in asked.items()},
                         {row: cells["count"] for row, cells in ours.items()})
        # One NodeDescription for each node: four adapters and two switches stand in the net's file.
        self.assertEqual(asked["0x0010"], 6)
        for row, cells in ours.items():
            self.assertEqual((cells["repeats"], cells["given up"], cells["open"], cells["errors"]), ("0", "0", "0", "0"), row)
        # The trace, read by the description of its format.
        trace = Trace(self.folder / "trace")
        self.assertTrue(trace.complete)
        events = collections.Counter(one.rest[0] for one in trace.of(MAD))
        self.assertEqual(events, {SENT: sum(asked.values()), RECEIVED: sum(one[0] == GET_RESP for one in seen)})
        # 256 bytes, 40 in a record.
        self.assertEqual(len(trace.of(MAD_BYTES)), 7 * len(trace.of(MAD)))

    def test_lids_and_names_of_ports_are_those_of_the_system(self):
        self.simulator.start_manager("Hca1")
        document = self.read(self.simulator, host="Hca2")
        lids = {node["name"]: node["lid"] for node in document["nodes"]}
        self.trace("smpquery", "nodeinfo", lids["Hca3"])
        seen = fields(self.capture, "infiniband.mad.method", "infiniband.lrh.slid", "infiniband.lrh.dlid", "frame.interface_name")
        self.assertEqual([one[0] for one in seen], [GET, GET_RESP])
        requests, answers = seen
        self.assertEqual(int(requests[2], 0), lids["Hca3"])
        self.assertEqual((requests[1], requests[2]), (answers[2], answers[1]))
        self.assertIn(int(requests[1], 0), self.own_lids("Hca2"))
        self.assertRegex(requests[3], r"^\w+:[12]$")

    def test_administration_is_asked_by_one_and_answered_by_the_other(self):
        # opensm itself is traced: it answers what saquery asks, while the tables of the two are made apart.
        managers = self.folder / "manager.pcapng"
        log = self.folder / "opensm.log"
        environment = {**self.simulator.environment("Hca1", preload=True)}
        with open(self.folder / "manager.err", "wb") as errors:
            manager = subprocess.Popen([BINARY, "run", "--mads", managers, "--", "opensm", "-e", "-f", log, "-p", "1", "-d", "2", "-s", "0"],
                                       env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=self.folder)
        try:
            wait_for(lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"), "opensm is ready")
            for _ in range(3):
                asked = self.trace("saquery", "-N")
        finally:
            manager.send_signal(signal.SIGTERM)
            manager.wait(timeout=60)
        ours = tables(asked.stderr)
        self.assertEqual(ours["asked", "SubnAdmGetTable(NodeRecord)"]["count"], "1")
        self.assertEqual(ours["asked", "SubnAdmGetTable(NodeRecord)"]["to"], "lid 1")
        report = (self.folder / "manager.err").read_text()
        theirs = tables(report)
        self.assertEqual(theirs["answered", "SubnAdmGetTable(NodeRecord)"]["count"], "3", report)
        self.assertEqual(theirs["answered", "SubnAdmGetTable(NodeRecord)"]["open"], "0", report)
        # What the manager set on each port, by tshark: a LID for each of the nodes, at least once.
        seen = fields(managers, "infiniband.mad.method", "infiniband.mad.mgmtclass", "infiniband.mad.attributeid", "_ws.malformed")
        sets = collections.Counter(one[2] for one in seen if one[0] == "0x02")
        self.assertEqual(theirs["asked", "SubnSet(PortInfo)"]["count"], str(sets["0x0015"]))
        self.assertEqual([one for one in seen if one[3]], [])
        # opensm hands each table to libibumad in one piece; its own file has a line for each port with a LID, which is a
        # record of 112 bytes (108, and attributes begin at multiples of 8).
        records = sum(bool(line.strip()) for line in (self.folder / "guid2lid").read_text().splitlines())
        data = 112 * records
        segments = -(-data // 200)
        self.assertGreater(segments, 1)
        rmpp = fields(managers, "infiniband.mad.method", "infiniband.mad.attributeid", "infiniband.rmpp.segmentnumber",
                      "infiniband.rmpp.payloadlength", "infiniband.rmpp.rmppflags", "infiniband.rmpp.rmpptype")
        answers = [[int(cell, 0) for cell in one[2:]] for one in rmpp if one[:2] == ("0x92", "0x0011")]
        first, last = data + 20 * segments, data - 200 * (segments - 1) + 20
        expected = [[i + 1, first if i == 0 else last if i + 1 == segments else 0, 1 | (i == 0) << 1 | (i + 1 == segments) << 2, 1]
                    for i in range(segments)]
        self.assertEqual(answers, expected * 3)

    def test_each_process_has_its_own_tables(self):
        self.simulator.start_manager("Hca1")
        shell = "smpquery nodeinfo 1 & smpquery portinfo 1 1; wait; smpquery nodedesc 1"
        result = self.trace("sh", "-c", shell)
        parts = result.stderr.split("management datagrams of process ")[1:]
        self.assertEqual(len({part.split(":")[0] for part in parts}), 3, result.stderr)
        found = {part.split(":", 1)[1].split("\n")[0].strip(): tables(part) for part in parts}
        for command, attribute in (("nodeinfo 1", "NodeInfo"), ("portinfo 1 1", "PortInfo"), ("nodedesc 1", "NodeDescription")):
            rows = found[f"smpquery {command}"]
            self.assertEqual(rows["asked", f"SubnGet({attribute})"]["count"], "1", rows)

    def test_threads_that_fork(self):
        self.simulator.start_manager("Hca1")
        result = self.trace(sys.executable, "-c", THREADS, 4, 50, 1)
        self.assertEqual(result.stdout, "200\n", result.stderr)
        cells = tables(result.stderr)["asked", "SubnGet(NodeInfo)"]
        self.assertEqual((cells["count"], cells["open"], cells["to"]), ("200", "0", "lid 1"))
        sent = fields(self.capture, "infiniband.mad.method", "infiniband.mad.transactionid")
        self.assertEqual(len({int(one[1], 0) & 0xffffffff for one in sent if one[0] == GET}), 200)
        self.assertEqual(len(sent), 400)

    def test_no_answer_is_counted(self):
        # No node has LID 77. libibmad asks again with the same identifier, three times altogether by default.
        self.simulator.start_manager("Hca1")
        result = self.simulator.run(BINARY, "run", "--mads", self.capture, "--", "smpquery", "-t", "100", "nodeinfo", "77", host="Hca2")
        self.assertNotEqual(result.returncode, 0)
        cells = tables(result.stderr)["asked", "SubnGet(NodeInfo)"]
        sent = fields(self.capture, "infiniband.mad.method", "infiniband.mad.transactionid")
        self.assertEqual({one[0] for one in sent}, {GET})
        self.assertEqual(int(cells["count"]), len({one[1] for one in sent}))
        self.assertEqual(int(cells["count"]) + int(cells["repeats"]), len(sent))
        self.assertEqual(int(cells["given up"]) + int(cells["open"]), int(cells["count"]))
        self.assertEqual(cells["median"], "-")

    def test_our_dump_verifies_what_was_made(self):
        self.simulator.start_manager("Hca1")
        self.trace("perfquery", "-x", "1", "1")
        lines = self.succeeds(subprocess.run([BINARY, "dump", "-n", "-r", str(self.capture)], capture_output=True, text=True, check=False))
        self.assertIn("PerfGet(PortCountersExtended)", lines)
        self.assertIn("PerfGetResp(PortCountersExtended)", lines)
        for word in ("bad", "malformed", "truncated"):
            self.assertNotIn(word, lines)
        crc = self.succeeds(subprocess.run([BINARY, "dump", "-n", "-r", str(self.capture), "-V"], capture_output=True, text=True, check=False))
        self.assertNotRegex(crc, r"(?i)crc.*bad")

    def test_the_program_runs_where_nothing_can_be_written(self):
        self.simulator.start_manager("Hca1")
        plain = self.simulator.run("smpquery", "nodeinfo", "1", host="Hca2")
        with self.subTest("the capture's disk is full"):
            self.assertTrue(pathlib.Path("/dev/full").exists())
            result = self.simulator.run(BINARY, "run", "--mads", "/dev/full", "--", "smpquery", "nodeinfo", "1", host="Hca2")
            self.assertEqual(result.stdout, plain.stdout, result.stderr)
            self.assertEqual(result.returncode, 1)
            self.assertIn("/dev/full", result.stderr)
        with self.subTest("there is no room for a ring"):
            command = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", BINARY, "run", "--", "smpquery", "nodeinfo", "1"]
            result = self.simulator.run(*command, host="Hca2")
            self.assertEqual(result.stdout, plain.stdout, result.stderr)
            self.assertIn("is not traced", result.stderr)


if __name__ == "__main__":
    unittest.main()
