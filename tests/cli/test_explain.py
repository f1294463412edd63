"""`explain` on lines, codes and logs, and on captures whose programs reported a status: the true cause is in the report next to the
capture."""
import gzip
import json
import os
import re
import subprocess
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, needs, run

CASES = ROOT / "tests/cases/captures"
LINE = "Failed status {} ({}) for wr_id 7"


def explained(*arguments, **options):
    done = run("explain", "--json", "-n", *arguments, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def reported_statuses(capture, left_out=(0, 5)):
    """Number and words of the completions that the programs reported; successful and flushed ones are left out."""
    text = (PCAPS / f"{capture}.json").read_text(encoding="utf-8")
    found = re.findall(r'\\"status\\":(\d+),\\"status_str\\":\\"([^\\"]+)\\"', text)
    return sorted({(int(number), words) for number, words in found if int(number) not in left_out})


class Explain(TestCase):
    def test_codes(self):
        for words, status in ((["12"], 12), (["IBV_WC_RNR_RETRY_EXC_ERR"], 13), (["vendor err 129"], 12), (["vendor", "err", "129"], 12)):
            with self.subTest(words=words):
                self.assertEqual([each["status"]["number"] for each in explained(*words)], [status])
        self.assertEqual([each["status"]["number"] for each in explained("12", "13")], [12, 13])
        self.assertEqual(explained("rej", "28")[0]["reason"]["number"], 28)
        page = self.succeeds(run("explain", "12"))
        for text in ("IBV_WC_RETRY_EXC_ERR (12)", "did not answer", "Causes:", "1. ", "4.096 us x 2^timeout x (retries + 1)", "Next:"):
            self.assertIn(text, page)

    def test_what_is_not_known(self):
        done = run("explain", "hello world", "12345")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("no known line or code in 2 lines", done.stderr)
        self.assertEqual(run("explain", "--json", "hello").stdout, "[]\n")
        self.fails(run("explain", "12", "--from", "11:00", "-r", "x.pcap"), 2)
        self.fails(run("explain", "--no-such"), 2)
        self.fails(run("explain", "12", "-r", self.folder / "missing.pcap"), 1)

    def test_a_log(self):
        log = self.folder / "job.log"
        lines = ["step 1", "NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.", "cq completion failed status 5",
                 "x NCCL WARN NET/IB : Got completion from peer 192.0.2.9<1> with status=12 opcode=0 len=0 vendor err 129 (Send)",
                 "cq completion failed status 5", "12", "\x1b[2J" + "x" * 100000]
        log.write_text("\n".join(lines))
        for options in ([log], ["-"], []):
            with self.subTest(options=options):
                causes = explained(*options, input=log.read_text())
                self.assertEqual([(each["status"]["number"], each["first_line"], each["lines"]) for each in causes], [(5, 3, 2), (12, 4, 1)])
                # 4.096 us x 2^22 x 8
                self.assertEqual([each["gave_up_after_ns"] for each in causes], [None, 137438953472])
                self.assertEqual([each["consequence"] for each in causes], [True, False])
        page = self.succeeds(run("explain", log))
        self.assertIn("3 of 7 lines are about RDMA, with 2 causes. The first: IBV_WC_RETRY_EXC_ERR (12), line 4.", page)
        self.assertEqual(explained("-", input="12\n")[0]["status"]["number"], 12)

    @needs("zstd")
    def test_a_capture_in_the_place_of_a_log(self):
        capture = (PCAPS / "rxe-read-bw-64.pcap").read_bytes()
        erf = (PCAPS / "made-erf.pcap").read_bytes()
        records, place = b"", 24
        while place < len(erf):
            length = int.from_bytes(erf[place + 8:place + 12], "little")
            records += erf[place + 16:place + 16 + length]
            place += 16 + length
        names = {"a.pcap": capture, "a.pcap.gz": gzip.compress(capture), "a.erf": records, "a.log": capture,
                 "a.pcap.zst": subprocess.run(["zstd", "-q", "-c"], input=capture, capture_output=True, check=True).stdout}
        for name, content in names.items():
            (self.folder / name).write_bytes(content)
        self.succeeds(run("dump", "-r", self.folder / "a.pcap", "-w", self.folder / "a.pcapng"))
        self.succeeds(run("dump", "-r", self.folder / "a.erf", "--count"))
        for name in [*names, "a.pcapng"]:
            for words in (["12", name], [name], [name, "12"], ["--follow", name]):
                with self.subTest(words=words):
                    done = run("explain", *words, cwd=self.folder)
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertEqual(done.stderr, f"rdmascope explain: {name}: is a capture, and a log is expected; read it with -r FILE\n")
        self.succeeds(run("explain", "12", "-r", "a.pcap", cwd=self.folder))

    def test_the_true_cause_of_a_status(self):
        """What rxe and siw reported, joined with their packets."""
        verdicts = {8: "remote_access_error", 9: "invalid_request", 10: "remote_access_error", 11: "remote_operational_error",
                    13: "rnr_retries_used_up"}
        seen = set()
        for capture in ("rxe-verbs-badrkey-w", "rxe-verbs-badrkey-a", "rxe-verbs-perm-w", "rxe-verbs-oob-r", "rxe-verbs-oob-w",
                        "rxe-verbs-noaccess-w", "rxe-verbs-rnr-fail", "rxe-verbs-toolong"):
            statuses = reported_statuses(capture)
            self.assertTrue(statuses, capture)
            for number, words in statuses:
                with self.subTest(capture=capture, status=number):
                    seen.add(number)
                    cause, = explained(LINE.format(words, number), "-r", PCAPS / f"{capture}.pcap")
                    self.assertEqual(cause["status"]["number"], number)
                    self.assertIsNotNone(cause["found"], cause["not_found"])
                    if number in verdicts:
                        self.assertEqual(cause["found"]["verdict"], verdicts[number], cause["found"])
                        self.assertFalse(cause["found"]["network"])
                        self.assertTrue(cause["found"]["frames"])
        self.assertEqual(seen, {2, 9, 10, 11, 13})

    def test_a_flush_leads_to_its_cause(self):
        """Status 5 of each program whose requests were refused. siw completes nothing with 10 or 13: 5 is all that its programs see."""
        for capture, verdict in (("rxe-verbs-badrkey-w", "remote_access_error"), ("rxe-verbs-inv", "remote_access_error"),
                                 ("rxe-verbs-toolong", "remote_operational_error"), ("rxe-verbs-rnr-fail", "rnr_retries_used_up"),
                                 ("siw-verbs-badrkey-w", "remote_access_error"), ("siw-verbs-badrkey-r", "remote_access_error"),
                                 ("siw-verbs-oob-r", "remote_access_error"), ("siw-verbs-perm-w", "remote_access_error"),
                                 ("siw-verbs-rnr", "rnr")):
            with self.subTest(capture=capture):
                reported = dict(reported_statuses(capture, left_out=(0,)))
                cause, = explained(LINE.format(reported[5], 5), "-r", PCAPS / f"{capture}.pcap")
                self.assertIs(cause["consequence"], True)
                self.assertEqual(cause["found"]["verdict"], verdict, cause["found"])
                self.assertIs(cause["found"]["network"], False)
                self.assertTrue(cause["found"]["frames"])

    def test_no_answer(self):
        cause, = explained(LINE.format("transport retry counter exceeded", 12), "-r", CASES / "no-answer.pcap")
        self.assertEqual(cause["found"]["verdict"], "never_answered")
        self.assertIsNone(cause["found"]["network"])
        cause, = explained(LINE.format("transport retry counter exceeded", 12), "-r", CASES / "mtu-only-large-lost.pcap")
        self.assertEqual(cause["found"]["verdict"], "path_mtu")
        self.assertTrue(cause["found"]["network"])

    def test_a_status_that_the_capture_does_not_have(self):
        for status, words in ((12, "transport retry counter exceeded"), (13, "RNR retry counter exceeded"), (10, "remote access error")):
            with self.subTest(status=status):
                cause, = explained(LINE.format(words, status), "-r", PCAPS / "rxe-rping.pcap")
                self.assertIsNone(cause["found"])
                self.assertIn("no flow of the capture", cause["not_found"])

    def test_connections_that_failed(self):
        # rping reported this line; frame 2 of the capture is the REJ, with reason 8.
        line = "cma event RDMA_CM_EVENT_REJECTED, error 8"
        self.assertIn(line, (PCAPS / "rxe-cm-reject.json").read_text(encoding="utf-8"))
        cause, = explained(line, "-r", PCAPS / "rxe-cm-reject.pcap")
        self.assertEqual(cause["reason"]["number"], 8)
        self.assertEqual(cause["found"]["verdict"], "connection_rejected", cause["found"])
        self.assertIs(cause["found"]["network"], False)
        self.assertIn(2, cause["found"]["frames"])
        # No attempt of the capture was rejected for another reason.
        cause, = explained("cmatose: event: RDMA_CM_EVENT_REJECTED, error: 28", "-r", PCAPS / "rxe-cm-reject.pcap")
        self.assertEqual(cause["reason"]["number"], 28)
        self.assertIsNone(cause["found"])
        self.assertIn("no attempt to connect", cause["not_found"])
        cause, = explained("cma event RDMA_CM_EVENT_REJECTED, error -111", "-r", PCAPS / "siw-mpa-reject.pcap")
        self.assertEqual(cause["found"]["verdict"], "connection_rejected")
        self.assertFalse(cause["found"]["network"])

    def test_not_the_network(self):
        """rping over rxe without impairment, and a line of a queue pair of it."""
        flows = json.loads(self.succeeds(run("flows", "--json", "-n", "-r", PCAPS / "rxe-rping.pcap")))["flows"]
        flow = next(each for each in flows if each["messages"]["send"]["count"] > 0 and each["source"].get("qpn"))
        line = f"[1] UCX  ERROR send completion with error: Work Request Flushed Error [qpn {flow['source']['qpn']:#x} wrid 0x7 vendor_err 0xf9]"
        cause, = explained(line, "-r", PCAPS / "rxe-rping.pcap")
        found = cause["found"]
        self.assertEqual(found["candidates"], [])
        self.assertIs(found["network"], False, found)
        self.assertRegex(found["summary"], "^Not the network: .* answered everything of flow [0-9]+ until ")
        self.assertIn("nothing was lost, marked or paused", found["summary"])

    def test_following_a_log(self):
        log = self.folder / "growing.log"
        log.write_text("start\n")
        with subprocess.Popen([BINARY, "explain", "--follow", "--json", log], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as program:
            try:
                with open(log, "a", encoding="utf-8") as more:
                    more.write("cq completion failed status 12\n" * 3)
                    more.flush()
                    self.assertEqual(json.loads(program.stdout.readline())["status"]["number"], 12)
                    more.write("cq completion failed status 12\ncq completion failed status 5\n")
                    more.flush()
                    self.assertEqual(json.loads(program.stdout.readline())["status"]["number"], 5)
                    # The last lines before a log is replaced are read, too.
                    more.write("cq completion failed status 9\n")
                os.replace(self.folder / "growing.log", self.folder / "growing.log.1")
                log.write_text("cq completion failed status 10\n")
                self.assertEqual(json.loads(program.stdout.readline())["status"]["number"], 9)
                self.assertEqual(json.loads(program.stdout.readline())["status"]["number"], 10)
            finally:
                program.kill()

    def test_following_a_pipe(self):
        with subprocess.Popen([BINARY, "explain", "--follow"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=ENVIRONMENT) as program:
            program.stdin.write("nothing\ncq completion failed status 13\n")
            program.stdin.flush()
            self.assertIn("IBV_WC_RNR_RETRY_EXC_ERR (13), line 2", program.stdout.readline())
            program.stdin.close()
            program.stdout.read()
            self.assertEqual(program.wait(10), 0)

    def test_many_lines_and_binary_stay_bounded(self):
        started = time.monotonic()
        text = ("2026-11-26T10:20:31Z worker: request done in 12 ms, status 200\n" * 400_000).encode() + os.urandom(2_000_000) + \
            b"\ncq completion failed status 5\n"
        done = subprocess.run([BINARY, "explain", "--json", "-"], input=text, capture_output=True, check=True, env=ENVIRONMENT)
        self.assertEqual([each["status"]["number"] for each in json.loads(done.stdout)], [5])
        self.assertLess(time.monotonic() - started, 30)


if __name__ == "__main__":
    unittest.main()
