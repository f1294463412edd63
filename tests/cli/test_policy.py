"""`policy check` on captures, against tshark: which packets have which DSCP, and which addresses."""
import collections
import json
import re
import shlex
import unittest

from command import PCAPS, ROOT, TestCase, needs, run, tshark

MARKED = PCAPS / "rxe-write-bw-64k-tos.pcap"  # its JSON: ib_write_bw --tos 106, which is DSCP 26 and ECT(0)
PLAIN = PCAPS / "rxe-ucmatose.pcap"
REST = '[[rule]]\nname = "all"\n'


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
                        self.assertEqual(document["grade"], "wrong" if different else "ok")

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

    def test_the_page_shows_what_is_printed(self):
        page = (ROOT / "docs/policy.md").read_text()
        rules = re.search(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
        command, shown = re.search(r"^```console\n\$ (.*?)\n(.*?)^```", page, re.MULTILINE | re.DOTALL).groups()
        path = self.folder / "classes.toml"
        path.write_text(rules)
        words = [str(path) if word == "classes.toml" else word for word in shlex.split(command)[1:]]
        self.assertEqual(run(*words, cwd=ROOT).stdout, shown)

    def test_no_flow(self):
        self.assertEqual(self.check(REST + "dscp = 0\n", "-r", MARKED, "host", "192.0.2.99").returncode, 4)

    def test_rules_that_are_wrong(self):
        text = 'rules = 3\n[[rule]]\nname = "a"\nmatch = "destination.prt == 1"\ndscp = 64\n[[rule]]\ndcsp = "AF31"\n'
        done = self.check(text, "-r", MARKED)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        places = [line.removeprefix(str(self.folder / "rules.toml")).split(": ")[0] for line in done.stderr.splitlines()]
        self.assertEqual(places, [":1:1", ":4:1", ":5:1", ":6:1", ":6:1", ":7:1"])
        for reason in ("there is no such key; rules are tables [[rule]]", "destination.prt is not a known column", "a number from 0 to 63",
                       "a rule without a name", "the rule expects nothing", "did you mean 'dscp'?"):
            self.assertIn(reason, done.stderr)

    def test_command_lines_that_are_wrong(self):
        for arguments, reason in (([], "what shall it do? check"), (["learn"], "there is no part 'learn'"),
                                  (["check", "-r", MARKED], "--rules FILE is missing"),
                                  (["check", "--rules", self.folder / "absent.toml", "-r", MARKED], "No such file")):
            done = run("policy", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main()
