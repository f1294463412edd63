"""`rdmascope report`, as a user sees it: the document against its schema and against `why`, `flows` and `io`; and the page
in a headless Chromium, which drives it by mouse and keyboard."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser, chromium  # noqa: E402
import synthetic  # noqa: E402
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

    def test_paths_are_those_of_paths(self):
        """Of pairs of hosts with several entropies."""
        for capture in (NVME, IWARP, LOSS):
            with self.subTest(capture=capture.name):
                _, document = self.report(capture)
                shown = json.loads(run("paths", "-n", "--json", "-r", capture).stdout)["pairs"]
                several = [pair for pair in shown if pair["entropies"] > 1 or any(row["verdict"] for row in pair["rows"])]
                self.assertEqual(sorted((pair["source"]["address"], pair["destination"]["address"], pair["traffic_class"], pair["effective"], pair["bytes"])
                                        for pair in document["paths"]),
                                 sorted((pair["source"]["address"], pair["destination"]["address"], pair["traffic_class"], pair["effective"], pair["bytes"])
                                        for pair in several))
                for pair in document["paths"]:
                    self.assertEqual(len(pair["rows"]) + pair["rows_left_out"], next(len(each["rows"]) for each in several if each["bytes"] == pair["bytes"]))

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

    def test_an_hour_of_1000_flows_fits_into_2_MB(self):
        capture, pairs, rounds = pathlib.Path(self.folder.name) / "hour.pcap", 500, 100
        synthetic.write(capture, pairs, rounds, 3600 * 10**9 // (2 * pairs * rounds))
        path, document = self.report(capture)
        self.assertEqual(document["flow_count"], 1000)
        self.assertLessEqual(path.stat().st_size, 2_000_000)
        self.assertEqual(sum(document["time_line"]["messages"]), pairs * rounds)
        self.assertLess(len(document["flows"]), 1000)
        self.assertIn("of the listed flows have all figures", " ".join(document["left_out"]), "what is left out is named")

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
            commands = [json.loads(line) for line in run("io", "-n", "--each", "--json", "-r", capture).stdout.splitlines()]
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

    def test_a_trace_has_arrows_from_what_was_lost_to_its_repeat(self):
        """By Chrome's rules for trace events. The repeats are found again by the sequence numbers of the requests."""
        path = pathlib.Path(self.folder.name) / "trace.json"
        self.report(LOSS, "--perfetto", path)
        events = json.loads(path.read_text())["traceEvents"]
        needed = {"M": "name pid args", "thread_name": "name pid tid args", "X": "name pid tid ts dur args", "i": "name pid tid ts s args", "b": "name cat id pid tid ts args",
                  "e": "name cat id pid tid ts", "s": "name cat id pid tid ts", "f": "name cat id pid tid ts bp"}
        for event in events:
            kind = "thread_name" if event["name"] == "thread_name" else event["ph"]
            self.assertEqual(set(event) - {"ph"}, set(needed[kind].split()), event)
            self.assertTrue(all(event[name] >= 0 for name in ("ts", "dur") if name in event), event)
        packets = {(e["pid"], e["tid"], e["ts"]): e["args"]["frame"] for e in events if e["ph"] == "X"}
        tracks = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        self.assertEqual({key[:2] for key in packets}, tracks)
        starts = {e["id"]: e for e in events if e["ph"] == "s"}
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertEqual(starts.keys(), ends.keys())
        arrows = {"repeat": set(), "repair": set()}
        for number, start in starts.items():
            end = ends[number]
            self.assertEqual([start[name] for name in ("name", "cat", "pid", "tid")], [end[name] for name in ("name", "cat", "pid", "tid")])
            # Viewers draw an arrow only between slices.
            arrows[start["name"]].add((packets[start["pid"], start["tid"], start["ts"]], packets[end["pid"], end["tid"], end["ts"]]))
        fields = run("dump", "-n", "-r", LOSS, "-Y", "infiniband.bth.opcode <= 12", "-T", "fields", "-e", "frame.number", "-e", "ip.src",
                     "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn").stdout.decode()
        sent, repeats = {}, {}
        for line in fields.splitlines():
            frame, *key = line.split("\t")
            if (earlier := sent.setdefault(tuple(key), [])):
                repeats[int(frame)] = list(earlier)
            earlier.append(int(frame))
        self.assertEqual({end for _, end in arrows["repeat"]}, set(repeats))
        self.assertTrue(all(start in repeats[end] for start, end in arrows["repeat"]))
        naks = run("dump", "-n", "-r", LOSS, "-Y", "infiniband.aeth.syndrome.opcode == 3", "-T", "fields", "-e", "frame.number")
        self.assertEqual({start for start, _ in arrows["repair"]}, {int(line) for line in naks.stdout.split()})

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
        # For the message of a failure: what the mouse did where, and what is there.
        self.browser.value("(() => { window.seen = []; for (const kind of ['mousedown', 'mousemove', 'mouseup'])"
                           " addEventListener(kind, e => window.seen.push([kind, e.clientX, e.clientY, e.target.outerHTML.slice(0, 60)]), true); })()")
        self.browser.drag((box[0] + 2, y), (box[0] + box[2] / 50, y))
        self.browser.wait("document.querySelector('#range').value.includes(' to ')", about=(
            "({range: document.querySelector('#range').value, events: window.seen, scrolled: scrollY, height: innerHeight,"
            f" there: document.elementFromPoint({box[0] + 2}, {y})?.outerHTML.slice(0, 200), drawn: document.querySelector('.brush')?.outerHTML.slice(0, 400)}})"))
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
        # Kinds of commands are sorted within their connections, hosts among each other.
        self.browser.value("document.querySelector('#commands [data-column=commands]').click()")
        shown = self.browser.value("[...document.querySelectorAll('#commands tbody tr:not(.group)')].map(row => Number(row.cells[1].textContent))")
        kinds = [[kind["commands"] for kind in connection["kinds"] if kind["commands"] or kind["unanswered"]] for connection in document["commands"]]
        self.assertEqual(shown, [count for each in kinds for count in sorted(each, reverse=True)])
        for turn in (False, True):
            self.browser.value("document.querySelector('#hosts [data-column=host]').click()")
            shown = self.browser.value("[...document.querySelectorAll('#hosts div > div > table:not(.matrix) tbody th')].map(cell => cell.textContent)")
            self.assertEqual(shown, sorted((host["address"] for host in document["hosts"]), reverse=turn))

    def type_into(self, selector, text):
        """As a user does: Tab comes to the field, and keys follow."""
        self.browser.value(f"(f => {{ f.focus(); f.select(); }})(document.querySelector({json.dumps(selector)}))")
        for key in text or ["\b"]:
            backspace = {"key": "Backspace", "code": "Backspace", "windowsVirtualKeyCode": 8}
            self.browser.call("Input.dispatchKeyEvent", type="rawKeyDown" if key == "\b" else "keyDown",
                              **(backspace if key == "\b" else {"key": key, "text": key}))
            self.browser.call("Input.dispatchKeyEvent", type="keyUp", **(backspace if key == "\b" else {"key": key}))

    def test_words_filter_hosts_and_commands(self):
        document = self.open(NVME)
        rows = "[...document.querySelectorAll('#{} table:not(.matrix) tbody tr:not(.group)')].map(row => row.cells[0].textContent)"
        hosts, commands = rows.format("hosts"), rows.format("commands")
        addresses = sorted(host["address"] for host in document["hosts"])
        self.type_into("#hosts input", "2.2")
        chosen = [address for address in addresses if "2.2" in address]
        self.assertLess(0, len(chosen))
        self.assertLess(len(chosen), len(addresses))
        self.assertEqual(sorted(self.browser.value(hosts)), chosen)
        self.assertEqual(self.browser.value("document.querySelector('#hosts-shown').value"), f"{len(chosen)} of {len(addresses)} hosts")
        self.type_into("#hosts input", "")
        self.assertEqual(sorted(self.browser.value(hosts)), addresses)
        # Words of a connection and of a kind of command.
        kinds = [[kind["kind"] or "(not captured)" for kind in connection["kinds"] if kind["commands"] or kind["unanswered"]]
                 for connection in document["commands"]]
        all_kinds = sum(map(len, kinds))
        queues = [connection["queue"] for connection in document["commands"]]
        self.type_into("#commands input", "QUEUE 0 property")
        of_queue_0 = [kind for queue, own in zip(queues, kinds) if queue == 0 for kind in own if "property" in kind]
        self.assertEqual(self.browser.value(commands), of_queue_0)
        self.assertEqual(self.browser.value("document.querySelectorAll('#commands tr.group').length"), 2)
        self.assertEqual(self.browser.value("document.querySelector('#commands-shown').value"),
                         f"{len(of_queue_0)} of {all_kinds} kinds of commands")
        self.assertEqual(self.browser.value("document.activeElement.getAttribute('aria-label')"), "filter commands")
        # No row is left: the field stays, so that the user can change the words.
        self.type_into("#commands input", "nothing")
        self.assertEqual(self.browser.value(commands), [])
        self.assertFalse(self.browser.value("document.querySelector('#commands').hidden"))
        self.type_into("#commands input", "")
        self.assertEqual(len(self.browser.value(commands)), all_kinds)

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

    def test_every_figure_and_frame_of_the_verdict_leads_on(self):
        """To the plot of a flow, and to the command that prints the frame; without a plot, to the command alone."""
        for capture in (LOSS, IWARP, PCAPS / "made-pause.pcap"):
            with self.subTest(capture=capture.name):
                document = self.open(capture)
                plots = {plot["flow"] for plot in document["plots"]}
                self.browser.value("document.querySelectorAll('#verdict details').forEach(each => { each.open = true; })")
                shown = self.browser.value("[...document.querySelectorAll('#verdict .card tbody tr')].map(row => ["
                                           "row.cells[1].querySelectorAll('button').length, row.cells[2].querySelectorAll('button').length])")
                expected = [(bool(e["frames"] or a["flows"]), len(e["frames"])) for a in document["why"]["answers"] for e in a["evidence"]]
                self.assertEqual([(bool(figure), frames) for figure, frames in shown], expected)
                for answer, card in zip(document["why"]["answers"], range(len(document["why"]["answers"]))):
                    for frame in {frame for e in answer["evidence"] for frame in e["frames"]}:
                        self.browser.value("document.querySelectorAll('.command').forEach(each => each.remove())")
                        self.browser.value(f"[...document.querySelectorAll('#verdict .card[data-question]')[{card}].querySelectorAll('td:last-child .frame')]"
                                           f".find(b => b.textContent === '{frame}').click()")
                        codes = self.browser.value("[...document.querySelectorAll('.command code')].map(code => code.textContent)")
                        self.assertTrue(any(f"frame.number in {{{frame}}}" in code for code in codes), (frame, codes))
                        if plots & set(answer["flows"]):
                            self.assertIn(int(self.browser.value("document.querySelector('#flow-choice').value")), plots)

    def test_every_control_has_a_name_and_the_keyboard_reaches_it(self):
        self.open(NVME)
        self.browser.call("Accessibility.enable")
        self.addCleanup(self.browser.call, "Accessibility.disable")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        named = {"button", "link", "searchbox", "combobox", "slider", "image", "region", "navigation", "columnheader", "rowheader"}
        found = {}
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role in named and not node["ignored"]:
                found.setdefault(role, []).append(node.get("name", {}).get("value", ""))
        self.assertEqual({role: names.count("") for role, names in found.items() if "" in names}, {})
        self.assertEqual(named - found.keys(), set())
        # Tab goes through all controls, in the order of the page, and comes to the plot, which has keys of its own.
        visited = []
        self.browser.value("document.body.focus()")
        while "canvas#sequence" not in visited and len(visited) < 300:
            for kind in ("rawKeyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            visited.append(self.browser.value("(e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : ''))(document.activeElement)"))
        self.assertIn("canvas#sequence", visited)
        self.assertLess(visited.index("select#flow-choice"), visited.index("canvas#sequence"))
        about = self.browser.value("document.querySelector('#sequence').getAttribute('aria-label')")
        for key in ("+", "n"):
            self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self.assertNotEqual(self.browser.value("document.querySelector('#sequence').getAttribute('aria-label')"), about)
        self.assertRegex(self.text(".tip"), "^frame [0-9]+")

    def test_100000_flows_open_in_3_seconds_and_stay_usable(self):
        capture = pathlib.Path(self.folder.name) / "many.pcap"
        synthetic.write(capture, 50_000, 2, 9_000)
        path, document = self.report(capture)
        self.assertEqual(document["flow_count"], 100_000)
        self.assertLessEqual(path.stat().st_size, 2_000_000)
        browser, took = self.browser, []

        def timed(act):
            began = time.monotonic()
            act()
            browser.settle()
            took.append(time.monotonic() - began)

        timed(lambda: browser.open(path))
        self.assertLess(took[0], 3)
        self.assertIn("of 100,000 flows", browser.value("document.querySelector('#flows-shown').value"))
        timed(lambda: browser.value("document.querySelector('[data-sort=p99]').click()"))
        timed(lambda: browser.value("(() => { const f = document.querySelector('#flows input'); f.value = '10.0.0.7'; f.dispatchEvent(new Event('input')); })()"))
        timed(lambda: browser.value("document.querySelector('.flows .open').click()"))
        timed(lambda: browser.value("(() => { const f = document.querySelector('#time input'); f.value = '20'; f.dispatchEvent(new Event('input')); })()"))
        self.assertLess(max(took[1:]), 1, took)
        browser.requests.clear()

    def test_paper_is_white(self):
        """Also what was drawn on a dark page; controls are not printed."""
        dark = Browser(dark=True)
        self.addCleanup(dark.close)
        path, _ = self.report(LOSS)
        dark.open(path)
        theme = "document.documentElement.dataset.theme"
        dark.value(f"window.seen = [{theme}]; addEventListener('beforeprint', () => window.seen.push({theme})); undefined")
        self.assertTrue(dark.call("Page.printToPDF")["data"])
        self.assertEqual(dark.value(f"[...window.seen, {theme}]"), ["dark", "light", "dark"])
        dark.call("Emulation.setEmulatedMedia", media="print", features=[])
        shown = dark.value("['nav', '#time .controls', '.command button'].map(name => document.querySelector(name).checkVisibility())")
        self.assertEqual(shown, [False, False, False])

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
