"""`rdmascope report`, as a user sees it: the document against its schema and against `why`, `flows` and `io`; and the page
in a headless Chromium, which drives it by mouse and keyboard."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser, chromium  # noqa: E402
from schema import faults  # noqa: E402

BINARY = os.environ["RDMASCOPE_BINARY"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"
LOSS = PCAPS / "rxe-rxdrop1pct-write-bw.pcap.gz"
NVME = PCAPS / "nvme-rdma-rxe.pcap.gz"
IWARP = PCAPS / "demo-loopback.pcap.gz"
SCHEMA = json.loads((ROOT / "web/schema/report.schema.json").read_text())
HOSTILE = "</script><img src=x onerror=alert(1)>"


def run(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, check=False, **options)


def document_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def marks_of(plot):
    """Frame -> letters, from the differences."""
    frame, found = 0, {}
    for kind, step in zip(plot["marks"]["kinds"], plot["marks"]["frames"]):
        frame += step
        found.setdefault(frame, set()).add(kind)
    return found


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def report(self, capture, *arguments, **options):
        """The path of a page, and its document."""
        path = pathlib.Path(self.folder.name) / "page.html"
        done = run("report", "-n", "-r", capture, "-o", path, *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, document_of(path.read_text())


class Document(Base):
    def test_documents_follow_the_schema_and_the_other_commands(self):
        for capture in (LOSS, NVME, IWARP, PCAPS / "rxe-verbs-rnr.pcap", PCAPS / "made-pause.pcap"):
            with self.subTest(capture=capture.name):
                _, document = self.report(capture)
                self.assertEqual(faults(document, SCHEMA, SCHEMA), [])
                why = json.loads(run("why", "-n", "--json", "-r", capture).stdout)
                self.assertEqual([a["verdict"] for a in document["why"]["answers"]], [a["verdict"] for a in why["answers"]])
                self.assertEqual(document["why"]["grade"], why["grade"])
                first = run("why", "-n", "-r", capture).stdout.decode().splitlines()[0]
                self.assertTrue(first.startswith(document["headline"]["label"]), first)
                flows = {flow["id"]: flow for flow in json.loads(run("flows", "-n", "--json", "-r", capture).stdout)["flows"]}
                for flow in document["flows"]:
                    self.assertEqual({**flow, "problem": None}, {**flows[flow["id"]], "problem": None})
                self.assertEqual(document["commands"], json.loads(run("io", "-n", "--json", "-r", capture).stdout)["connections"])

    def test_a_capture_that_ends_early_is_said_to(self):
        """In the middle of the 57th frame: the 56 before are shown, as tcpdump reads them."""
        cut = pathlib.Path(self.folder.name) / "cut.pcap"
        cut.write_bytes((PCAPS / "rxe-write-bw-64k.pcap").read_bytes()[:20000])
        page = cut.with_suffix(".html")
        done = run("report", "-n", "-r", cut, "-o", page)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cut short", done.stderr)
        document = document_of(page.read_text())
        self.assertTrue(any("could not be read to its end" in each for each in document["left_out"]), document["left_out"])
        self.assertIn("56 packets", document["summary"])
        _, whole = self.report(PCAPS / "rxe-write-bw-64k.pcap")
        self.assertFalse(any("could not be read" in each for each in whole["left_out"]))

    def test_the_time_line_sums_to_the_flows(self):
        for capture in (LOSS, NVME, IWARP):
            _, document = self.report(capture)
            flows = json.loads(run("flows", "-n", "--json", "-r", capture).stdout)["flows"]
            line = document["time_line"]
            self.assertEqual(sum(line["wire_bytes"]), sum(flow["wire_bytes"] for flow in flows))
            self.assertEqual(sum(line["messages"]), sum(each["count"] for flow in flows for each in flow["messages"].values()))
            self.assertEqual(sum(line["resent"]), sum(flow["retransmitted_packets"] or 0 for flow in flows))
            self.assertEqual(sum(line["rnr_naks"]), sum(flow["rnr_naks"] for flow in flows))
            series = {each["flow"]: sum(each.get("wire_bytes", [])) for each in document["series"]["flows"]}
            self.assertEqual(series, {flow["id"]: flow["wire_bytes"] for flow in flows})
            for plot in document["plots"]:
                flow = next(flow for flow in flows if flow["id"] == plot["flow"])
                states = sum(sum(each["states"][1::2]) for each in plot["bins"])
                self.assertEqual(states, sum(flow["state_ns"].values()))

    def test_marks_are_the_frames_that_dump_calls_so(self):
        """NAKs and repeats by their own field of the packet: the AETH's syndrome, and the frame that was repeated."""
        _, document = self.report(LOSS)
        plot = document["plots"][0]
        marks = marks_of(plot)
        fields = run("dump", "-n", "-r", LOSS, "-Y", "infiniband.aeth.syndrome.opcode == 3", "-T", "fields", "-e", "frame.number")
        self.assertEqual({int(line) for line in fields.stdout.split()}, {frame for frame, kinds in marks.items() if "K" in kinds})
        self.assertEqual(plot["marks"]["seen"]["R"], document["flows"][0]["retransmitted_packets"])

    def test_large_plots_keep_what_stands_out(self):
        _, document = self.report(PCAPS / "rxe-rxdrop2pct-read-bw.pcap.gz")
        for plot in document["plots"]:
            kept = {kind: plot["marks"]["kinds"].count(kind) for kind in plot["marks"]["seen"]}
            self.assertLessEqual(sum(kept.values()), 45_000)
            for kind in "KN":
                self.assertEqual(kept.get(kind, 0), plot["marks"]["seen"].get(kind, 0))

    def test_anonymous_has_no_address_of_the_capture(self):
        path, document = self.report(NVME, "--anonymous", "--title", "ticket")
        page = path.read_text()
        addresses = {end["address"] for flow in json.loads(run("flows", "-n", "--json", "-r", NVME).stdout)["flows"]
                     for end in (flow["source"], flow["destination"])}
        for secret in (*addresses, NVME.name, "nqn."):
            self.assertNotIn(secret, page)
        self.assertEqual(document["title"], "ticket")
        self.assertEqual(len({host["address"] for host in document["hosts"]}), len(addresses))

    def test_sources_that_are_read_once_have_plots_as_well(self):
        with open(LOSS, "rb") as stdin:
            done = run("report", "-n", "-r", "-", "-o", "-", stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        piped = document_of(done.stdout.decode())
        _, document = self.report(LOSS)
        self.assertEqual(piped["plots"][0]["marks"], document["plots"][0]["marks"])
        self.assertEqual(piped["source"]["files"], [])

    def test_a_trace_has_every_message_and_command(self):
        for capture in (LOSS, NVME):
            path = pathlib.Path(self.folder.name) / "trace.json"
            self.report(capture, "--perfetto", path)
            events = json.loads(path.read_text())["traceEvents"]
            flows = json.loads(run("flows", "-n", "--json", "-r", capture).stdout)["flows"]
            commands = json.loads(run("io", "-n", "--each", "--json", "-r", capture).stdout)["commands"]
            begun = {(e["cat"], e["id"]): e["ts"] for e in events if e["ph"] == "b"}
            ended = {(e["cat"], e["id"]): e["ts"] for e in events if e["ph"] == "e"}
            self.assertEqual(begun.keys(), ended.keys())
            self.assertTrue(all(ended[key] >= begun[key] for key in begun))
            self.assertEqual(sum(1 for cat, _ in begun if cat == "message"),
                             sum(each["count"] for flow in flows for each in flow["messages"].values()))
            self.assertEqual(sum(1 for cat, _ in begun if cat == "command"),
                             sum(1 for command in commands if command["end"] == "answered"))
            naks = [e["args"]["frame"] for e in events if e["ph"] == "i" and e["name"] == "nak"]
            fields = run("dump", "-n", "-r", capture, "-Y", "infiniband.aeth.syndrome.opcode == 3", "-T", "fields", "-e", "frame.number")
            self.assertEqual(sorted(naks), [int(line) for line in fields.stdout.split()])

    def test_mistakes(self):
        self.assertEqual(run("report", "-r", LOSS, "--flow", "7777777").returncode, 1)
        self.assertEqual(run("report", "-r", LOSS, "-o", "/nowhere/page.html").returncode, 1)
        self.assertEqual(run("report").returncode, 2)
        self.assertEqual(run("report", "-r", "-", "--perfetto", "trace").returncode, 2)

    def test_what_is_read_is_not_overwritten(self):
        copy = pathlib.Path(self.folder.name) / "copy.pcap"
        octets = pathlib.Path(LOSS).read_bytes()
        copy.write_bytes(octets)
        page = pathlib.Path(self.folder.name) / "both"
        for outputs in (("-o", copy), ("-o", page, "--perfetto", copy), ("-o", page, "--perfetto", page)):
            with self.subTest(outputs):
                done = run("report", "-r", copy, *outputs)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr.decode(), "this is the file that is being read|need a file each")
                self.assertEqual(copy.read_bytes(), octets)
                self.assertFalse(page.exists())


@unittest.skipUnless(chromium(), "no chromium: apt-get install chromium")
class Page(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, capture, *arguments):
        path, document = self.report(capture, *arguments)
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.open(path)
        return document

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        self.assertEqual([url for url in self.browser.requests if not url.startswith("file://")], [])
        self.assertLessEqual(len(self.browser.requests), 1)

    def text(self, selector):
        return self.browser.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def flows(self):
        return self.browser.value("[...document.querySelectorAll('.flows tbody tr')].map(row => Number(row.dataset.flow))")

    def test_the_verdict_is_that_of_why(self):
        self.open(LOSS)
        first = run("why", "-n", "-r", LOSS).stdout.decode().splitlines()[0]
        self.assertTrue(first.startswith(self.text("#grade")), first)
        why = json.loads(run("why", "-n", "--json", "-r", LOSS).stdout)
        shown = self.browser.value("[...document.querySelectorAll('#verdict .card')].map(c => [c.dataset.question, c.dataset.verdict,"
                                   " c.querySelector('.summary').textContent])")
        self.assertEqual([tuple(card) for card in shown], [(a["question"], a["verdict"], a["summary"]) for a in why["answers"]])

    def test_a_brush_narrows_and_columns_sort(self):
        document = self.open(NVME)
        every = self.flows()
        self.assertEqual(len(every), document["flow_count"])
        self.browser.value("document.querySelector('#time').scrollIntoView()")
        box = self.browser.value("(() => { const b = document.querySelector('.brush .overlay').getBoundingClientRect();"
                                 " return [b.left, b.top, b.width, b.height]; })()")
        y = box[1] + box[3] / 2
        self.browser.drag((box[0] + 2, y), (box[0] + box[2] / 50, y))
        self.browser.wait("document.querySelector('#range').value.includes(' to ')")
        narrowed = self.flows()
        self.assertLess(len(narrowed), len(every))
        self.assertTrue(set(narrowed) <= set(every))
        self.browser.value("[...document.querySelectorAll('#time button')].find(b => b.textContent === 'Whole capture').click()")
        self.assertEqual(self.flows(), every)
        self.browser.value("document.querySelector('[data-sort=messages]').click()")
        counts = {row[0]: row[document["row_columns"].index("messages")] for row in document["rows"]}
        self.assertEqual([counts[flow] for flow in self.flows()], sorted(counts.values(), reverse=True))
        self.browser.value("(() => { const f = document.querySelector('#flows input'); f.value = 'nothing has this'; f.dispatchEvent(new Event('input')); })()")
        self.assertEqual(self.flows(), [])

    def test_a_flow_opens_and_a_mark_names_its_frame(self):
        document = self.open(LOSS)
        evidence = next(e for a in document["why"]["answers"] for e in a["evidence"] if e["what"].startswith("sequence error"))
        frame = evidence["frames"][0]
        self.browser.value(f"[...document.querySelectorAll('#verdict .frame')].find(b => b.textContent === '{frame}').click()")
        self.assertIn(f"frame.number in {{{frame}}}", self.text("#flow .command code"))
        # The chosen mark has a ring: its place is asked of the keyboard's way, which shows the same words as the mouse.
        self.browser.value("document.querySelector('#sequence').scrollIntoView({block: 'center'})")
        box = self.browser.value("(() => { const b = document.querySelector('#sequence').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        found = None
        for x in range(80, int(box[2]) - 10, 6):
            for y in range(10, int(box[3]) - 24, 24):
                self.browser.mouse("mouseMoved", box[0] + x, box[1] + y)
                text = self.browser.value("(t => t.hidden ? '' : t.innerText)(document.querySelector('.tip'))")
                if text.startswith(f"frame {frame}\n"):
                    found = text
                    break
            if found:
                break
        self.assertIsNotNone(found, "no place of the plot names the frame")
        self.assertIn("NAK, PSN Sequence Error", found)
        other = document["rows"][1][0]
        self.browser.value(f"document.querySelector('[data-flow=\"{other}\"] .open').click()")
        self.assertEqual(self.browser.value("document.querySelector('#flow-choice').value"), str(other))

    def test_hostile_names_are_text(self):
        # A title and a file's name are text of the user's; a host's name comes from hosts(5).
        capture = pathlib.Path(self.folder.name) / "<img src=x onerror=alert(1)>.pcap"
        capture.write_bytes((PCAPS / "rxe-verbs-rnr.pcap").read_bytes())
        self.open(capture, "--title", HOSTILE)
        self.assertEqual(self.text("h1"), HOSTILE)
        self.assertEqual(self.browser.value("document.images.length"), 0)
        self.assertIn("onerror", self.text("#method"))

    def test_foreign_scripts_do_not_run(self):
        self.open(LOSS)
        self.browser.value("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); })()")
        self.assertTrue(self.browser.value("window.ran === undefined"))
        self.browser.call("Log.clear")
        self.browser.errors.clear()

    def test_narrow_pages_need_no_scrolling_to_the_side(self):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
        self.addCleanup(self.browser.call, "Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        for capture in (NVME, IWARP):
            self.open(capture)
            self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    if b"without the page" in run("report", "-r", PCAPS / "rxe-verbs-rnr.pcap", "-o", "-").stderr:
        print("this program was built without the page of reports")
        sys.exit(77)
    unittest.main()
