"""`policy check` on captures, against tshark: which packets have which DSCP, and which addresses."""
import collections
import gzip
import json
import re
import shlex
import struct
import unittest

from command import PCAPS, ROOT, TestCase, needs, run, tshark

MARKED = PCAPS / "rxe-write-bw-64k-tos.pcap"  # its JSON: ib_write_bw --tos 106, which is DSCP 26 and ECT(0)
PLAIN = PCAPS / "rxe-ucmatose.pcap"
REST = '[[rule]]\nname = "all"\n'
DATA = "192.0.2.2", 0x27  # sender and destination queue pair of the WRITEs in MARKED
# Of every transport: with and without set-up, InfiniBand, IPv6, tunnels and links of all kinds, upper layers.
VARIED = ["rxe-write-bw-64k-tos", "rxe-ucmatose", "siw-ucmatose", "rxe-write-bw-4k-ipv6", "made-erf-infiniband", "made-roce-carriers",
          "made-tunnels", "rxe-ecn-ce-write-bw", "nvme-rdma-rxe", "nfs-rdma-siw", "smbdirect-siw", "rxe-ud-pingpong", "rxe-fi-pingpong"]


def capture_named(name):
    return next(PCAPS / f"{name}.{ending}" for ending in ("pcap", "pcap.gz", "erf") if (PCAPS / f"{name}.{ending}").exists())


def rewrite(source, target, change):
    """A copy of a little-endian pcap in which change(number, bytes) has made each frame."""
    data = (gzip.decompress if source.suffix == ".gz" else bytes)(source.read_bytes())
    out, at, number = bytearray(data[:24]), 24, 0
    while at < len(data):
        head, length = data[at:at + 8], struct.unpack_from("<I", data, at + 8)[0]
        number += 1
        frame = change(number, bytes(data[at + 16:at + 16 + length]))
        out += head + struct.pack("<II", len(frame), len(frame)) + frame
        at += 16 + length
    target.write_bytes(out)
    return target


def with_dscp(frame, dscp):
    """An IPv4 frame with another DSCP, and the checksum that belongs to it (RFC 1624)."""
    old, checksum = struct.unpack_from(">H", frame, 14)[0], struct.unpack_from(">H", frame, 24)[0]
    new = old & 0xff03 | dscp << 2
    total = (~checksum & 0xffff) + (~old & 0xffff) + new
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return frame[:14] + struct.pack(">H", new) + frame[16:24] + struct.pack(">H", ~total & 0xffff) + frame[26:]


def with_tag(frame, priority):
    return frame[:12] + struct.pack(">HH", 0x8100, priority << 13 | 100) + frame[12:]


def classes_by_flow(capture):
    """(source, destination queue pair) -> the classes of its packets, in their order, as tshark has them; CNPs left out."""
    text = tshark("-n", "-r", capture, "-Y", "infiniband.bth.destqp > 1 and not infiniband.bth.opcode in {0x80, 0x81}", "-T", "fields",
                  "-e", "ip.src", "-e", "infiniband.grh.sgid", "-e", "infiniband.lrh.slid", "-e", "infiniband.bth.destqp", "-e", "ip.dsfield.dscp", "-e", "vlan.priority",
                  "-e", "infiniband.lrh.sl", "-e", "infiniband.bth.p_key").stdout
    found = collections.defaultdict(list)
    for line in text.splitlines():
        source, gid, lid, pair, *fields = line.split("\t")
        found[source or gid or f"lid {lid}", int(pair, 16)].append(tuple(int(field) if field else None for field in fields))
    return found


def flows_by_dscp(capture):
    """(source, destination queue pair) -> DSCP of its packets; management packets are no flow."""
    text = tshark("-n", "-r", capture, "-Y", "infiniband.bth.destqp > 1", "-T", "fields", "-e", "ip.src", "-e", "infiniband.bth.destqp", "-e",
                  "ip.dsfield.dscp").stdout
    found = collections.defaultdict(set)
    for line in text.splitlines():
        source, pair, dscp = line.split("\t")
        found[source, int(pair, 16)].add(int(dscp))
    return found


class Policy(TestCase):
    def check(self, rules, *arguments):
        path = self.folder / "rules.toml"
        path.write_text(rules)
        return run("policy", "check", "--rules", path, "-n", *arguments)

    def violations(self, rules, *arguments):
        done = self.check(rules, "--json", *arguments)
        self.assertEqual(done.returncode, 3, done.stderr)
        return [each for rule in json.loads(done.stdout)["rules"] for each in rule["violations"]]

    @needs("tshark")
    def test_the_dscp_of_every_flow(self):
        for capture in (MARKED, PLAIN):
            for dscp, name in ((0, "BE"), (26, "AF31"), (46, "ef")):
                with self.subTest(capture=capture.name, dscp=dscp):
                    different = sum(seen != {dscp} for seen in flows_by_dscp(capture).values())
                    for value in (dscp, f'"{name}"'):
                        done = self.check(f"{REST}dscp = {value}\n", "--json", "-r", capture)
                        document = json.loads(done.stdout)
                        self.assertEqual(len(document["rules"][0]["violations"]), different)
                        self.assertEqual(document["rules"][0]["flows"], len(flows_by_dscp(capture)))
                        self.assertEqual(done.returncode, 3 if different else 0)
                        self.assertIn(document["grade"], ("wrong", "minor") if different else ("ok",))

    def test_the_first_rule_that_fits_decides(self):
        rules = '[[rule]]\nname = "pair"\nmatch = "destination.qpn == 0x27"\ndscp = "AF31"\n' + REST + "dscp = 0\n"
        done = self.check(rules, "-r", MARKED)
        self.assertEqual((done.returncode, done.stdout), (0, "OK: the traffic keeps to the rules.\n"))

    def test_what_repairs_it(self):
        done = self.check(REST + "dscp = 0\n", "-r", MARKED)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stdout.startswith("WRONG: 1 of 1 rule broken, by 2 flows ("), done.stdout)
        for text in ('rule "all": DSCP CS0 (0) expected; 2 of 4 flows differ', "192.0.2.2/0x27 > 192.0.2.1/0x27: DSCP AF31 (26); ",
                     f"See:  rdmascope dump -# -r {MARKED} --flow ", "Do on 192.0.2.2:  cma_roce_tos -d DEVICE -t 0 "):
            self.assertIn(text, done.stdout)

    def test_commands_can_be_pasted(self):
        capture = self.folder / "a b.pcap"
        capture.write_bytes(MARKED.read_bytes())
        shown = self.check(REST + "dscp = 0\n", "-r", capture).stdout
        pasted = shlex.split(next(line for line in shown.splitlines() if "See:" in line).split("See:")[1])
        self.assertEqual(pasted[:5], ["rdmascope", "dump", "-#", "-r", str(capture)])

    def test_address_families(self):
        for capture, family, other in ((MARKED, "ipv4", "ipv6"), (PCAPS / "siw-ucmatose.pcap", "ipv4", "ipv6")):
            self.assertEqual(self.check(f'{REST}addresses = "{family}"\n', "-r", capture).returncode, 0)
            seen = {each["seen"] for each in self.violations(f'{REST}addresses = "{other}"\n', "-r", capture)}
            self.assertEqual(seen, {"IPv4"})

    def test_what_must_not_exist(self):
        rules = '[[rule]]\nname = "no iWARP"\nmatch = "transport == \\"iwarp\\""\nforbidden = true\n'
        self.assertEqual(self.check(rules, "-r", MARKED).returncode, 0)
        self.assertIn("No rule is about 4 flows.", self.check(rules, "-r", MARKED).stdout)
        self.assertEqual({each["seen"] for each in self.violations(rules, "-r", PCAPS / "siw-ucmatose.pcap")}, {"the flow exists"})

    def flows(self, capture):
        return {(flow["source"]["address"], flow["destination"]["qpn"]): flow
                for flow in json.loads(run("flows", "--json", "-n", "-r", capture).stdout)["flows"]}

    def mixed(self):
        """MARKED with another DSCP on every tenth frame of the data, and a VLAN tag on all frames after number 500."""
        def change(number, frame):
            data = frame[26:30] == bytes([192, 0, 2, 2]) and frame[23] == 17
            if data and number % 10 == 0:
                frame = with_dscp(frame, 46)
            return with_tag(frame, 5) if number > 500 else frame
        return rewrite(MARKED, self.folder / "mixed.pcap", change)

    @needs("tshark")
    def test_the_class_of_every_packet(self):
        for capture in (self.mixed(), MARKED, capture_named("rxe-ecn-ce-write-bw")):
            flows = self.flows(capture)
            expected = classes_by_flow(capture)
            self.assertEqual(set(flows), set(expected))
            for key, classes in expected.items():
                with self.subTest(capture=capture.name, flow=key):
                    flow = flows[key]
                    changes = sum(one != next_one for one, next_one in zip(classes, classes[1:]))
                    self.assertEqual((flow["vlan_priority"], flow["service_level"], flow["partition_key"]), classes[0][1:])
                    self.assertEqual(flow["classes"], min(len(set(classes)), 4))
                    self.assertEqual(flow["class_changes"], changes)

    @needs("tshark")
    def test_a_class_that_changes_within_a_flow(self):
        capture = self.mixed()
        classes = classes_by_flow(capture)[DATA]
        violations = self.violations('[[rule]]\nname = "data"\nmatch = "destination.qpn == 0x27 && source.address == \\"192.0.2.2\\""\n'
                                     'dscp = "AF31"\n', "-r", capture)
        self.assertEqual(len(violations), 1)
        self.assertEqual(violations[0]["packets"], sum(one[0] == 46 for one in classes))
        self.assertEqual(violations[0]["flow_packets"], len(classes))
        self.assertIn("DSCP EF (46)", violations[0]["seen"])
        self.assertIn(f"changes {violations[0]['class_changes']} times within the flow", violations[0]["seen"])
        self.assertEqual(violations[0]["first_frame"] % 10, 0)

    def test_priority_level_and_partition(self):
        capture = self.mixed()
        infiniband = capture_named("made-erf-infiniband")
        self.assertEqual(self.check(REST + "vlan_priority = 5\n", "-r", capture).returncode, 0)
        self.assertTrue(all("VLAN priority 5" in each["seen"] for each in self.violations(REST + "vlan_priority = 3\n", "-r", capture)))
        # tshark: SL 1 and P_Key 0x2487 to queue pair 0x87b1b3, SL 3 and SL 0 to 0x12.
        seen = {each["seen"] for each in self.violations(REST + "service_level = 0\n", "-r", infiniband)}
        self.assertTrue(any(each.startswith("SL 1") for each in seen) and any(each.startswith("SL 3") for each in seen), seen)
        self.assertEqual([each["seen"] for each in self.violations(REST + "partition_key = 0xffff\n", "-r", infiniband)],
                         ["P_Key 0x2487"])

    def test_what_a_rule_is_about(self):
        for keys, flows in (('from = "192.0.2.2"', 2), ('to = "192.0.2.0/24"', 4), ('hosts = "198.51.100.0/24"', 0),
                            ('from = "a"', 2), ("ports = 20049", 0), ('protocol = "nvme"', 0), ('process = "*"', 0)):
            rules = f'[labels]\na = ["192.0.2.2", "2001:db8::1"]\n[[rule]]\nname = "b"\n{keys}\ndscp = [0, 26]\n'
            document = json.loads(self.check(rules, "--json", "-r", MARKED).stdout)
            self.assertEqual(document["rules"][0]["flows"], flows, keys)

    def test_services_and_protocols(self):
        # The REQs of nvme-rdma-rxe ask for service 0x1061144, port 4420, as tshark says.
        capture = capture_named("nvme-rdma-rxe")
        for keys in ("ports = 4420", 'ports = "4000-5000"', 'match = "connection.service_id == 0x1061144"', 'protocol = "nvme"',
                     "service_ids = 0x1061144", 'service_ids = [7, "0x1060000-0x106ffff"]'):
            rules = f'[[rule]]\nname = "nvme"\n{keys}\ndscp = "EF"\n'
            violations = self.violations(rules, "-r", capture)
            self.assertGreater(len(violations), 1, keys)
            self.assertIn("nvme connect --tos=184 ", violations[0]["remedies"][0])

    def test_ports_and_partitions(self):
        # tshark: NVMe has service 0x1061144; ucmatose port 7471; UDP source port 51422 to queue pair 0x27 in MARKED, 64972 to 0x26.
        for capture, keys, seen in (("nvme-rdma-rxe", 'protocol = "nvme"\nport_range = "5000-6000"', {"port 4420"}),
                                    ("nvme-rdma-rxe", 'protocol = "nvme"\nport_range = [1, "4000-5000"]', set()),
                                    ("siw-ucmatose", 'port_range = "7000-7470"', {f"port {one} to {two}" for client in (45192, 52964, 42482)
                                                                                  for one, two in ((client, 7471), (7471, client))}),
                                    ("siw-ucmatose", "port_range = 7471", set()),
                                    ("rxe-write-bw-64k-tos", "udp_source_port = 51422", {"UDP source port 64972"}),
                                    ("rxe-write-bw-64k-tos", 'udp_source_port = "49152-65535"', set()),
                                    ("made-erf-infiniband", "partitions = 0x2487\nservice_level = 0", {"SL 1"}),
                                    ("made-erf-infiniband", "partitions = 0xa487\nservice_level = 1", set())):
            with self.subTest(capture=capture, keys=keys):
                document = json.loads(self.check(f"{REST}{keys}\n", "--json", "-r", capture_named(capture)).stdout)
                self.assertGreater(document["rules"][0]["flows"], 0)
                self.assertEqual({each["seen"] for each in document["rules"][0]["violations"]}, seen)

    def test_encryption(self):
        """MARKED with every hundredth frame as ESP (IP protocol 50): nothing of it can be read."""
        def change(number, frame):
            if number % 100 != 0:
                return frame
            total = (~struct.unpack_from(">H", frame, 24)[0] & 0xffff) + 50 - frame[23]
            return frame[:23] + b"\x32" + struct.pack(">H", ~(total + (total >> 16)) & 0xffff) + frame[26:]
        capture = rewrite(MARKED, self.folder / "esp.pcap", change)
        frames = 0
        data, at = capture.read_bytes(), 24
        while at < len(data):
            frames += data[at + 16 + 23] == 50
            at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        rules = '[[rule]]\nname = "plain"\nencryption = false\n' + REST + "dscp = [0, 26]\n"
        done = self.check(rules, "--json", "-r", capture)
        self.assertEqual((done.returncode, json.loads(done.stdout)["rules"][0]["encrypted_frames"]), (3, frames))
        self.assertIn(f"{frames} frames of IP protocol 50 (ESP", self.check(rules, "-r", capture).stdout)
        permitted = self.check(rules.replace("false", "true"), "-r", capture)
        self.assertEqual(permitted.returncode, 0)
        self.assertTrue(permitted.stdout.startswith("OK: "), permitted.stdout)
        self.assertRegex(permitted.stdout, rf'Encrypted, .*: {frames} frames of IP protocol 50 \(ESP, encrypted\); rule "plain" permits it\.')
        self.assertEqual(self.check(rules, "-r", MARKED).returncode, 0)

    def test_encryption_and_nothing_else(self):
        """Every frame of MARKED as ESP: what the file says of encryption is all there is to judge."""
        def change(_number, frame):
            total = (~struct.unpack_from(">H", frame, 24)[0] & 0xffff) + 50 - frame[23]
            return frame[:23] + b"\x32" + struct.pack(">H", ~(total + (total >> 16)) & 0xffff) + frame[26:]
        capture = rewrite(MARKED, self.folder / "esp-only.pcap", change)
        no = '[[rule]]\nname = "plain"\nencryption = false\n'
        yes = '[[rule]]\nname = "tunnels"\nencryption = true\n'
        rest = REST + "dscp = 0\n"
        for rules in (no, no + yes, rest + no):
            done = self.check(rules, "-r", capture)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertRegex(done.stdout, r"^WRONG: 1 of [12] rules? broken, by [0-9,]+ encrypted frames\.")
            self.assertEqual(self.check(rules, "--fail-on", "wrong", "-r", capture).returncode, 3)
        for rules in (yes, yes + no, rest, rest + yes):
            done = self.check(rules, "-r", capture)
            self.assertEqual(done.returncode, 4, done.stdout)
            self.assertNotIn("WRONG", done.stdout)
            self.assertIn("frames of IP protocol 50 (ESP, encrypted); " + ("no rule is about encryption" if rules == rest else 'rule "tunnels" permits it'), done.stdout)
            why = run("why", "--policy", self.folder / "rules.toml", "-n", "-r", capture)
            self.assertNotIn("WRONG", why.stdout)

    def test_what_counts_as_a_failure(self):
        broken = REST + "dscp = 0\n"
        small = '[[rule]]\nname = "acks"\nfrom = "192.0.2.1"\ndscp = 0\n' + REST + "dscp = [0, 26]\n"
        for rules, what, status in ((broken, "wrong", 3), (broken, "never", 0), (small, "minor", 3), (small, "wrong", 0),
                                    ('[[rule]]\nname = "a"\nfrom = "192.0.2.1"\ndscp = [0, 26]\n', "unruled", 3)):
            self.assertEqual(self.check(rules, "--fail-on", what, "-r", MARKED).returncode, status, (rules, what))
        self.assertTrue(self.check(small, "-r", MARKED).stdout.startswith("MINOR: 1 of 2 rules broken, by 1 flow"))

    def test_what_is_learnt_is_kept(self):
        for name in VARIED:
            with self.subTest(capture=name):
                capture = capture_named(name)
                learnt = run("policy", "learn", "-n", "-r", capture)
                self.assertEqual(learnt.returncode, 0, learnt.stderr)
                done = self.check(learnt.stdout, "--fail-on", "unruled", "-r", capture)
                self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "OK: the traffic keeps to the rules."), learnt.stdout)

    def test_why_asks_for_the_policy(self):
        path = self.folder / "rules.toml"
        for rules, verdict, status in (("dscp = 0", "policy_broken", 3), ("dscp = [0, 26]", "policy_kept", None)):
            path.write_text(REST + rules + "\n")
            done = run("why", "--policy", path, "--json", "--fail-on", "minor", "-n", "-r", MARKED)
            answers = [each for each in json.loads(done.stdout)["answers"] if each["question"] == "policy"]
            self.assertEqual([each["verdict"] for each in answers], [verdict])
            if status is not None:
                self.assertEqual(done.returncode, status)
                self.assertIn("cma_roce_tos -d DEVICE -t 0", answers[0]["advice"])
        without = json.loads(run("why", "--json", "-r", MARKED).stdout)["answers"]
        self.assertNotIn("policy", {each["question"] for each in without})

    def test_the_page_shows_what_is_printed(self):
        page = (ROOT / "docs/policy.md").read_text()
        rules = re.search(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
        path = self.folder / "classes.toml"
        path.write_text(rules)
        examples = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(examples), 2)
        for command, shown in examples:
            words = [str(path) if word == "classes.toml" else word for word in shlex.split(command)[1:]]
            self.assertEqual(run(*words, cwd=ROOT).stdout, shown)

    def test_no_flow(self):
        done = self.check(REST + "dscp = 0\n", "-r", MARKED, "host", "192.0.2.99")
        self.assertEqual((done.returncode, done.stdout), (4, "NOTHING TO JUDGE: no flow was seen.\n"))
        done = self.check(REST + "dscp = 0\n", "--json", "-r", MARKED, "host", "192.0.2.99")
        self.assertEqual((done.returncode, json.loads(done.stdout)["grade"]), (4, "nothing"))

    def test_rules_that_are_wrong(self):
        text = 'rules = 3\n[[rule]]\nname = "a"\nmatch = "destination.prt == 1"\ndscp = 64\n[[rule]]\ndcsp = "AF31"\n'
        done = self.check(text, "-r", MARKED)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        prefix = f"rdmascope policy check: {self.folder / 'rules.toml'}"
        self.assertTrue(all(line.startswith(prefix) for line in done.stderr.splitlines()), done.stderr)
        places = [line.removeprefix(prefix).split(": ")[0] for line in done.stderr.splitlines()]
        self.assertEqual(places, [":1:1", ":4:1", ":5:1", ":6:1", ":6:1", ":7:1"])
        for reason in ("there is no such key; rules are tables [[rule]]", "destination.prt is not a known column", "a number from 0 to 63",
                       "a rule without a name", "the rule expects nothing", "did you mean 'dscp'?"):
            self.assertIn(reason, done.stderr)

    def test_command_lines_that_are_wrong(self):
        for arguments, reason in (([], "what shall it do? check or learn"), (["teach"], "there is no part 'teach'"),
                                  (["learn", "--json", "-r", MARKED], "leave out --json"), (["check", "--fail-on", "x"], "wrong, minor"),
                                  (["check", "-r", MARKED], "--rules FILE is missing"),
                                  (["check", "--rules", self.folder / "absent.toml", "-r", MARKED], "No such file")):
            done = run("policy", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(reason, done.stderr)
            self.assertTrue(done.stderr.startswith("rdmascope policy"), done.stderr)
        absent = run("why", "--policy", self.folder / "absent.toml", "-r", MARKED)
        self.assertEqual((absent.returncode, absent.stderr), (2, f"rdmascope why: {self.folder / 'absent.toml'}: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
