"""`rdmascope replay` between endpoints: what was captured of the re-enactment, held against what the packets of the original
say, as a reader of opcodes finds it there, and against what the applications said that they did."""
import collections
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest
import zlib

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump, run, run_unprivileged

# Without loss, damage or errors, and with both directions. What the fields of a transport call the ends of operations.
CLEAN = ["nfs-rdma-rxe", "nfs-rdma-siw", "rds-rxe", "rxe-atomic-fetchadd-bw", "rxe-fi-pingpong", "rxe-qperf", "rxe-rc-pingpong",
         "rxe-read-bw-4k", "rxe-read-bw-64", "rxe-read-bw-64k", "rxe-read-lat-64", "rxe-rping", "rxe-rstream", "rxe-send-bw-4k",
         "rxe-send-bw-64", "rxe-send-bw-64k", "rxe-send-bw-64k-mtu4096", "rxe-send-lat-64", "rxe-srq-pingpong",
         "rxe-trace-rping", "rxe-trace-write-bw", "rxe-uc-pingpong", "rxe-ucmatose", "rxe-ud-pingpong", "rxe-ud-send-lat-64",
         "rxe-verbs-atomic", "rxe-verbs-fence", "rxe-verbs-imm", "rxe-verbs-inv", "rxe-verbs-mix", "rxe-write-bw-4k",
         "rxe-write-bw-4k-ipv6", "rxe-write-bw-64", "rxe-write-bw-64k", "rxe-write-bw-64k-mtu4096", "iser-rxe",
         "nvme-rdma-rxe", "srp-rxe", "smbdirect-rxe", "smbdirect-siw", "siw-read-bw-4k-crc", "siw-read-bw-64k-crc",
         "siw-read-lat-64-crc", "siw-rping-crc", "siw-rping-nocrc", "siw-rping-p2p", "siw-send-bw-64-crc",
         "siw-send-bw-64k-crc", "siw-send-bw-64k-jumbo-crc", "siw-send-lat-64-crc", "siw-trace-rping", "siw-trace-write-bw",
         "siw-ucmatose", "siw-verbs-fence", "siw-verbs-mix", "siw-verbs-send", "siw-verbs-sizes", "siw-verbs-srq",
         "siw-write-bw-4k-crc", "siw-write-bw-64-crc", "siw-write-bw-64-nocrc", "siw-write-bw-64k-crc",
         "siw-write-bw-64k-nocrc", "siw-write-bw-bidir-4k-nocrc", "siw-gso-tcpdump-A"]

# Lower five bits of BTH's opcode, of packets that end a message: IBTA vol. 1, table 38.
ROCE_ENDS = {2: ["send"], 3: ["send", "immediate"], 4: ["send"], 5: ["send", "immediate"], 8: ["write"],
             9: ["write", "immediate"], 10: ["write"], 11: ["write", "immediate"], 12: ["read"], 19: ["compare_swap"],
             20: ["fetch_add"], 22: ["send_invalidate"], 23: ["send_invalidate"]}
# RFC 5040, 4.1, and RFC 7306, 4.
IWARP_ENDS = {0: "write", 1: "read", 3: "send", 4: "send_invalidate", 5: "send", 6: "send_invalidate", 8: "immediate",
              9: "immediate"}
# Of RC's packets that begin a message without Immediate Data.
ROCE_BEGINS = {0, 4, 6, 10, 12, 19, 20, 23}
# A few seconds each: request and answer, twenty milliseconds apart, a file system.
TIMED = ["siw-trace-rping", "rxe-trace-rping", "siw-delay20ms-write-lat", "rxe-delay20ms-write-lat", "nfs-rdma-siw"]
ATOMICS = {0: "fetch_add", 1: "compare_swap", 2: "compare_swap"}  # RFC 7306, 5.2.1


def catches_interrupts(process):
    """Whether the process has begun so far that SIGINT does not just end it; one that has ended, too."""
    if process.poll() is not None:
        return True
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1 == 1


def capture_of(name):
    plain = PCAPS / f"{name}.pcap"
    return plain if plain.exists() else PCAPS / f"{name}.pcap.gz"


def replay(*arguments, **options):
    return run("replay", *arguments, **options)


def fields(path, names, *more):
    arguments = [word for name in names for word in ("-e", name)]
    text = dump("-r", path, "-n", "-T", "fields", *arguments, *more).stdout
    return [line.split("\t") for line in text.splitlines()]


def values(text):
    return [int(word, 0) if not word.startswith("T") and not word.startswith("F") else int(word == "True")
            for word in text.split(",") if word]


def roce_order(path):
    """By (source address, destination address, destination QPN): what the packets that end messages are."""
    order = collections.defaultdict(list)
    seen = set()
    names = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn"]
    for source, destination, source6, destination6, qp, opcode, psn in fields(path, names, "-Y", "infiniband.bth"):
        if not qp or int(qp, 0) <= 1 or int(opcode, 0) & 0xe0 not in (0, 0x20, 0x60):
            continue
        key = source or source6, destination or destination6, int(qp, 0)
        ends = ROCE_ENDS.get(int(opcode, 0) & 31)
        if ends and (key, psn) not in seen:  # what is sent again, as rxe does when it is late, is one operation
            seen.add((key, psn))
            order[key] += ends
    return order


def iwarp_order(path):
    """By (source port, destination port): what the FPDUs that end messages are."""
    order = collections.defaultdict(list)
    names = ["tcp.srcport", "tcp.dstport", "iwarp_ddp.last_flag", "iwarp_rdma.opcode", "iwarp_rdma.atomic.opcode"]
    for source, destination, last, opcodes, atomics in fields(path, names, "-Y", "iwarp_rdma"):
        kinds = iter(values(atomics))
        for ends, opcode in zip(values(last), values(opcodes)):
            if opcode == 10:
                order[int(source), int(destination)].append(ATOMICS[next(kinds)])
            elif ends and opcode in IWARP_ENDS:
                order[int(source), int(destination)].append(IWARP_ENDS[opcode])
    return order


def expected_operations(flow):
    """What RoCE's Send with Immediate becomes."""
    messages = {name: dict(sum_) for name, sum_ in flow["messages"].items() if sum_["count"]}
    if flow["transport"] != "iwarp" and "send_immediate" in messages:
        immediate = messages["send_immediate"]
        send = messages.setdefault("send", {"count": 0, "bytes": 0})
        send["count"] += immediate["count"]
        send["bytes"] += immediate["bytes"]
        immediate["bytes"] = 0
    return messages


def flows_of(path):
    return {flow["id"]: flow for flow in json.loads(run("flows", "--json", "-n", "-r", path).stdout)["flows"]}


def may_capture():
    return "--compare" not in replay(capture_of("rxe-ucmatose"), "--loopback", "--speed", "max", "--compare").stderr


class Compared(TestCase):
    @classmethod
    def setUpClass(cls):
        if not may_capture():
            raise unittest.SkipTest("the loopback interface may not be captured here")

    def test_the_original_is_shown_as_in_flows(self):
        """One flow has one goodput and one name of a state, whichever command prints them."""
        path = capture_of("rxe-rping")
        table = self.succeeds(run("flows", "-n", "-r", path, "--columns", "id,goodput,top_state")).splitlines()[1:]
        flows = {identifier: rest for identifier, *rest in (line.split() for line in table)}
        page = self.succeeds(replay(path, "--loopback", "--speed", "max", "--compare"))
        captured = {identifier: (goodput, *state) for identifier, goodput, *state in re.findall(
            r"^ *(\d+)  captured +\d+ +\d+ +(\S+) .* (\S+) (\S+)$", page, re.MULTILINE)}
        self.assertGreater(len(captured), 1)
        for identifier, cells in captured.items():
            self.assertEqual(list(cells), flows[identifier], identifier)

    def compared(self, path, *arguments, **options):
        kept = self.folder / "kept.pcapng"
        text = self.succeeds(replay(path, "--loopback", "--compare", "--save", kept, "--json", *arguments, **options))
        return json.loads(text), kept

    def order_of_original(self, path, flow):
        if flow["transport"] == "iwarp":
            return iwarp_order(path)[flow["source"]["port"], flow["destination"]["port"]]
        return roce_order(path)[flow["source"]["address"], flow["destination"]["address"], flow["destination"]["qpn"]]

    def test_clean_captures_have_the_same_operations_sizes_and_order(self):
        for name in CLEAN:
            with self.subTest(capture=name):
                path = capture_of(name)
                told, kept = self.compared(path, "--speed", "max")
                original, replayed = flows_of(path), flows_of(kept)
                busy = [flow for flow in original.values() if expected_operations(flow)]
                self.assertGreater(len(busy), 0)
                pairs = {flow["original"]["id"]: flow["replay"]["id"] for flow in told["comparison"]["flows"]}
                self.assertEqual(sorted(pairs), sorted(flow["id"] for flow in busy))
                orders = iwarp_order(kept)
                for flow in busy:
                    again = replayed[pairs[flow["id"]]]
                    self.assertEqual({kind: sum_ for kind, sum_ in again["messages"].items() if sum_["count"]},
                                     expected_operations(flow))
                    order = self.order_of_original(path, flow)
                    self.assertGreater(len(order), 0)
                    self.assertEqual(orders[again["source"]["port"], again["destination"]["port"]], order)
                self.assertTrue(told["comparison"]["equal"])

    def test_rping_does_what_its_command_lines_say(self):
        for name in ("rxe-rping", "siw-rping-crc"):
            commands = json.loads((PCAPS / f"{name}.json").read_text())["commands"]
            clients = [re.search(r"rping -c .*-C (\d+) -S (\d+)", command["cmd"]) for command in commands]
            pings = [(int(found[1]), int(found[2])) for found in clients if found]
            self.assertGreater(len(pings), 2)
            told, _ = self.compared(capture_of(name), "--speed", "max")
            sums = collections.Counter()
            for flow in told["comparison"]["flows"]:
                for kind, done in flow["replay"]["operations"].items():
                    sums[kind, "count"] += done["count"]
                    sums[kind, "bytes"] += done["bytes"]
            # Each ping is read by the server, and written back. RFC 5040 has no more to it.
            for kind in ("read", "write"):
                self.assertEqual(sums[kind, "count"], sum(count for count, _ in pings))
                self.assertEqual(sums[kind, "bytes"], sum(count * size for count, size in pings))

    def test_the_gaps_are_the_captured_ones(self):
        for attempt in range(3):
            gaps = [gap for name in TIMED for gap in self.gaps(capture_of(name))]
            self.assertGreater(len(gaps), 400)
            wrong = [(before, after) for before, after in gaps if abs(after - before) > max(0.001, 0.05 * before)]
            if len(wrong) <= 0.05 * len(gaps):
                return
        self.fail(f"{len(wrong)} of {len(gaps)} gaps differ by more than 1 ms and 5 %: {wrong[:5]}")

    def gaps(self, path):
        """Between the beginnings of a flow's operations, as captured and as re-enacted, in seconds."""
        told, kept = self.compared(path, "--speed", "1", preexec_fn=before_others)
        original, replayed = flows_of(path), flows_of(kept)
        after = iwarp_begins(kept)
        gaps = []
        for pair in told["comparison"]["flows"]:
            one, other = original[pair["original"]["id"]], replayed[pair["replay"]["id"]]
            if one["transport"] == "iwarp":
                times = iwarp_begins(path)[one["source"]["port"], one["destination"]["port"]]
            else:
                times = roce_begins(path)[one["source"]["address"], one["destination"]["address"], one["destination"]["qpn"]]
            again = after[other["source"]["port"], other["destination"]["port"]]
            self.assertEqual(len(times), len(again))
            gaps += [(b - a, d - c) for a, b, c, d in zip(times, times[1:], again, again[1:])]
        return gaps


def before_others():
    """A machine that others use is late. Who may not go before them is measured as he is."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        pass


def iwarp_begins(path):
    """By ports: when the first FPDU of each operation passed."""
    out = collections.defaultdict(list)
    inside = collections.defaultdict(bool)
    names = ["frame.time_epoch", "tcp.srcport", "tcp.dstport", "iwarp_ddp.last_flag", "iwarp_rdma.opcode"]
    for time, source, destination, last, opcodes in fields(path, names, "-Y", "iwarp_rdma"):
        key = int(source), int(destination)
        for ends, opcode in zip(values(last), values(opcodes)):
            if opcode not in IWARP_ENDS:
                continue
            if not inside[key]:
                out[key].append(float(time))
            inside[key] = not ends
    return out


def roce_begins(path):
    """Also, by addresses and destination QPN; of what was sent again, the first time."""
    out = collections.defaultdict(list)
    seen = set()
    names = ["frame.time_epoch", "ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn"]
    for time, source, destination, qp, opcode, psn in fields(path, names, "-Y", "infiniband.bth"):
        key = source, destination, int(qp or "0", 0)
        if key[2] > 1 and int(opcode, 0) in ROCE_BEGINS and (key, psn) not in seen:
            seen.add((key, psn))
            out[key].append(float(time))
    return out


def tshark_fields(path, names, *more):
    arguments = [word for name in names for word in ("-e", name)]
    text = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", *arguments, *more], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    return [line.split("\t") for line in text.splitlines()]


def sha(octets):
    return hashlib.sha256(octets).hexdigest()[:16], len(octets)


def roce_payloads(path):
    """By (source, destination QPN): the octets of each Send and Write of RC, in their order, as tshark cuts the packets up."""
    out = collections.defaultdict(list)
    parts = collections.defaultdict(bytes)
    seen = set()
    names = ["ip.src", "infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.padcnt",
             "udp.payload"]
    extended = {**dict.fromkeys((6, 10), 16), **dict.fromkeys((3, 5, 9, 22, 23), 4), 11: 20}  # RETH, ImmDt, IETH: IBTA 9.2
    for source, qp, opcode, psn, pad, octets in tshark_fields(path, names, "-Y", "infiniband.bth"):
        key, code = (source, int(qp, 0)), int(opcode, 0)
        if key[1] <= 1 or code not in (*range(12), 22, 23) or (key, psn) in seen:
            continue
        seen.add((key, psn))
        packet = bytes.fromhex(octets)
        parts[key] += packet[12 + extended.get(code, 0): len(packet) - 4 - int(pad, 0)]
        if code in ROCE_ENDS:
            out[key].append(sha(parts.pop(key)))
    return {key: messages for key, messages in out.items() if any(size for _, size in messages)}


def iwarp_payloads(path):
    """By (source address and port, destination port): also of an iWARP capture whose segments all came in order. MPA and DDP
    are cut up here: RFC 5044, 4; RFC 5041, 4. tshark gives the octets of TCP."""
    streams = collections.defaultdict(dict)
    first = {}
    names = ["ip.src", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.flags.syn", "tcp.payload"]
    for source, sender, receiver, sequence, syn, octets in tshark_fields(path, names, "-Y", "tcp"):
        key = source, int(sender), int(receiver)
        if syn in ("1", "True"):
            first[key] = int(sequence) + 1
        elif octets:
            streams[key].setdefault((int(sequence) - first[key]) % (1 << 32), bytes.fromhex(octets))
    out = {}
    for key, segments in streams.items():
        stream = b""
        for at, octets in sorted(segments.items()):
            assert at <= len(stream), "a segment is missing"
            stream += octets[len(stream) - at:]
        if stream[:12] != b"MPA ID Req F" and stream[:12] != b"MPA ID Rep F":
            continue
        assert not stream[16] & 0x80, "markers"
        at = 20 + int.from_bytes(stream[18:20], "big")
        messages = []
        parts = {True: b"", False: b""}
        while at + 2 <= len(stream):
            size = int.from_bytes(stream[at:at + 2], "big")
            ulpdu = stream[at + 2:at + 2 + size]
            at += (size + 2 + 3) // 4 * 4 + 4
            tagged, last, opcode = ulpdu[0] >> 7 == 1, ulpdu[0] & 0x40, ulpdu[1] & 15
            if opcode not in (0, 3, 4, 5, 6):
                continue
            parts[tagged] += ulpdu[14 if tagged else 18:]
            if last:
                messages.append(sha(parts[tagged]))
                parts[tagged] = b""
        if any(size for _, size in messages):
            out[key] = messages
    return out


class CapturedPayload(TestCase):
    """What the re-enactment's capture holds, cut up by another reader, is what the original's holds."""

    def kept(self, path, *arguments):
        if not shutil.which("tshark") or not may_capture():
            self.skipTest("tshark is required, and the right to capture")
        kept = self.folder / "kept.pcapng"
        told = json.loads(self.succeeds(replay(path, "--loopback", "--speed", "max", "--compare", "--save", kept, "--json",
                                               *arguments)))
        return told, kept

    def same(self, name, reader):
        told, kept = self.kept(capture_of(name), "--payload", "captured")
        original = reader(capture_of(name))
        # The connection on which the ends speak about it has messages of its own, each with RRP1 in front: not of the original.
        again = iwarp_payloads(kept)
        self.assertGreater(sum(len(messages) for messages in original.values()), 0)
        for key, messages in original.items():
            self.assertIn(messages, list(again.values()), f"{name}: {key}")
        for flow in told["flows"]:
            self.assertEqual(flow["payload"]["captured"], flow["payload"]["of"], f"{name}: {flow}")
        self.assertEqual(sum(flow["payload"]["of"] for flow in told["flows"]),
                         sum(1 for messages in original.values() for _, size in messages if size))
        return kept, original

    def test_iwarp(self):
        for name in ("siw-verbs-sizes", "siw-rping-crc", "smbdirect-siw", "siw-verbs-send"):
            with self.subTest(capture=name):
                self.same(name, iwarp_payloads)

    def test_roce(self):
        for name in ("rxe-rping", "smbdirect-rxe", "rxe-verbs-inv", "rxe-send-bw-64k"):
            with self.subTest(capture=name):
                self.same(name, roce_payloads)

    def test_the_pattern_is_the_default(self):
        told, kept = self.kept(capture_of("smbdirect-rxe"))
        self.assertEqual({flow["payload"] for flow in told["flows"]}, {None})
        again = {message for messages in iwarp_payloads(kept).values() for message in messages}
        original = {message for messages in roce_payloads(capture_of("smbdirect-rxe")).values() for message in messages}
        self.assertFalse(again & original)

    def test_what_was_cut_has_the_pattern(self):
        # 96 octets of each frame. Whole is at most what has so little payload.
        for name, room in (("made-snap96-iwarp", 96 - 14 - 20 - 20 - 2 - 14), ("made-snap96-roce", 96 - 14 - 20 - 8 - 12)):
            with self.subTest(capture=name):
                path = capture_of(name)
                text = self.succeeds(replay(path, "--loopback", "--speed", "max", "--json", "--payload", "captured"))
                flows = json.loads(text)["flows"]
                sizes = {flow["id"]: flow["message_bytes"] for flow in flows_of(path).values()}
                self.assertGreater(sum(flow["payload"]["of"] for flow in flows), 0)
                for flow in flows:
                    if sizes[flow["id"]]["min"] > room:
                        self.assertEqual(flow["payload"]["captured"], 0, flow)
                self.assertLess(sum(flow["payload"]["captured"] for flow in flows),
                                sum(flow["payload"]["of"] for flow in flows))


class Endpoints(TestCase):
    def result(self, *arguments, **options):
        return json.loads(self.succeeds(replay(*arguments, "--json", **options)))

    def test_a_hundred_flows_at_once(self):
        # One connection with 100 Sends of 1000 octets each way (ibv_rc_pingpong -n 100 -s 1000), fiftyfold.
        told = self.result(capture_of("rxe-rc-pingpong"), "--loopback", "--speed", "max", "--copies", 50)
        self.assertEqual([flow["copies"] for flow in told["flows"]], [50, 50])
        self.assertEqual([flow["operations"] for flow in told["flows"]],
                         [{"send": {"count": 5000, "bytes": 5_000_000}}] * 2)

    def test_it_is_repeated(self):
        once = self.result(capture_of("rxe-trace-rping"), "--loopback", "--speed", "max")
        thrice = self.result(capture_of("rxe-trace-rping"), "--loopback", "--speed", "max", "--loop", 3)
        for one, three in zip(once["flows"], thrice["flows"], strict=True):
            for kind, sum_ in one["operations"].items():
                self.assertEqual(three["operations"][kind], {key: 3 * value for key, value in sum_.items()})

    def test_one_flow_and_its_reverse(self):
        told = self.result(capture_of("rxe-rping"), "--loopback", "--speed", "max", "--flow", 195)
        self.assertEqual([flow["id"] for flow in told["flows"]], [194, 195])

    def test_twice_as_fast_takes_half_the_time(self):
        path = capture_of("rxe-trace-rping")
        span = json.loads(run("flows", "--json", "-r", path).stdout)["capture"]
        seconds = (span["last_ns"] - span["first_ns"]) / 1e9
        told = self.result(path, "--loopback", "--speed", 2)
        self.assertLess(told["seconds"], 0.5 * seconds + 0.5)
        self.assertGreater(told["seconds"], 0.3 * seconds)

    def serving(self, *arguments):
        process = subprocess.Popen([BINARY, "replay", *map(str, arguments), "--serve", "127.0.0.1:0"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        return process, re.search(r"at (\S+:\d+)", process.stderr.readline())[1]

    def test_what_is_put_in_the_way_takes_its_time(self):
        # Ten pings of rping, each several messages there and back, one after the other.
        path = capture_of("siw-trace-rping")
        plain = self.result(path, "--loopback", "--speed", "max")
        delayed = self.result(path, "--loopback", "--speed", "max", "--delay", 5)
        self.assertEqual([flow["operations"] for flow in delayed["flows"]],
                         [flow["operations"] for flow in plain["flows"]])
        # Of 10 Sends of one side, each but the first follows something of the other: ten ways there and back.
        self.assertGreater(delayed["seconds"], 10 * 2 * 0.005)
        self.assertLess(plain["seconds"], delayed["seconds"])

    def test_corruption_is_found_by_the_crc(self):
        message = self.fails(replay(capture_of("siw-send-bw-64k-crc"), "--loopback", "--speed", "max", "--corrupt", "5%"))
        self.assertRegex(message, r"(?i)crc|connection|terminate")

    def test_who_may_not_capture_has_the_stack_s_word(self):
        result = run_unprivileged("replay", capture_of("rxe-trace-rping"), "--loopback", "--speed", "max", "--compare", "--json")
        told = json.loads(self.succeeds(result))["comparison"]
        self.assertIn("the stack's own tap", told["source"])
        self.assertTrue(told["equal"])
        original = flows_of(capture_of("rxe-trace-rping"))
        for flow in told["flows"]:
            self.assertEqual({kind: {"count": sum_["count"], "bytes": sum_["bytes"]}
                              for kind, sum_ in flow["replay"]["operations"].items()},
                             {kind: {"count": sum_["count"], "bytes": sum_["bytes"]}
                              for kind, sum_ in expected_operations(original[flow["original"]["id"]]).items()})

    def test_between_two_processes(self):
        path = capture_of("rxe-trace-rping")
        server, address = self.serving(path, "--json")
        client = self.result(path, "--to", address, "--speed", "max", "--loop", 2)
        output, errors = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0, errors)
        both = {flow["id"]: flow["operations"] for told in (client, json.loads(output)) for flow in told["flows"]}
        alone = self.result(path, "--loopback", "--speed", "max", "--loop", 2)
        self.assertEqual(both, {flow["id"]: flow["operations"] for flow in alone["flows"]})

    def test_another_capture_is_refused(self):
        _, address = self.serving(capture_of("rxe-trace-rping"))
        message = self.fails(replay(capture_of("siw-trace-rping"), "--to", address))
        self.assertIn("the capture here is another one", message)

    def test_nobody_listens(self):
        result = replay(capture_of("rxe-trace-rping"), "--to", "127.0.0.1:1")
        self.assertEqual(self.fails(result), "rdmascope replay: cannot connect to 127.0.0.1:1: Connection refused by 127.0.0.1:1; "
                                             "is `rdmascope replay --serve` of this capture running there?\n")
        self.assertEqual(result.stdout, "", "nothing happened, and there is no table of it")
        told = json.loads(replay(capture_of("rxe-trace-rping"), "--to", "127.0.0.1:1", "--json").stdout)
        self.assertEqual(told["seconds"], 0)
        self.assertIn("127.0.0.1:1", told["error"])

    def test_somebody_else_listens(self):
        listener = subprocess.Popen([BINARY, "endpoint", "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
                                    env=ENVIRONMENT)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.terminate)
        address = listener.stdout.readline().split()[1]
        message = self.fails(replay(capture_of("rxe-trace-rping"), "--to", address))
        self.assertIn(f"{address}: what listens there is no `rdmascope replay`", message)

    def test_who_stops_it_is_not_told_of_another_end(self):
        for arguments in (["--loopback"], ["--loopback", "--json"]):
            with self.subTest(arguments=arguments):
                process = subprocess.Popen([BINARY, "replay", capture_of("siw-rping-crc"), *arguments], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
                while not catches_interrupts(process):
                    time.sleep(0.01)
                time.sleep(1)  # of nine
                process.send_signal(signal.SIGINT)
                output, errors = process.communicate(timeout=60)
                self.assertEqual((process.returncode, errors), (1, "rdmascope replay: stopped before all was done\n"))
                if "--json" in arguments:
                    self.assertEqual(json.loads(output)["error"], "stopped before all was done")
                else:
                    self.assertIn("operations, ", output)

    def test_what_fails_before_there_is_anything_has_its_object(self):
        for arguments in (["--loopback"], ["--inject", "no-such0"], ["--as", "initiator", "--to", "127.0.0.1:1"]):
            with self.subTest(arguments=arguments):
                result = replay(self.folder / "none.pcap", *arguments, "--json")
                self.assertEqual(f"rdmascope replay: {json.loads(result.stdout)['error']}\n", self.fails(result))

    def test_a_file_that_breaks_off(self):
        path = capture_of("rxe-rping")
        cut = self.folder / "cut.pcap"
        cut.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        whole = self.result(path, "--loopback", "--speed", "max")
        told = self.result(cut, "--loopback", "--speed", "max")
        self.assertTrue(any("breaks off" in note for note in told["notes"]), told["notes"])
        posted = [sum(sum_["count"] for flow in one["flows"] for sum_ in flow["operations"].values())
                  for one in (told, whole)]
        self.assertGreater(posted[0], 0)
        self.assertLess(posted[0], posted[1])

    def test_one_direction_alone(self):
        path = self.folder / "one.pcap"
        self.succeeds(dump("-r", capture_of("rxe-send-lat-64"), "-w", path, "src", "host", "192.0.2.1"))
        told = self.result(path, "--loopback", "--speed", "max")
        self.assertTrue(any("reverse was not captured" in note for note in told["notes"]), told["notes"])
        self.assertGreater(sum(sum_["count"] for flow in told["flows"] for sum_ in flow["operations"].values()), 0)

    def test_nothing_to_re_enact(self):
        self.assertIn("no RDMA operations", self.fails(replay(capture_of("siw-mpa-reject"), "--loopback")))
        self.assertIn("no flow 7", self.fails(replay(capture_of("rxe-rping"), "--loopback", "--flow", 7)))
        self.assertIn("read twice", self.fails(replay("-", "--loopback", stdin=subprocess.DEVNULL)))
        self.fails(replay(self.folder / "none.pcap", "--loopback"))

    def test_saving_over_what_is_re_enacted(self):
        path, link = self.folder / "c.pcap", self.folder / "link"
        octets = capture_of("siw-rping-crc").read_bytes()
        path.write_bytes(octets)
        link.symlink_to(path)
        for name in (path, link):
            arguments = [path, "--loopback", "--speed", "max", "--compare", "--save", name]
            self.assertIn(f"{name}: this is the file that is being read", self.fails(replay(*arguments)))
            self.assertEqual(path.read_bytes(), octets)

    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for arguments in ([], ["x"], ["x", "--loopback", "--to", "127.0.0.1:1"], ["x", "--loopback", "--speed", "0"],
                          ["x", "--loopback", "--loss", "1%"], ["x", "--as", "initiator"], ["x", "y", "--loopback"],
                          ["x", "--loopback", "--compare", "--loop", "2"], ["x", "--loopback", "--save", "z"],
                          ["x", "--loopback", "--seed", "3"], ["x", "--inject", "lo", "--copies", "2"],
                          ["x", "--loopback", "--force"], ["x", "--loopback", "--payload", "own"],
                          ["x", "--inject", "lo", "--payload", "captured"], ["x", "--inject", "lo", "--loss", "101%"]):
            with self.subTest(arguments=arguments):
                self.assertIn("help replay", self.fails(replay(*arguments), 2))


class Large(TestCase):
    """Many Sends of 4 KiB, each acknowledged, with a window of 64: about 200 MB of RoCEv2."""

    MESSAGES = 46_000
    PAYLOAD = 4096

    def write(self, path):
        def packet(source, destination, qpn, opcode, psn, more):
            destined = (0x80000000 if opcode == 4 else 0) | psn
            udp_size = 8 + 12 + len(more) + 4

            def headers(tos, ttl, checksum, reserved):
                return (struct.pack(">BBHHHBBH4s4s", 0x45, tos, 20 + udp_size, 0, 0x4000, ttl, 17, checksum, source, destination)
                        + struct.pack(">HHHH", 0xc000, 4791, udp_size, checksum)
                        + struct.pack(">BBHII", opcode, 0x40, 0xffff, reserved << 24 | qpn, destined) + more)

            # IBTA's annex A17: what routers may change counts as ones.
            icrc = zlib.crc32(b"\xff" * 8 + headers(0xff, 0xff, 0xffff, 0xff))
            return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0" + headers(0, 64, 0, 0) + struct.pack("<I", icrc)

        a, b = bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2))
        payload = bytes(self.PAYLOAD)
        with open(path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
            time = 0

            def put(octets):
                nonlocal time
                time += 2
                file.write(struct.pack("<IIII", 1_700_000_000 + time // 1_000_000, time % 1_000_000, len(octets), len(octets)))
                file.write(octets)

            for number in range(self.MESSAGES):
                put(packet(a, b, 0x12, 4, number, payload))
                if number % 64 == 63 or number == self.MESSAGES - 1:
                    put(packet(b, a, 0x11, 17, number, struct.pack(">I", 0x1f000000 | number + 1)))

    def test_memory_is_bounded(self):
        path = self.folder / "large.pcap"
        if shutil.disk_usage(self.folder).free < 1 << 30:
            self.skipTest("no room for a large file")
        self.write(path)
        size = path.stat().st_size
        self.assertGreater(size, 190_000_000)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        text = self.succeeds(replay(path, "--loopback", "--speed", "max", "--json", timeout=400))
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        sums = [flow["operations"] for flow in json.loads(text)["flows"]]
        self.assertEqual(sums, [{"send": {"count": self.MESSAGES, "bytes": self.MESSAGES * self.PAYLOAD}}])
        if before * 1024 < most:  # else another child was larger
            self.assertLess(most, 128 << 20)


if __name__ == "__main__":
    unittest.main()
