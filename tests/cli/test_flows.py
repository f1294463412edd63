"""Whole runs of `flows`: usage, forms, order, intervals; what it says is what the applications said next to the capture."""
import collections
import contextlib
import csv
import datetime
import decimal
import fcntl
import gzip
import io
import itertools
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, compressed_captures, plain_captures, run, wait_for_reader

WRITE = PCAPS / "rxe-write-bw-64k.pcap"
TCP = PCAPS / "siw-loss1pct-send-bw.pcap"
OPERATIONS = ("send", "send_immediate", "send_invalidate", "write", "write_immediate", "read", "fetch_add", "compare_swap")
STATISTICS = {"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}
STATES = {"unobserved", "transmit_new", "transmit_again", "rnr_wait", "recover_nak", "recover_timeout", "read_window", "credit",
          "ack_window", "link_shared", "congestion_paced", "nic_stall", "application_in_flight", "peer_wait",
          "application_idle"}
# The interface's description, word by word.
CAPTURE_KEYS = {"packets", "bytes", "rdma_units", "kernel_dropped", "truncated", "malformed", "first_ns", "last_ns"}
FLOW_KEYS = {"id", "transport", "service", "source", "destination", "reverse", "pairing", "vantage", "packets", "wire_bytes",
             "payload_bytes", "retransmitted_packets", "duplicate_packets", "missing_packets", "messages",
             "goodput_bytes_per_sec", "latency_ns", "message_bytes", "outstanding", "naks", "rnr_naks", "ecn_ce_packets",
             "cnp_packets", "icrc_bad", "crc_bad", "terminates", "state_ns", "confidence"}


def flows(*arguments, **options):
    return run("flows", *arguments, **options)


class FlowsTestCase(TestCase):
    def json(self, *arguments, **options):
        return json.loads(self.succeeds(flows("--json", *arguments, **options)))

    def csv(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.succeeds(flows("--csv", *arguments)), newline="")))

    def lines(self, *arguments):
        return self.succeeds(flows(*arguments)).splitlines()


def flattened(value, path=""):
    """{"a": {"b": 1}} -> {"a.b": 1}"""
    if not isinstance(value, dict):
        return {path: value}
    return {k: v for name, member in value.items() for k, v in flattened(member, f"{path}.{name}".lstrip(".")).items()}


def lives_of_queue_pairs(source, lives):
    """A RoCEv2 capture's frames, over and over with other PSNs; connection management stands before the first time alone."""
    data = source.read_bytes()
    frames, at = [], 24
    while at < len(data):
        seconds, rest, captured, length = struct.unpack_from("<IIII", data, at)
        frames.append((seconds, rest, length, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    out = [data[:24]]
    for life in range(lives):
        for seconds, rest, length, octets in frames:
            if octets[23] != 17 or octets[36:38] != b"\x12\xb7":
                continue
            managed = int.from_bytes(octets[47:50], "big") < 2
            if managed and life > 0:
                continue
            octets = bytearray(octets)
            if not managed:
                octets[51:54] = ((int.from_bytes(octets[51:54], "big") + life * 5_000_000) % (1 << 24)).to_bytes(3, "big")
            out.append(struct.pack("<IIII", seconds + 100 * life, rest, len(octets), length) + octets)
    return b"".join(out)


def of_many_hosts(source, hosts):
    """A RoCEv2 capture's frames, over and over, each from an address of its own."""
    frames, at, data = [], 24, source.read_bytes()
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        frames.append((data[at:at + 16 + 26], data[at + 16 + 30:at + 16 + captured]))  # around the IPv4 source address
        at += 16 + captured
    out = [data[:24]]
    for i in range(hosts):
        before, behind = frames[i % len(frames)]
        out += [before, struct.pack(">I", 10 << 24 | i), behind]
    return b"".join(out)


class Usage(FlowsTestCase):
    def test_without_a_source_the_choices_are_named(self):
        message = self.fails(flows(), 2)
        self.assertIn("-r FILE", message)
        self.assertIn("-i IFACE", message)

    def test_help_in_its_spellings(self):
        page = self.succeeds(run("help", "flows"))
        self.assertEqual(page, flows("--help").stdout)
        self.assertEqual(page, flows("-h").stdout)
        self.assertIn("\n  flows ", run("help").stdout)
        self.assertTrue(all(len(line) <= 110 for line in page.splitlines()), page)
        self.assertEqual(flows("--version").stdout, run("--version").stdout)

    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for arguments in (["-k"], ["--no-such"], ["-c"], ["-c", "0"], ["-c", "x"], ["--top", "0"], ["--interval", "0"],
                          ["--interval", "1parsec"], ["--link-rate", "fast"], ["--threads", "0"], ["--max-flows", "0"],
                          ["--json", "--csv"], ["-i", "lo"], ["-a", "filesize:3"], ["--seconds", "-1"], ["--columns", ","],
                          ["--sort", ""], ["--sort", "latency_ns"]):
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope help flows", self.fails(flows("-r", WRITE, *arguments), 2))

    def test_two_forms_are_one_too_many(self):
        for arguments in (["--json", "--csv"], ["--csv", "--json"]):
            message = self.fails(flows("-r", WRITE, *arguments), 2).splitlines()[0]
            self.assertEqual(message, "rdmascope flows: --json and --csv are given: one or the other")

    def test_an_unknown_column_is_answered_with_the_one_that_was_meant(self):
        for option in ("--sort", "--columns"):
            message = self.fails(flows("-r", WRITE, option, "retransmited_packets"), 2)
            self.assertIn("did you mean 'retransmitted_packets'?", message)
            self.assertIn("--columns help", message)
            message = self.fails(flows("-r", WRITE, option, "byts"), 2)
            self.assertIn("did you mean 'bytes'?", message, "a heading of the table")

    def test_standard_input_can_be_read_once(self):
        self.assertIn("twice", self.fails(flows("-r", "-", "-r", "-"), 2))

    def test_no_such_file_and_no_capture(self):
        self.assertIn("No such file", self.fails(flows("-r", self.folder / "none.pcap")))
        self.assertRegex(self.fails(flows("-r", __file__)), r"pcap|capture")
        self.assertIn("udp port", self.fails(flows("-r", WRITE, "udp", "port"), 2))

    def test_columns_can_be_listed(self):
        names = self.succeeds(flows("--columns", "names")).splitlines()
        for columns in ([], ["--columns", "all"]):
            header = self.succeeds(flows("-r", WRITE, "--csv", "--top", 1, *columns)).splitlines()[0].split(",")
            self.assertLessEqual(set(header), set(names))
        self.assertEqual(len(names), len(set(names)))

    def test_the_reference_says_nothing_twice(self):
        lines = self.succeeds(flows("--columns", "help")).splitlines()
        self.assertLess(len(lines), 250)
        names = {line.split()[0] for line in lines if line}
        self.assertIn("latency_ns.OPERATION.{count,min,mean,p50,p90,p99,p999,max}", names)
        self.assertIn("waits.OPERATION.post_to_wire_ns.{mean,p99}", names)
        self.assertIn("queue_depth.max", names)
        help_texts = collections.Counter(line[51:] for line in lines if len(line) > 51)
        self.assertLessEqual(max(help_texts.values()), 3, help_texts.most_common(3))


class Json(FlowsTestCase):
    def test_has_every_promised_key_on_every_capture(self):
        for capture in plain_captures() + compressed_captures():
            with self.subTest(capture=capture.name):
                whole = self.json("-r", capture)
                self.assertLessEqual(CAPTURE_KEYS, whole["capture"].keys())
                ids = {flow["id"] for flow in whole["flows"]}
                self.assertEqual(len(ids), len(whole["flows"]))
                for flow in whole["flows"]:
                    self.check_flow(flow, ids)

    def check_flow(self, flow, ids):
        self.assertLessEqual(FLOW_KEYS, flow.keys())
        self.assertIn(flow["transport"], ("roce2", "roce1", "infiniband", "iwarp"))
        self.assertIn(flow["service"], ("RC", "UC", "RD", "UD", "XRC"))
        for end in (flow["source"], flow["destination"]):
            self.assertLessEqual({"address", "name"}, end.keys())
            self.assertTrue({"port", "qpn"} & end.keys())
        self.assertIsNotNone(flow["destination"]["port" if flow["transport"] == "iwarp" else "qpn"])
        if flow["reverse"] is not None:
            self.assertIn(flow["reverse"], ids)
        self.assertEqual({"method", "confidence"}, flow["pairing"].keys())
        self.assertLessEqual({"messages_mean", "messages_max", "bytes_max"}, flow["outstanding"].keys())
        self.assertEqual(set(OPERATIONS), flow["messages"].keys())
        self.assertEqual(set(OPERATIONS), flow["latency_ns"].keys())
        for operation in OPERATIONS:
            self.assertEqual({"count", "bytes"}, flow["messages"][operation].keys())
            self.check_distribution(flow["latency_ns"][operation])
        self.check_distribution(flow["message_bytes"])
        self.assertEqual(STATES, flow["state_ns"].keys())
        self.assertEqual(sum(flow["state_ns"].values()), flow["last_ns"] - flow["first_ns"])
        self.assertTrue(0 <= flow["confidence"] <= 1)

    def check_distribution(self, figures):
        self.assertEqual(STATISTICS, figures.keys())
        values = [figures[name] for name in ("min", "p50", "p90", "p99", "p999", "max")]
        if figures["count"] == 0:
            self.assertEqual(set(values), {None})
        else:
            self.assertEqual(values, sorted(values))

    def test_counts_what_the_application_reported(self):
        # ib_write_bw -s 65536 -n 15, from 192.0.2.2; see the JSON next to the capture.
        whole = self.json("-r", WRITE)
        flow, = [flow for flow in whole["flows"] if flow["messages"]["write"]["count"]]
        self.assertEqual(flow["messages"]["write"], {"count": 15, "bytes": 15 * 65536})
        self.assertEqual(flow["source"]["address"], "192.0.2.2")
        self.assertEqual(flow["destination"]["address"], "192.0.2.1")
        self.assertEqual(flow["message_bytes"]["p50"], 65536)
        truth = json.loads(WRITE.with_suffix(".json").read_text())
        self.assertEqual(whole["capture"]["packets"], truth["frames"] if "frames" in truth else 1050)

    def test_unknown_is_null(self):
        unverified = self.json("-r", WRITE, "--no-crc")["flows"]
        verified = self.json("-r", WRITE)["flows"]
        self.assertEqual({flow["icrc_bad"] for flow in unverified}, {None})
        self.assertEqual({flow["icrc_bad"] for flow in verified}, {0})
        self.assertEqual({flow["crc_bad"] for flow in verified}, {None})
        self.assertEqual({flow["service"]: flow["retransmitted_packets"]
                          for flow in self.json("-r", PCAPS / "rxe-ud-pingpong.pcap")["flows"]}, {"UD": None})
        self.assertIsNone(self.json("-r", WRITE)["capture"]["kernel_dropped"])

    def test_what_could_not_be_verified_is_null(self):
        # 54 octets end in the BTH of every packet, and its ICRC after it.
        data = (PCAPS / "rxe-rping.pcap").read_bytes()
        at, cut = 24, [data[:24]]
        while at < len(data):
            captured = struct.unpack_from("<I", data, at + 8)[0]
            cut.append(data[at:at + 8] + struct.pack("<I", 54) + data[at + 12:at + 16 + 54])
            at += 16 + captured
        path = self.folder / "cut.pcap"
        path.write_bytes(b"".join(cut))
        told = self.json("-r", path)
        self.assertEqual(told["capture"]["truncated"], told["capture"]["packets"])
        self.assertIsNone(told["capture"]["icrc_bad"])
        self.assertEqual({flow["icrc_bad"] for flow in told["flows"]}, {None})
        self.assertEqual({row["icrc_bad"] for row in self.csv("-r", path, "--interval", "1s", "--columns", "all")}, {""})
        self.assertIsNone(json.loads(self.succeeds(run("why", "-r", path, "--json")))["capture"]["icrc_bad"])
        # tshark: iwarp_mpa.crc_flag is 0 in the Replies of the one, 1 in those of the other.
        for name, known in (("siw-write-bw-64k-nocrc.pcap", None), ("siw-write-bw-64k-crc.pcap", 0)):
            self.assertEqual({flow["crc_bad"] for flow in self.json("-r", PCAPS / name)["flows"]}, {known})

    def test_queue_pairs_that_were_connected_and_are_used_again_without_are_other_flows(self):
        path = self.folder / "lives.pcap"
        path.write_bytes(lives_of_queue_pairs(PCAPS / "rxe-verbs-atomic.pcap", 2))
        found = self.json("-n", "--no-crc", "-r", str(path))["flows"]
        requesters = [flow for flow in found if sum(m["count"] for m in flow["messages"].values()) > 0]
        self.assertEqual(len(requesters), 2)
        first, second = requesters
        self.assertEqual(first["messages"], second["messages"])
        self.assertTrue(first["connection"]["end"])
        for flow in requesters:
            self.assertIsNotNone(flow["reverse"])
        self.assertNotEqual(first["reverse"], second["reverse"])
        self.assertFalse((second["connection"] or {}).get("end"), "it began after that connection had ended")
        for name in ("fetch_add", "compare_swap"):
            self.assertEqual(first["latency_ns"][name]["count"], second["latency_ns"][name]["count"])
            self.assertEqual(first["latency_ns"][name]["max"], second["latency_ns"][name]["max"])

    def test_threads_change_nothing(self):
        for capture in (WRITE, TCP, PCAPS / "nvme-rdma-rxe.pcap.gz", PCAPS / "made-terminate.pcap"):
            with self.subTest(capture=capture.name):
                one = self.succeeds(flows("-r", capture, "--json"))
                for threads in (2, 3):
                    self.assertEqual(one, flows("-r", capture, "--json", "--threads", threads).stdout)

    def test_standard_input(self):
        for capture in (WRITE, TCP):
            piped = flows("-r", "-", "--json", input=capture.read_bytes(), text=False)
            self.assertEqual(self.succeeds(piped).decode(), flows("-r", capture, "--json").stdout)

    def test_chosen_columns_are_all_there_is(self):
        for flow in self.json("-r", WRITE, "--columns", "latency_ns.write,id,latency_ns.write.p99")["flows"]:
            self.assertEqual(flow.keys(), {"id", "latency_ns"})
            self.assertEqual(flow["latency_ns"].keys(), {"write"})

    def test_names_of_hosts(self):
        hosts = [flow["source"]["name"] for flow in self.json("-r", WRITE, "-n")["flows"]]
        self.assertEqual(set(hosts), {None})


# What may be null as a whole in JSON, and is a group of empty columns in CSV: not TCP, no connection seen, no trace.
GROUPS = ("problem", "tcp", "connection", "io", "process", "work", "queue_depth", "receive_level", "post_to_wire_ns", "on_wire_ns",
          "wire_to_ack_ns", "ack_to_poll_ns", "post_to_poll_ns", "completion_ns", "waits")


class ManyHosts(FlowsTestCase):
    def test_frames_of_hosts_too_many_to_keep_are_counted_and_told(self):
        path = self.folder / "many.pcap"
        path.write_bytes(of_many_hosts(PCAPS / "rxe-rping.pcap", 70_000))
        done = flows("--json", "-r", path)
        capture = json.loads(self.succeeds(done))["capture"]
        # Two of the 65,536 are the receivers; the rest of the bound goes to the first senders.
        receivers = len({flow["destination"]["address"] for flow in self.json("-r", PCAPS / "rxe-rping.pcap")["flows"]})
        self.assertEqual(receivers, 2)
        self.assertEqual(capture["beyond_hosts"], 70_000 - (65_536 - receivers))
        self.assertIn(f"{capture['beyond_hosts']} packets of hosts without figures", done.stderr)
        self.assertEqual(self.json("-r", PCAPS / "rxe-rping.pcap")["capture"]["beyond_hosts"], 0)


class Csv(FlowsTestCase):
    def test_says_what_json_says(self):
        for capture in (WRITE, TCP, PCAPS / "rxe-verbs-mix.pcap.gz", PCAPS / "made-infiniband.pcap"):
            with self.subTest(capture=capture.name):
                rows = self.csv("-r", capture, "--columns", "all", "--sort=-id")
                records = self.json("-r", capture)["flows"]
                self.assertEqual(len(rows), len(records))
                for row, record in zip(rows, records):
                    self.assertNotIn(None, row)  # more fields than the header has
                    for path, value in flattened(record).items():
                        if path in GROUPS and value is None:
                            self.assertEqual({v for k, v in row.items() if k.startswith(path + ".")}, {""}, path)
                        elif path == "exhibits" or isinstance(value, dict):
                            continue
                        elif value is None:
                            self.assertEqual(row[path], "", path)
                        elif isinstance(value, bool):
                            self.assertEqual(row[path], str(value).lower(), path)
                        elif isinstance(value, list):
                            self.assertEqual(row[path].split(), list(map(str, value)), path)
                        elif isinstance(value, str):
                            self.assertEqual(row[path], value, path)
                        else:
                            self.assertEqual(type(value)(row[path]), value, path)

    def test_columns_in_the_order_given(self):
        lines = self.succeeds(flows("-r", WRITE, "--csv", "--columns", "packets,id,messages.write")).splitlines()
        self.assertEqual(lines[0], "packets,id,messages.write.count,messages.write.bytes")
        self.assertEqual(len({line.count(",") for line in lines}), 1)


class Order(FlowsTestCase):
    def column(self, name, *arguments):
        return [row[name] for row in self.csv("-r", TCP, "--columns", name, *arguments)]

    def test_json_is_by_id_unless_told_otherwise(self):
        ids = [flow["id"] for flow in self.json("-r", TCP)["flows"]]
        self.assertEqual(ids, sorted(ids))

    def test_a_heading_is_a_name_too(self):
        for heading, name in (("p99", "latency_p99"), ("bytes", "wire_bytes"), ("NAK/RNR", "nak_rnr"), ("msgs", "message_count")):
            self.assertEqual(self.column("id", f"--sort={heading}"), self.column("id", f"--sort={name}"))
            self.assertEqual(self.csv("-r", TCP, "--columns", heading), self.csv("-r", TCP, "--columns", name))
        self.assertIn("did you mean", self.fails(flows("-r", TCP, "--sort", "latency_p90"), 2))

    def test_numbers_begin_with_the_greatest_text_at_a(self):
        packets = list(map(int, self.column("packets", "--sort", "packets")))
        self.assertEqual(packets, sorted(packets, reverse=True))
        self.assertGreater(len(set(packets)), 1)
        for other in (["--sort=-packets"], ["--sort", "packets", "--reverse"]):
            self.assertEqual(list(map(int, self.column("packets", *other))), sorted(packets))
        names = self.column("source.address", "--sort", "source.address")
        self.assertEqual(names, sorted(names))
        self.assertGreater(len(set(names)), 1)

    def test_what_is_unknown_comes_last_in_both_directions(self):
        for sort in ("latency_p99", "-latency_p99"):
            values = [row["latency_p99"] for row in self.csv("-r", WRITE, "--columns", "latency_p99", f"--sort={sort}")]
            self.assertIn("", values)
            known = [value for value in values if value]
            self.assertEqual(values, known + [""] * (len(values) - len(known)))

    def test_top_takes_the_first(self):
        packets = self.column("packets", "--sort", "packets")
        self.assertEqual(self.column("packets", "--sort", "packets", "--top", 2), packets[:2])
        self.assertEqual(self.column("packets", "--sort", "packets", "--top", 99), packets)
        octets = list(map(int, self.column("wire_bytes")))
        self.assertEqual(self.column("wire_bytes", "--top", 1), [str(max(octets))])


class Text(FlowsTestCase):
    def test_is_aligned(self):
        lines = self.lines("-r", WRITE, "-n")
        self.assertEqual(len(lines), 5)
        for title in ("msgs", "goodput", "p99", "resent"):
            end = lines[0].index(title) + len(title)
            for line in lines[1:]:
                self.assertEqual(line[end:end + 1], " ", line)
                self.assertNotEqual(line[end - 1], " ", line)
        begin = lines[0].index("source > destination")
        self.assertTrue(all(re.match(r"192\.0\.2\.\d/0x\w+ > ", line[begin:]) for line in lines[1:]))
        self.assertTrue(all(line == line.rstrip() for line in lines))

    def test_a_message_that_has_only_begun_is_no_response(self):
        lossy = PCAPS / "rxe-rxdrop1pct-write-bw.pcap.gz"
        # Frames 43 to 50 are a WRITE's first packet and seven from its middle.
        last = self.lines("-r", lossy, "-n", "-c", 50, "--columns", "id,operations")[-1]
        self.assertEqual(last.split(), ["43", "(unfinished)"])
        answers = self.lines("-r", PCAPS / "rxe-read-bw-64k.pcap", "-n", "--columns", "operations")
        self.assertIn("(responses)", [line.strip() for line in answers])

    def test_says_what_the_capture_was_like(self):
        message = flows("-r", WRITE).stderr
        self.assertRegex(message, r"^1,050 packets in \d[\d.]* m?s, [\d,]+ RDMA packets in 4 flows, ")
        self.assertRegex(message.splitlines()[1], "^goodput: bytes of messages per second")
        self.assertEqual(message.count("\n"), 2)

    def test_nothing_found_says_where_to_look(self):
        nothing = flows("-r", PCAPS / "smc-fallback-tcp.pcap.gz")
        self.assertEqual(self.succeeds(nothing), "")
        self.assertIn("no RDMA in 318 packets", nothing.stderr)
        self.assertIn("4791", nothing.stderr)
        deselected = flows("-r", WRITE, "tcp port 1")
        self.assertEqual(self.succeeds(deselected), "")
        self.assertIn("expression", deselected.stderr)
        self.assertEqual(self.json("-r", WRITE, "tcp port 1")["flows"], [])
        self.assertEqual(self.csv("-r", WRITE, "tcp port 1"), [])

    def test_marks_of_tunnels_are_those_of_the_packets_inside(self):
        # The notes of the capture say which of its frames count: eight outer marks, one inner mark.
        marks = PCAPS / "made-tunnel-marks.pcap"
        notes = json.loads((PCAPS / "made-tunnel-marks.json").read_text())["notes"]
        expected = sum("not marked" not in note and note.endswith(("marked", "marked inside")) and "nothing" not in note for note in notes)
        self.assertEqual(expected, 9)
        self.assertEqual(sum(flow["ecn_ce_packets"] for flow in self.json("-r", marks)["flows"]), expected)

    def test_what_is_not_looked_into_is_counted(self):
        # Next to what is read, one frame of MACsec with encryption and one of an EtherType that is not known.
        carriers = PCAPS / "made-carriers.pcap"
        expected = [{"kind": "EtherType 0x8999", "frames": 1}, {"kind": "EtherType 0x88e5 (MACsec, encrypted)", "frames": 1}]
        for threads in (1, 3):
            unread = self.json("-r", carriers, "--threads", threads)["capture"]["not_looked_into"]
            self.assertEqual(sorted(unread, key=str), sorted(expected, key=str))
        told = flows("-r", carriers).stderr
        self.assertIn("1 frame of EtherType 0x88e5 (MACsec, encrypted), 1 of EtherType 0x8999 were not looked into", told)
        self.assertEqual(self.json("-r", WRITE)["capture"]["not_looked_into"], [])

    def test_no_rdma_is_not_claimed_of_what_is_not_looked_into(self):
        ethernet = bytes.fromhex("020000000002020000000001")
        frames = [ethernet + b"\x89\x99" + bytes(46)] * 12 + [ethernet + b"\x08\x06" + bytes(46)] * 3
        path = self.folder / "carrier.pcap"
        path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
                         + b"".join(struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame for frame in frames))
        sentence = "12 frames of EtherType 0x8999 were not looked into"
        self.assertIn(f"no RDMA found in 15 packets: {sentence}", flows("-r", path).stderr)
        self.assertIn(f"NOTHING TO JUDGE: no RDMA was found, and {sentence}.", " ".join(self.succeeds(run("why", "-r", path)).split()))
        self.assertIn(f"{sentence}; --all lists them", run("dump", "-r", path).stderr)
        self.assertNotIn(sentence, run("dump", "--all", "-r", path).stderr)

    def test_native_erf_is_read_like_its_records_in_pcap(self):
        pcap = (PCAPS / "made-erf-infiniband.pcap").read_bytes()
        records, at = b"", 24
        while at < len(pcap):
            length, = struct.unpack_from("<I", pcap, at + 8)
            records += pcap[at + 16:at + 16 + length]
            at += 16 + length
        native = self.folder / "native.erf"
        native.write_bytes(records)
        lines = lambda path: self.succeeds(run("dump", "-n", "-t", "-r", path))
        self.assertEqual(lines(native), lines(PCAPS / "made-erf-infiniband.pcap"))
        self.assertTrue(lines(native))

    def test_connections_without_data_are_no_flows(self):
        # tshark: ConnectRequest, ConnectReply, ReadyToUse, DisconnectRequest, DisconnectReply.
        idle = flows("-r", PCAPS / "rxe-verbs-idle.pcap")
        self.assertEqual(self.succeeds(idle), "")
        self.assertIn("5 packets, whose RDMA is connection management only: no data flow", idle.stderr)

    def test_opcodes_of_a_manufacturer_are_no_flows(self):
        """The same frames with the opcode 0xca, which is no connection management either."""
        pcap = bytearray((PCAPS / "rxe-rping.pcap").read_bytes())
        at = 24
        while at < len(pcap):
            frame = at + 16
            if pcap[frame + 12:frame + 14] == b"\x08\x00" and pcap[frame + 36:frame + 38] == (4791).to_bytes(2, "big"):
                pcap[frame + 42] = 0xca
            at = frame + struct.unpack_from("<I", pcap, at + 8)[0]
        file = self.folder / "manufacturer.pcap"
        file.write_bytes(pcap)
        shown = flows("-r", file)
        self.assertEqual(self.succeeds(shown), "")
        self.assertIn("belongs to no data flow", shown.stderr)

    def test_a_link_type_that_is_not_known_is_the_reason(self):
        octets = bytearray((PCAPS / "siw-rping-crc.pcap").read_bytes())
        octets[20:24] = (147).to_bytes(4, "little")
        path = self.folder / "unknown.pcap"
        path.write_bytes(octets)
        for command in ("flows", "why"):
            told = run(command, "-r", path).stderr
            self.assertIn("does not know the link type 147", told)
            self.assertNotIn("mirror port", told)
        result = run("dump", "-r", path)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("link type 147", result.stderr)
        self.assertEqual(run("dump", "--all", "-r", path).stderr, "")

    def test_a_rejected_connection_is_told(self):
        self.assertIn("1 connection attempt rejected", flows("-r", PCAPS / "rxe-cm-reject.pcap").stderr)

    def test_what_was_measured_before_the_damage_is_printed(self):
        cut = self.folder / "cut.pcap"
        cut.write_bytes(WRITE.read_bytes()[:-5])
        result = flows("-r", cut)
        self.assertIn("cut short", self.fails(result))
        self.assertEqual(len(result.stdout.splitlines()), 5)

    def test_a_reader_that_goes_away_ends_it_quietly(self):
        process = subprocess.Popen([BINARY, "flows", "-r", PCAPS / "made-terminate.pcap", "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE, error)


class Selection(FlowsTestCase):
    def test_a_count_and_an_expression(self):
        self.assertEqual(self.json("-r", WRITE, "-c", 100)["capture"]["packets"], 100)
        self.assertEqual(self.json("-r", WRITE, "-c", 40, "src host 192.0.2.1")["capture"]["packets"], 40)
        sources = {flow["source"]["address"] for flow in self.json("-r", WRITE, "src host 192.0.2.1")["flows"]}
        self.assertEqual(sources, {"192.0.2.1"})
        expression = self.folder / "expression"
        expression.write_text("src host 192.0.2.1 # the server\n")
        self.assertEqual(self.json("-r", WRITE, "-F", expression), self.json("-r", WRITE, "src host 192.0.2.1"))

    def test_seconds_by_the_clock_of_the_file(self):
        whole = self.json("-r", WRITE)["capture"]
        half = self.json("-r", WRITE, "--seconds", 1)["capture"]
        self.assertLess(half["last_ns"] - half["first_ns"], 1_000_000_000)
        self.assertTrue(0 < half["packets"] < whole["packets"])
        self.assertEqual(half, self.json("-r", WRITE, "-a", "duration:1")["capture"])

    def test_several_files_are_one_capture_in_the_order_of_time(self):
        octets = TCP.read_bytes()
        at, records = 24, []
        while at < len(octets):
            size = 16 + int.from_bytes(octets[at + 8:at + 12], "little")
            records.append(octets[at:at + size])
            at += size
        parts = [self.folder / name for name in ("a.pcap", "b.pcap")]
        whole = self.json("-r", TCP)
        # One after the other, and frame by frame in turn.
        for split in ([records[:300], records[300:]], [records[::2], records[1::2]]):
            for part, some in zip(parts, split):
                part.write_bytes(octets[:24] + b"".join(some))
            for order in (parts, parts[::-1]):
                merged = self.json("-r", order[0], "-r", order[1])
                for flow in whole["flows"] + merged["flows"]:
                    flow.pop("interface", None)
                self.assertEqual(merged["flows"], whole["flows"])

    def test_files_of_a_ring_are_one_interface(self):
        # What is sent again at the beginning of a file of a ring (tcpdump -C) is no copy that a second tap has of the
        # file before. IPv6 has no identification that would tell one from the other.
        for name, cut in (("rxe-write-bw-4k-ipv6.pcap.gz", None), ("made-pause.pcap", 4)):
            octets = (PCAPS / name).read_bytes()
            octets = gzip.decompress(octets) if name.endswith(".gz") else octets
            whole = self.json("-r", PCAPS / name)
            if cut is None:
                cut = min(flow["exhibits"]["retransmission"]["frames"][0] - 1 for flow in whole["flows"]
                          if "retransmission" in flow["exhibits"])
            at, records = 24, []
            while at < len(octets):
                size = 16 + int.from_bytes(octets[at + 8:at + 12], "little")
                records.append(octets[at:at + size])
                at += size
            ring = [self.folder / name for name in ("ring0", "ring1", "ring2")]
            for part, some in zip(ring, (records[:cut], records[cut:cut + 3], records[cut + 3:])):
                part.write_bytes(octets[:24] + b"".join(some))
            for order in (ring, ring[::-1]):
                with self.subTest(capture=name, first=order[0].name):
                    merged = self.json(*itertools.chain(*(("-r", part) for part in order)))
                    for one in merged["flows"] + merged["pauses"] + whole["flows"] + whole["pauses"]:
                        one["interface"] = None  # the first file's, by its place in the command line
                    self.assertEqual(merged, whole)

    def test_what_two_taps_have_captured_counts_once(self):
        octets = (PCAPS / "rxe-read-bw-64k.pcap").read_bytes()
        at, records, times = 24, [], []
        while at < len(octets):
            seconds, microseconds, size = struct.unpack_from("<III", octets, at)
            times.append(seconds * 1000000 + microseconds)
            records.append(octets[at + 8:at + 16 + size])
            at += 16 + size
        # Within 88 ms 500 frames pass; the second tap sees none of them before.
        begin, later = 44, times[544] - times[44]
        self.assertLess(later, 100000)
        parts = [self.folder / name for name in ("a.pcap", "b.pcap")]
        for part, shift in zip(parts, (0, later)):
            part.write_bytes(octets[:24] + b"".join(struct.pack("<II", *divmod(time + shift, 1000000)) + record
                                                    for time, record in list(zip(times, records))[begin:]))
        one = self.json("-r", parts[0])
        for order in (parts, parts[::-1]):
            two = self.json("-r", order[0], "-r", order[1])
            self.assertEqual(two["capture"]["seen_twice"], one["capture"]["packets"])
            for figure in ("packets", "wire_bytes", "payload_bytes", "retransmitted_packets", "timeouts", "state_ns"):
                self.assertEqual([flow[figure] for flow in two["flows"]], [flow[figure] for flow in one["flows"]])

    def test_hosts_say_how_many_flows_send_them_data(self):
        # perftest -R: a control queue pair on which both sides send, and one on which the client alone writes.
        hosts = {host["address"]: host["senders"] for host in self.json("-n", "-r", PCAPS / "rxe-write-bw-4k.pcap.gz")["hosts"]}
        self.assertEqual(hosts, {"192.0.2.1": 2, "192.0.2.2": 1})

    def test_hosts_and_flows_count_the_same_bytes(self):
        # The bytes are tshark's frame.len: no preamble, FCS or gap.
        for name in ("rxe-write-bw-64.pcap", "siw-ecn-ce-write-bw.pcap.gz", "rxe-write-bw-4k-ipv6.pcap.gz"):
            with self.subTest(capture=name):
                rows = subprocess.run(["tshark", "-n", "-r", PCAPS / name, "-T", "fields", "-e", "ip.src", "-e", "ipv6.src",
                                       "-e", "ip.dst", "-e", "ipv6.dst", "-e", "frame.len"], capture_output=True, text=True,
                                      check=True).stdout.splitlines()
                sent, received, frames = collections.Counter(), collections.Counter(), collections.Counter()
                for row in rows:
                    source, source6, destination, destination6, length = row.split("\t")
                    sent[source or source6] += int(length)
                    frames[source or source6] += 1
                    received[destination or destination6] += int(length)
                whole = self.json("-n", "-r", PCAPS / name)
                self.assertGreaterEqual(len(whole["hosts"]), 2)
                for host in whole["hosts"]:
                    self.assertEqual(host["sent_wire_bytes"], sent[host["address"]])
                    self.assertEqual(host["received_wire_bytes"], received[host["address"]])
                    self.assertEqual(host["sent_packets"], frames[host["address"]])
                    flows_of_host = [flow for flow in whole["flows"] if flow["source"]["address"] == host["address"]]
                    self.assertLessEqual(sum(flow["wire_bytes"] for flow in flows_of_host), host["sent_wire_bytes"])

    def test_times_survive_readers_that_keep_numbers_as_doubles(self):
        # jq keeps numbers as doubles, as JavaScript does: above 2^53 the last digits are lost.
        document = self.succeeds(flows("-n", "-r", PCAPS / "nvme-rdma-rxe.pcap.gz", "--json"))
        as_doubles = json.loads(document, parse_int=float)
        first = int(as_doubles["capture"]["last_offset_ns"])
        rest = [int(flow["last_offset_ns"] - flow["first_offset_ns"] - sum(flow["state_ns"].values()))
                for flow in as_doubles["flows"]]
        times = list(map(decimal.Decimal, subprocess.run(
            ["tshark", "-n", "-r", PCAPS / "nvme-rdma-rxe.pcap.gz", "-T", "fields", "-e", "frame.time_epoch"],
            capture_output=True, text=True, check=True).stdout.split()))
        self.assertEqual(first, int((max(times) - min(times)) * 10**9))
        self.assertEqual(rest, [0] * 6)
        rows = self.csv("-n", "-r", PCAPS / "nvme-rdma-rxe.pcap.gz", "--columns", "all")
        for row in rows:
            # The time of two paired flows begins with the first packet of either.
            seen = times[min(int(row["id"]), int(row["reverse"])) - 1]
            self.assertEqual(decimal.Decimal(row["first_offset_seconds"]), seen - min(times))
            day, clock = row["first_time"].removesuffix("Z").split("T")
            moment = datetime.datetime.fromisoformat(f"{day}T{clock.split('.')[0]}+00:00")
            self.assertEqual(int(moment.timestamp()), int(seen))
            self.assertEqual(int(clock.split(".")[1]), int(seen % 1 * 10**9))

    def test_max_flows_is_kept_and_told(self):
        result = flows("-r", PCAPS / "made-terminate.pcap", "--max-flows", 4, "--json")
        self.assertLess(len(json.loads(self.succeeds(result))["flows"]), 35)


class Intervals(FlowsTestCase):
    def test_add_up_to_the_whole(self):
        for capture in (WRITE, TCP, PCAPS / "rxe-verbs-mix.pcap.gz"):
            with self.subTest(capture=capture.name):
                whole = {flow["id"]: flow for flow in self.json("-r", capture)["flows"]}
                sums = collections.defaultdict(collections.Counter)
                seen = set()
                for record in self.json("-r", capture, "--interval", "50ms")["flows"]:
                    start = record["interval"]["start_ns"]
                    self.assertEqual(record["interval"]["length_ns"], 50_000_000)
                    self.assertEqual(start % 50_000_000, 0)
                    self.assertNotIn((record["id"], start), seen)
                    seen.add((record["id"], start))
                    for key in ("packets", "wire_bytes", "payload_bytes"):
                        sums[record["id"]][key] += record[key]
                    for operation in OPERATIONS:
                        sums[record["id"]][operation] += record["messages"][operation]["count"]
                self.assertEqual(sums.keys(), whole.keys())
                for id, flow in whole.items():
                    for key in ("packets", "wire_bytes", "payload_bytes"):
                        self.assertEqual(sums[id][key], flow[key], (id, key))
                    for operation in OPERATIONS:
                        self.assertEqual(sums[id][operation], flow["messages"][operation]["count"], (id, operation))

    def test_a_time_series_has_its_times_and_is_in_order(self):
        rows = self.csv("-r", WRITE, "--interval", "100ms", "--columns", "id,goodput_bytes_per_sec,messages.write.bytes")
        starts = [int(row["interval.start_ns"]) for row in rows]
        self.assertEqual(starts, sorted(starts))
        self.assertGreater(len(set(starts)), 2)
        for row in rows:
            if int(row["messages.write.bytes"]):  # octets of a tenth of a second, ten times
                self.assertEqual(float(row["goodput_bytes_per_sec"]), 10 * int(row["messages.write.bytes"]))
        lines = self.lines("-r", WRITE, "--interval", "100ms")
        self.assertRegex(lines[0], r"^ *interval +id ")
        self.assertRegex(lines[1], r"^\d\d:\d\d:\d\d\.\d{3} ")

    def test_threads_change_nothing(self):
        arguments = ("-r", TCP, "--interval", "10ms", "--json")
        self.assertEqual(self.succeeds(flows(*arguments)), flows(*arguments, "--threads", 2).stdout)

    def test_nothing_is_no_interval(self):
        self.assertEqual(self.json("-r", WRITE, "--interval", "1s", "tcp port 1")["flows"], [])
        self.assertEqual(self.lines("-r", WRITE, "--interval", "1s", "tcp port 1"), [])


class Signals(FlowsTestCase):
    def test_an_interrupt_prints_what_there_is(self):
        process = subprocess.Popen([BINARY, "flows", "-r", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.kill)
        process.stdin.write(WRITE.read_bytes())
        process.stdin.flush()
        wait_for_reader(process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(json.loads(out)["capture"]["packets"], 1050)


class Documentation(FlowsTestCase):
    def test_the_manual_has_every_column(self):
        page = (ROOT / "docs/man/rdmascope-flows.1").read_text().replace("\\-", "-")
        families = set(re.findall(r"^\.BR? (\S+)$", page, re.MULTILINE))
        varying = {"OPERATION": OPERATIONS, "STATISTIC": STATISTICS, "CODE": (
            "psn_sequence_error", "invalid_request", "remote_access_error", "remote_operational_error", "invalid_rd_request",
            "other"), "KIND": ("port_unreachable", "host_unreachable", "prohibited", "fragmentation_needed",
                               "time_exceeded", "other")}
        known = set()
        for family in families:
            names = [family]
            for word, values in varying.items():
                names = [name.replace(word, value) for name in names for value in values]
            known.update(names)
        names = self.succeeds(flows("--columns", "names")).splitlines()
        groups = {name[:at] for name in names for at, letter in enumerate(name) if letter == "."}
        for name in names:
            if name in groups:
                continue
            if name.startswith("exhibits."):
                _, event, member = name.split(".")
                self.assertIn(f"exhibits.EVENT.{member}", known)
                self.assertIn(event, page)
            else:
                self.assertIn(name, known)


class Problems(FlowsTestCase):
    """What is wrong with each flow is what `why` finds, whose answers list flows."""

    def found_by_why(self, *captures):
        sources = [word for capture in captures for word in ("-r", capture)]
        answers = json.loads(self.succeeds(run("why", "-n", "--json", *sources)))["answers"]
        found = {}
        for answer in answers:
            if answer["grade"] != "ok":
                for flow in answer["flows"]:
                    found.setdefault(flow, (answer["grade"], answer["question"], answer["verdict"], answer["cost"]))
        return found

    def test_never_disagree_with_why(self):
        known = set()
        for capture in plain_captures() + compressed_captures():
            with self.subTest(capture=capture.name):
                problems = {flow["id"]: flow["problem"] for flow in self.json("-n", "-r", capture)["flows"]}
                told = {id: (problem["grade"], problem["question"], problem["verdict"], problem["cost"])
                        for id, problem in problems.items() if problem}
                found = {id: row for id, row in self.found_by_why(capture).items() if id in problems}
                self.assertEqual(told, found)
                known |= {problem["cause"] for problem in problems.values() if problem}
        self.assertLessEqual({"rnr", "loss before", "loss after", "terminate: invalid STag", "remote access"}, known)

    def test_come_first_and_can_be_asked_for(self):
        capture = PCAPS / "made-terminate.pcap"
        rows = self.csv("-n", "-r", capture)
        with_problem = [bool(row["cause"]) for row in rows]
        self.assertEqual(with_problem, sorted(with_problem, reverse=True))
        self.assertEqual(sum(with_problem), len(self.found_by_why(capture)))
        self.assertTrue(0 < sum(with_problem) < len(rows))
        self.assertEqual(self.csv("-n", "-r", capture, "--filter", "cause"), rows[:sum(with_problem)])
        chosen = self.json("-n", "-r", capture, "--filter", 'problem.verdict == "rnr"')["flows"]
        self.assertEqual({flow["problem"]["cause"] for flow in chosen}, {"rnr"})
        self.assertIn("! rnr", self.succeeds(flows("-n", "-r", capture)))
        self.assertIn("no flow matches", flows("-n", "-r", WRITE, "--filter", "cause").stderr)
        self.assertIn("--filter", self.fails(flows("-r", WRITE, "--filter", "caus == 1"), 2))


class Groups(FlowsTestCase):
    """Sums of flows; the bytes are those of tshark's frames."""

    def test_hosts_and_pairs_have_the_bytes_of_their_frames(self):
        capture = PCAPS / "nvme-rdma-rxe.pcap.gz"
        sent, packets, times = collections.Counter(), collections.Counter(), []
        for line in subprocess.run(["tshark", "-n", "-r", capture, "-Y", "infiniband.bth && infiniband.bth.destqp != 1", "-T",
                                    "fields", "-e", "ip.src", "-e", "frame.len", "-e", "frame.time_epoch"],
                                   capture_output=True, text=True, check=True).stdout.splitlines():
            source, length, seconds = line.split("\t")
            times.append((source, int(length), int(seconds.replace(".", ""))))
            sent[source] += int(length)
            packets[source] += 1
        rows = {row["host"]: row for row in self.csv("-n", "-r", capture, "--by", "host")}
        self.assertEqual({host: int(row["sent_bytes"]) for host, row in rows.items()}, dict(sent))
        self.assertEqual({host: int(row["sent_packets"]) for host, row in rows.items()}, dict(packets))
        self.assertAlmostEqual(sum(float(row["share"]) for row in rows.values()), 1)
        pair = self.json("-n", "-r", capture, "--by", "pair")["groups"]
        self.assertEqual(len(pair), 1)
        self.assertEqual({pair[0]["host"]: pair[0]["sent_bytes"], pair[0]["peer"]: pair[0]["received_bytes"]}, dict(sent))
        self.assertEqual(pair[0]["share"], 1)
        lines = self.lines("-n", "-r", capture, "--by", "host")
        self.assertRegex(lines[0], r"^host +flows +problems +msgs +sent +packets +received +packets +share +over time$")
        self.assertEqual(len(lines), 1 + len(sent))
        hosts = self.json("-n", "-r", capture, "--by", "host")
        cell = hosts["cell_ns"]
        begin = min(time for _, _, time in times) // cell
        cells = collections.Counter()
        for source, length, time in times:
            cells[source, time // cell - begin] += length
        self.assertGreater(len(cells), 32)
        for host in hosts["groups"]:
            for place, size in enumerate(host["bytes_over_time"]):
                self.assertEqual(size, cells[host["host"], place], (host["host"], place))
            self.assertEqual(sum(host["bytes_over_time"]), host["sent_bytes"])

    def many_hosts(self, hosts):
        """Each host sends a packet of 66 bytes in a millisecond of its own, and again after all others. Frames as RoCEv2 has them."""
        path = self.folder / "many-hosts.pcap"
        records = [struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)]
        for place in range(2 * hosts):
            number = place % hosts + 1
            bth = struct.pack(">BBHII", 0x04, 0x40, 0xffff, number, place // hosts) + bytes(8) + bytes(4)
            udp = struct.pack(">HHHH", 49152, 4791, 8 + len(bth), 0) + bth
            ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, 10, 1, number >> 8, number & 255, 10, 2, 0, 1)
            frame = bytes(12) + b"\x08\x00" + ip + udp
            records.append(struct.pack("<IIII", 1_700_000_000, place * 1000, len(frame), len(frame)) + frame)
        path.write_bytes(b"".join(records))
        return path, len(frame)

    def test_many_flows_have_their_bytes_over_time(self):
        capture, size = self.many_hosts(300)
        groups = self.json("-n", "-r", capture, "--by", "host")
        senders = [group for group in groups["groups"] if group["sent_bytes"]]
        self.assertEqual(len(senders), 300)
        cell = groups["cell_ns"]
        begin = 1_700_000_000_000_000_000 // cell
        for group in senders:
            number = int(group["host"].split(".")[2]) * 256 + int(group["host"].split(".")[3]) - 1
            expected = collections.Counter()
            for place in (number, number + 300):
                expected[(1_700_000_000_000_000_000 + place * 1_000_000) // cell - begin] += size
            self.assertEqual({place: value for place, value in enumerate(group["bytes_over_time"]) if value}, dict(expected))

    def test_are_as_wide_as_the_terminal(self):
        captures = {self.many_hosts(300)[0], PCAPS / "nvme-rdma-rxe.pcap.gz"}
        for capture, by, columns in itertools.product(captures, ("host", "pair"), (80, 60, 120)):
            with self.subTest(capture=capture.name, by=by, columns=columns):
                ours, theirs = pty.openpty()
                fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
                process = subprocess.Popen([BINARY, "flows", "-n", "-r", capture, "--by", by], stdout=theirs, stderr=subprocess.DEVNULL,
                                           env=ENVIRONMENT)
                os.close(theirs)
                text = b""
                with contextlib.suppress(OSError):
                    while piece := os.read(ours, 65536):
                        text += piece
                os.close(ours)
                self.assertEqual(process.wait(), 0)
                lines = text.decode().replace("\r", "").splitlines()
                self.assertTrue(lines[0].startswith("host"))
                self.assertIn("share", lines[0])
                self.assertLessEqual(max(map(len, lines)), columns)
                if columns >= 80:
                    self.assertIn("over time", lines[0])

    def test_of_processes(self):
        rows = self.csv("-n", "-r", WRITE, "--by", "process")
        self.assertEqual([row["process"] for row in rows], ["(not traced)"])

    def test_have_their_own_columns(self):
        for option in (["--sort", "id"], ["--columns", "id"], ["--interval", "1s"]):
            self.assertIn("--by", self.fails(flows("-r", WRITE, "--by", "host", *option), 2))
        self.assertIn("host, pair or process", self.fails(flows("-r", WRITE, "--by", "port"), 2))


class CutPackets(FlowsTestCase):
    def test_that_may_hide_iwarp_are_told(self):
        """A connection whose set-up is not in the capture, and whose segments hold no whole FPDU."""
        path = self.folder / "cut.pcap"
        subprocess.run(["editcap", "-F", "pcap", "-s", "60", "-r", PCAPS / "siw-write-bw-64k-crc.pcap", path, "40-300"], check=True)
        result = flows("-n", "-r", path)
        self.assertIn("cut by the snapshot length and of no known flow", result.stderr)
        self.assertIn("-s 0", result.stderr)
        self.assertNotIn("of no known flow", flows("-n", "-r", PCAPS / "siw-write-bw-64k-crc.pcap").stderr)


if __name__ == "__main__":
    unittest.main()
