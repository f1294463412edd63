"""The five answers: a page for people, JSON for scripts, and commands on the page that work when they are copied."""
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, compressed_captures, plain_captures, run

LOSS = PCAPS / "rxe-loss1pct-send-bw.pcap.gz"
RNR = PCAPS / "rxe-verbs-rnr.pcap"
CLEAN = PCAPS / "rxe-rping.pcap"
QUESTIONS = ["bandwidth", "latency", "qp_cache", "congestion", "queue_depth"]
WITH_COMMANDS = ("nvme-rdma", "nfs-rdma-rxe.", "nfs-rdma-siw.", "iser-rxe.", "srp-rxe.")


def why(*arguments, **options):
    return run("why", *arguments, **options)


class Diff(TestCase):
    """Two captures of ib_send_bw between the same hosts: one on a good network, one that loses 1 %."""

    BEFORE, AFTER = PCAPS / "rxe-send-bw-64k.pcap", LOSS

    def compare(self, before, after, *arguments, status=0):
        result = why("--diff", before, after, "--json", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def test_what_appeared_is_worse(self):
        document = self.compare(self.BEFORE, self.AFTER)
        first = document["findings"][0]
        self.assertEqual(first["change"], "appeared")
        self.assertIsNone(first["before"])
        alone = json.loads(self.succeeds(why("--json", "-r", self.AFTER)))
        self.assertEqual(document["grade"], alone["grade"])
        self.assertEqual({finding["verdict"] for finding in document["findings"] if finding["change"] == "appeared"},
                         {answer["verdict"] for answer in alone["answers"] if answer["alarm"]})

    def test_the_other_way_round_it_is_gone(self):
        document = self.compare(self.AFTER, self.BEFORE)
        self.assertEqual({finding["change"] for finding in document["findings"]}, {"gone"})

    def test_groups_hold_what_flows_prints(self):
        flows = json.loads(self.succeeds(run("flows", "--json", "-r", self.AFTER)))["flows"]
        for group in self.compare(self.BEFORE, self.AFTER)["groups"]:
            after = group["after"]
            if after is None:
                continue
            mine = [flow for flow in flows if flow["source"]["address"] == group["source"]
                    and flow["destination"]["address"] == group["destination"]]
            self.assertEqual(after["flows"], [flow["id"] for flow in mine])
            self.assertEqual(after["packets"], sum(flow["packets"] for flow in mine))
            self.assertEqual(after["retransmitted_packets"], sum(flow["retransmitted_packets"] or 0 for flow in mine))

    def test_more_that_is_sent_again_is_among_the_changes(self):
        changes = [change for group in self.compare(self.BEFORE, self.AFTER)["groups"] for change in group["changes"]]
        again = [change for change in changes if change["figure"] == "retransmitted"]
        self.assertTrue(again)
        self.assertTrue(all(change["worse"] and change["after"] > change["before"] for change in again))

    def test_the_same_capture_has_no_change(self):
        document = self.compare(LOSS, LOSS, "--fail-on", "suspected")
        self.assertEqual(document["grade"], "ok")
        self.assertEqual({finding["change"] for finding in document["findings"]}, {"same"})
        self.assertEqual([group["changes"] for group in document["groups"]], [[]] * len(document["groups"]))

    def test_fail_on_is_about_what_got_worse(self):
        self.compare(self.BEFORE, self.AFTER, "--fail-on", "wrong", status=3)
        self.compare(self.AFTER, self.BEFORE, "--fail-on", "wrong")

    def test_the_page_begins_with_both_first_lines(self):
        page = self.succeeds(why("--diff", self.BEFORE, self.AFTER)).splitlines()
        self.assertTrue(page[0].startswith(f"Before:  {self.BEFORE}: "), page[0])
        self.assertTrue(page[1].startswith(f"After:   {self.AFTER}: WRONG ("), page[1])
        self.assertEqual(page[3], "Worse")

    def test_mistakes(self):
        for arguments in ([LOSS], [LOSS, LOSS, LOSS], ["-i", "lo"]):
            self.assertIn("--diff compares two captures", self.fails(why("--diff", *arguments), 2))
        self.assertIn("--flow", self.fails(why("--diff", LOSS, LOSS, "--flow", "1"), 2))
        self.assertIn("/no/such.pcap", self.fails(why("--diff", LOSS, "/no/such.pcap"), 1))


def documented():
    """{question: {verdict: whether it may alarm}} as the manual lists them."""
    verdicts, question = {}, None
    for line in (ROOT / "docs/why.md").read_text().splitlines():
        if line.startswith("## "):
            question = line[3:]
        row = re.match(r"\| `(\w+)` \| (yes|no) \|", line)
        if row:
            verdicts.setdefault(question, {})[row[1]] = row[2] == "yes"
    return verdicts


class FailOn(TestCase):
    """The exit status, which is all that a script needs."""

    def test_it_tells_grades_apart(self):
        for grade, capture, status in (("wrong", LOSS, 3), ("suspected", LOSS, 3), ("suspected", CLEAN, 0)):
            with self.subTest(grade=grade, capture=capture.name):
                self.assertEqual(why("--fail-on", grade, "-r", capture).returncode, status)

    def test_nothing_to_judge_is_not_right(self):
        for arguments in (["-r", PCAPS / "smc-fallback-tcp.pcap.gz"], ["-r", CLEAN, "arp"]):
            for output in ([], ["--json"]):
                self.assertEqual(why("--fail-on", "wrong", *output, *arguments).returncode, 4)
            self.assertEqual(why(*arguments).returncode, 0)


class Json(TestCase):
    def answers(self, *arguments):
        document = json.loads(self.succeeds(why("--json", *arguments)))
        self.assertEqual(list(document), ["capture", "grade", "notes", "answers"])
        return document

    def test_every_capture_has_five_documented_answers(self):
        verdicts = documented()
        self.assertEqual(list(verdicts), [*QUESTIONS, "path", "commands", "policy"])
        for capture in plain_captures() + compressed_captures():
            with self.subTest(capture=capture.name):
                document = self.answers("-r", capture)
                answers = document["answers"]
                asked = {answer["question"] for answer in answers}
                if capture.name.startswith(WITH_COMMANDS):
                    self.assertEqual(asked - {"path"}, {*QUESTIONS, "commands"})
                else:
                    self.assertEqual(asked - {"commands", "path"}, set(QUESTIONS))
                grades = ["wrong", "minor", "suspected", "ok"]
                severities = [(grades.index(answer["grade"]), -answer["severity"]) for answer in answers if answer["alarm"]]
                self.assertEqual(severities, sorted(severities))
                self.assertEqual(document["grade"], answers[0]["grade"] if severities or document["grade"] != "nothing"
                                 else "nothing")
                self.assertEqual([answer["alarm"] for answer in answers],
                                 [True] * len(severities) + [False] * (len(answers) - len(severities)))
                for answer in answers:
                    self.assertIn(answer["verdict"], verdicts[answer["question"]])
                    if answer["alarm"]:
                        self.assertTrue(verdicts[answer["question"]][answer["verdict"]])
                    self.assertTrue(0 <= answer["confidence"] <= 1, answer)
                    self.assertTrue(0 <= answer["severity"] <= 1, answer)
                    self.assertIn(answer["vantage"], ["sender", "receiver", "mid_path", None])
                    self.assertRegex(answer["summary"], r"\S\.$")
                    self.assertRegex(answer["advice"], r"\S\.$")
                    for evidence in answer["evidence"]:
                        self.assertEqual(list(evidence), ["what", "value", "unit", "frames"])
                        self.assertIsInstance(evidence["value"], (int, float))
                        self.assertEqual(evidence["frames"], sorted(set(evidence["frames"])))
                        for frame in evidence["frames"]:
                            self.assertTrue(1 <= frame <= document["capture"]["packets"])

    def test_flows_and_why_speak_of_the_same_capture(self):
        flows = json.loads(self.succeeds(run("flows", "--json", "-r", LOSS)))
        document = self.answers("-r", LOSS)
        self.assertEqual(document["capture"], flows["capture"])
        known = {flow["id"] for flow in flows["flows"]}
        for answer in document["answers"]:
            self.assertLessEqual(set(answer["flows"]), known)

    def test_one_flow(self):
        worst = self.answers("-r", LOSS)["answers"][0]
        self.assertEqual(worst["verdict"], "loss_before_tap")
        alone = self.answers("-r", LOSS, "--flow", worst["flows"][0])["answers"][0]
        self.assertEqual((alone["verdict"], alone["flows"]), (worst["verdict"], worst["flows"]))
        flows = json.loads(self.succeeds(run("flows", "--json", "-r", LOSS)))["flows"]
        lossy = {worst["flows"][0]}
        well = next(flow["id"] for flow in flows if flow["id"] not in lossy and flow["reverse"] not in lossy)
        self.assertFalse(any(answer["alarm"] for answer in self.answers("-r", LOSS, "--flow", well)["answers"]))

    def test_no_command_waits_beyond_its_connection(self):
        # tshark: the command of frame 4523 was sent at 763.739119 s, the DREQ of its connection (frame 4752) at
        # 795.284576 s, which is the host's own time-out of 30 s. The capture goes on for 18 s.
        answers = self.answers("-r", PCAPS / "nvme-rdma-rxe-loss.pcap.gz")["answers"]
        waits = [evidence["value"] for answer in answers if answer["verdict"] == "unanswered"
                 for evidence in answer["evidence"] if evidence["what"] == "longest wait"]
        self.assertEqual(waits, [795_284_576_000 - 763_739_119_000])

    def test_any_number_of_workers_gives_the_same_answers(self):
        self.assertEqual(self.answers("-r", LOSS, "--threads", 1), self.answers("-r", LOSS, "--threads", 3))


class Page(TestCase):
    def page(self, *arguments, **options):
        return self.succeeds(why("-n", *arguments, **options))

    def test_the_first_line_is_the_verdict(self):
        self.assertTrue(self.page("-r", RNR).startswith("WRONG (98.9 % of the busy time): The receiver was not"))
        self.assertTrue(self.page("-r", CLEAN).startswith("OK: "))
        self.assertTrue(self.page("-r", PCAPS / "smc-fallback-tcp.pcap.gz").startswith("NOTHING TO JUDGE: the capture holds no RDMA"))
        self.assertTrue(self.page("-r", PCAPS / "rxe-verbs-idle.pcap").startswith(
            "NOTHING TO JUDGE: RDMA connections were set up or ended, but no data passed.\n"))

    def test_the_receiver_that_is_not_ready(self):
        """655.36 ms is the timer in frame 6; the sender repeated after 676 ms by the capture's clock."""
        page = self.page("-r", RNR)
        self.assertIn("192.0.2.1 was not ready: it refused 1 message from 192.0.2.2", " ".join(page.split()))
        self.assertRegex(page, r"longest RNR timer asked for +655 ms\n")
        self.assertRegex(page, r"receiver-not-ready NAKs +1 NAK\n")
        frames = re.search(r"frame.number in \{([0-9, ]+)\}", page)[1].split(", ")
        self.assertIn("6", frames)

    def test_the_command_on_the_page_shows_the_frames(self):
        copy = self.folder / "it's a capture.pcap"
        copy.write_bytes(RNR.read_bytes())
        line = re.search(r"See: +(rdmascope dump .*)", self.page("-r", copy))[1]
        words = shlex.split(line)
        shown = subprocess.run([BINARY, *words[1:]], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        wanted = re.search(r"\{([0-9, ]+)\}", line)[1].split(", ")
        self.assertEqual([row.split()[0] for row in shown.stdout.splitlines()], wanted)

    def test_frames_of_standard_input_are_only_named(self):
        page = self.page("-r", "-", input=RNR.read_bytes(), text=False).decode()
        self.assertIn("frames 6, 7, 8", page)
        self.assertNotIn("dump -#", page)

    def test_every_calm_question_has_its_line(self):
        page = self.page("-r", RNR)
        for question in QUESTIONS[1:]:
            self.assertRegex(page, rf"(?m)^{question} +\w+: ")

    def test_packets_out_of_order_are_told_and_are_not_missing(self):
        data = CLEAN.read_bytes()
        order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        records, at = [], 24
        while at < len(data):
            length = 16 + struct.unpack_from(order + "I", data, at + 8)[0]
            records.append(data[at:at + length])
            at += length
        times = [struct.unpack_from(order + "II", record) for record in records]
        place = next(i for i in range(len(times) // 2, len(times)) if times[i] < times[i + 1])
        records[place:place + 2] = records[place + 1], records[place]
        path = self.folder / "swapped.pcap"
        path.write_bytes(data[:24] + b"".join(records))
        page = " ".join(self.succeeds(why("-r", path)).split())
        self.assertIn("Note: 1 packet is out of the order of time.", page)
        self.assertNotIn("not complete", page)
        self.assertNotIn("out of the order", self.succeeds(why("-r", CLEAN)))

    def test_more_with_v(self):
        brief, full = self.page("-r", LOSS), self.page("-r", LOSS, "-v")
        self.assertGreater(len(full.splitlines()), len(brief.splitlines()) + 10)
        self.assertGreaterEqual(full.count("Sure:"), 5)

    def test_ascii_where_the_locale_is_not_utf8(self):
        plain = self.page("-r", LOSS, "-v", env={**ENVIRONMENT, "LC_ALL": "C"})
        self.assertTrue(plain.isascii())
        self.assertFalse(self.page("-r", LOSS).isascii())

    def test_no_colour_but_on_a_terminal(self):
        self.assertNotIn("\x1b", self.page("-r", LOSS))
        self.assertIn("\x1b[", self.page("-r", LOSS, "--color=always"))

    def on_terminal(self, columns, **environment):
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {**ENVIRONMENT, "TERM": "xterm", **environment}
        child = subprocess.Popen([BINARY, "why", "-n", "-r", str(RNR)], stdout=terminal, stderr=subprocess.DEVNULL,
                                 env=environment)
        os.close(terminal)
        text = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(main)
        self.assertEqual(child.wait(), 0)
        return text.decode().replace("\r\n", "\n")

    def test_lines_fit_the_terminal(self):
        for columns in (60, 100):
            text = re.sub(r"\x1b\[[0-9;]*m", "", self.on_terminal(columns))
            lines = [line for line in text.splitlines() if "rdmascope dump" not in line]
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertGreater(max(map(len, lines)), columns - 20)

    def test_colour_on_a_terminal_unless_told_otherwise(self):
        self.assertIn("\x1b[", self.on_terminal(80))
        self.assertNotIn("\x1b[", self.on_terminal(80, NO_COLOR="1"))
        self.assertNotIn("\x1b[", self.on_terminal(80, TERM="dumb"))


class Failures(TestCase):
    def test_a_flow_that_is_not_there(self):
        self.assertIn("there is no flow 424242", self.fails(why("-r", RNR, "--flow", 424242)))

    def test_no_source(self):
        self.fails(why(), status=2)

    def test_wrong_values(self):
        self.fails(why("-r", RNR, "--flow", "x"), status=2)
        self.fails(why("-r", RNR, "--color", "mauve"), status=2)

    def test_no_such_file(self):
        self.fails(why("-r", self.folder / "missing.pcap"))

    def test_a_file_that_breaks_off_is_answered_as_far_as_it_goes(self):
        broken = self.folder / "broken.pcap"
        broken.write_bytes(RNR.read_bytes()[:-7])
        result = why("-n", "-r", broken)
        self.fails(result)
        self.assertTrue(result.stdout.startswith("WRONG (98.9 % of the busy time): The receiver was not"))


class Documentation(TestCase):
    def test_the_manual_has_every_option_and_verdict(self):
        page = (ROOT / "docs/man/rdmascope-why.1").read_text().replace("\\-", "-")
        words = set(re.findall(r"(?<![\w-])(--?[\w#][\w-]*)", page))
        text = self.succeeds(why("--help"))
        found = re.findall(r"^(?:  (-\S)(?:, (--[\w-]+))?|      (--[\w-]+))", text, re.MULTILINE)
        self.assertGreater(len(found), 15)
        for option in found:
            for spelling in filter(None, option):
                self.assertIn(spelling, words)
        for question, verdicts in documented().items():
            section = page.split(f".SS {question}\n")[1].split("\n.SS ")[0]
            for name, alarms in verdicts.items():
                self.assertRegex(section, rf"(?m)^\.B {name}{' .fR.alarm.' if alarms else ''}$")


if __name__ == "__main__":
    unittest.main()
