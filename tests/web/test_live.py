"""The daemon's live page and its API, with frames on a wire: the answers against docs/api.json and against the other commands;
who may read; clients that mean harm; and the page in a headless Chromium."""
import base64
import ctypes
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]
from browser import Browser, chromium  # noqa: E402
from path import needs_namespaces  # noqa: E402
from schema import faults  # noqa: E402
from test_daemon import BINARY, ENVIRONMENT, PCAPS, Daemon, Wire  # noqa: E402

ROOT = HERE.parents[1]
API = json.loads((ROOT / "docs/api.json").read_text())
REPORT = json.loads((ROOT / "web/schema/report.schema.json").read_text())
LOSS, RNR, NFS = "rxe-rxdrop1pct-write-bw.pcap.gz", "rxe-verbs-rnr.pcap", "nfs-rdma-rxe.pcap"
HOSTILE = "<img/src=x/onerror=window.ran=1>"
TOKEN = "0123456789abcdef0123"
CONFIG = """[engine]
interval = "500ms"
[http]
writes = true
[history]
directory = "{0.history}"
interval = "500ms"
[recorder]
directory = "{0.recordings}"
"""


def setUpModule():
    needs_namespaces()


def enter(namespace):
    """From here on, this thread's sockets and children are in that network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(namespace) as file:
        assert libc.setns(file.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())


class OnAWire(unittest.TestCase):
    """A daemon in a namespace of its own, in which the tests are as well."""
    config = CONFIG
    snaplen = 192

    @classmethod
    def setUpClass(cls):
        cls.home = open("/proc/self/ns/net")
        cls.addClassCleanup(cls.home.close)
        cls.wire = Wire()
        cls.hosts = pathlib.Path("/etc/netns") / cls.wire.namespace
        cls.hosts.mkdir(parents=True)
        (cls.hosts / "hosts").write_text(f"127.0.0.1 localhost\n192.0.2.1 {HOSTILE}\n")
        cls.addClassCleanup(lambda: [(cls.hosts / "hosts").unlink(), cls.hosts.rmdir()])
        cls.wire.__enter__()
        cls.addClassCleanup(cls.wire.__exit__)
        cls.daemon = Daemon(cls.wire, history=True, record=True, snaplen=cls.snaplen)
        cls.prepare()
        cls.daemon.write(cls.config.format(cls.daemon))
        cls.daemon.__enter__()
        cls.addClassCleanup(cls.daemon.__exit__)
        enter(f"/run/netns/{cls.wire.namespace}")
        cls.addClassCleanup(lambda: enter(f"/proc/self/fd/{cls.home.fileno()}"))

    @classmethod
    def prepare(cls):
        pass

    def ask(self, path, method="GET", body=None, host="127.0.0.1", **headers):
        """Status, headers, body."""
        connection = http.client.HTTPConnection(host, 9879, timeout=60)
        self.addCleanup(connection.close)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def json(self, path):
        status, _, body = self.ask(path)
        self.assertEqual(status, 200, (path, body))
        return json.loads(body)

    def play(self, capture, packets=None):
        """Sends a capture; waits until the API has all of it."""
        before = self.json("/api/v1/status")["packets"]
        sent = self.wire.play(capture, "--speed", "max")
        self.daemon.wait_for("the packets", lambda: self.json("/api/v1/status")["packets"] > before)
        settled = None
        while settled != (settled := self.json("/api/v1/report")["why"]["capture"]["packets"]):
            time.sleep(1.1)
        return sent

    def printed(self, *arguments):
        done = subprocess.run(self.wire.command(BINARY, *arguments, "--connect", self.daemon.socket), capture_output=True, text=True,
                              env=ENVIRONMENT, check=True)
        return json.loads(done.stdout)


class Documents(OnAWire):
    def test_the_api_is_what_it_is_described_as(self):
        self.play(LOSS)
        root = {"$defs": API["components"]["schemas"]}
        flow = self.json("/api/v1/flows?limit=1")["flows"][0]["id"]
        self.assertEqual(set(self.json("/api/v1")["paths"]), set(API["paths"]) - {"/api/v1"})
        for path, methods in API["paths"].items():
            if "get" not in methods or path.endswith("/stream"):
                continue
            path = path.replace("{id}", str(flow))
            with self.subTest(path=path):
                schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
                self.assertEqual(faults(self.json(path), schema, root), [])
                status, headers, body = self.ask(path, "HEAD")
                self.assertEqual((status, headers["Content-Type"], body), (200, "application/json; charset=utf-8", b""))
                self.assertEqual(self.ask(path, "DELETE")[0], 405)
        self.assertEqual(self.ask("/api/v1/nothing")[0], 404)

    def test_the_documents_are_those_of_the_other_commands(self):
        self.play(RNR)
        report = self.json("/api/v1/report")
        self.assertEqual(faults(report, REPORT, REPORT), [])
        why = self.printed("why", "--json")
        self.assertEqual(self.json("/api/v1/answers"), why)
        self.assertEqual(report["why"], why)
        flows = {flow["id"]: flow for flow in self.printed("flows", "--json")["flows"]}
        for path in ("/api/v1/flows", "/api/v1/report"):
            own = self.json(path)["flows"]
            self.assertEqual({flow["id"]: flow["packets"] for flow in own}, {id: flow["packets"] for id, flow in flows.items()})
        line = self.json("/api/v1/series")["time_line"]
        self.assertEqual(sum(line["wire_bytes"]), sum(flow["wire_bytes"] for flow in flows.values()))
        worst = report["rows"][0][0]
        one = self.json(f"/api/v1/flow/{worst}")
        self.assertEqual(one["flow"]["packets"], flows[worst]["packets"])
        self.assertEqual(one["why"]["answers"], self.printed("why", "--json", "--flow", worst)["answers"])

    def test_the_history_has_the_same(self):
        self.play(RNR)
        packets = self.json("/api/v1/report")["why"]["capture"]["packets"]
        self.daemon.wait_for("history", lambda: self.json("/api/v1/report?from=-1h")["why"]["capture"]["packets"] >= packets)
        past = self.json("/api/v1/report?from=-1h")
        self.assertEqual(faults(past, REPORT, REPORT), [])
        self.assertIsNotNone(past["live"]["range"])
        bins = self.json("/api/v1/history?from=-1h")
        self.assertEqual(sum(each["wire_bytes"] for each in bins["bins"]), sum(past["time_line"]["wire_bytes"]))
        self.assertEqual(self.ask("/api/v1/report?from=now")[0], 400)

    def test_events_come_at_every_interval(self):
        connection = http.client.HTTPConnection("127.0.0.1", 9879, timeout=20)
        connection.request("GET", "/api/v1/stream")
        stream = connection.getresponse()
        self.assertEqual(stream.headers["Content-Type"], "text/event-stream; charset=utf-8")
        numbers = []
        while len(numbers) < 3:
            line = stream.readline().decode()
            if line.startswith("data: "):
                event = json.loads(line[6:])
                schemas = API["components"]["schemas"]
                self.assertEqual(faults(event, schemas["event"], {"$defs": schemas}), [])
                numbers.append(event["number"])
        connection.close()
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 3)))

    def test_a_recording_begins(self):
        status, _, body = self.ask("/api/v1/trigger", "POST", b'{"reason": "by hand"}', **{"Content-Type": "application/json"})
        self.assertEqual((status, json.loads(body)), (200, {"reason": "by hand"}))
        self.assertEqual(self.ask("/api/v1/trigger", "POST", b"reason=x", **{"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(self.ask("/api/v1/trigger", "POST", b"{}", Origin="http://evil.example", **{"Content-Type": "application/json"})[0], 403)


class Rights(OnAWire):
    config = "[http]\ntoken_file = \"{0.folder}/token\"\n"

    @classmethod
    def prepare(cls):
        token = cls.daemon.folder / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o640)

    def test_the_token_is_needed(self):
        for path in ("/", "/api/v1/report", "/api/v1/stream"):
            for wrong in ({}, {"Authorization": "Bearer " + TOKEN[:-1] + "x"}, {"Authorization": "Basic !"}):
                status, headers, _ = self.ask(path, **wrong)
                self.assertEqual((status, headers["WWW-Authenticate"].split()[0]), (401, "Basic"))
        basic = base64.b64encode(f"any:{TOKEN}".encode()).decode()
        for right in ({"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Basic {basic}"}):
            self.assertEqual(self.ask("/api/v1/answers", **right)[0], 200)
        self.assertEqual(self.ask("/metrics")[0], 200)
        status, _, body = self.ask("/api/v1/trigger", "POST", b"{}", Authorization=f"Bearer {TOKEN}", **{"Content-Type": "application/json"})
        self.assertEqual(status, 403, body)
        self.assertIn(b"read-only", body)

    def test_a_token_that_all_users_can_read_is_refused(self):
        token = self.daemon.folder / "open"
        token.write_text(TOKEN)
        token.chmod(0o644)
        config = self.daemon.folder / "open.toml"
        config.write_text(f'[capture]\ninterfaces = ["tap0"]\n[control]\nsocket = ""\n[http]\ntoken_file = "{token}"\n'
                          '[prometheus]\nlisten = "127.0.0.1:9878"\n')
        done = subprocess.run([BINARY, "daemon", "--config", config], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("chmod o-r", done.stderr)


class Attacks(OnAWire):
    config = ""

    @classmethod
    def prepare(cls):
        cls.daemon.base = cls.daemon.base.replace("127.0.0.1:9879", ":9879")

    def test_other_hosts_and_other_hosts_pages_see_nothing(self):
        self.wire.within("ip", "address", "add", "198.51.100.1/24", "dev", "tap0")
        self.assertEqual(self.ask("/api/v1/answers", host="198.51.100.1")[0], 403)
        self.assertEqual(self.ask("/", host="198.51.100.1")[0], 403)
        self.assertEqual(self.ask("/metrics", host="198.51.100.1")[0], 200)
        self.assertEqual(self.ask("/api/v1/answers", Host="evil.example")[0], 403)
        self.assertEqual(self.ask("/api/v1/answers")[0], 200)

    def test_hostile_clients_hold_up_neither_the_capture_nor_others(self):
        slow = [socket.create_connection(("127.0.0.1", 9879)) for _ in range(500)]
        for connection in slow[::2]:
            try:
                connection.sendall(b"GET /api/v1/report HTTP/1.1\r\nX: ")
            except OSError:
                pass  # it had to give way
        greedy = [socket.create_connection(("127.0.0.1", 9879)) for _ in range(40)]
        for connection in greedy:
            connection.sendall(b"GET /api/v1/report HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
        frames = self.wire.play(LOSS, "--speed", "max")
        self.assertEqual(self.ask("/healthz")[0], 200)
        self.daemon.wait_for("the packets", lambda: self.daemon.total("rdmascope_captured_packets_total") >= frames - 12)
        self.assertEqual(self.daemon.dropped_by_kernel(), 0)
        for connection in slow + greedy:
            connection.close()


@unittest.skipUnless(chromium(), "no chromium: apt-get install chromium")
class Page(OnAWire):
    snaplen = 65_535  # commands stand behind many headers

    def text(self, selector):
        return self.browser.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def test_the_page_follows_the_daemon(self):
        if "built without the page" in self.ask("/")[2].decode():
            self.skipTest("this program was built without the page")
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        browser = self.browser
        browser.call("Page.navigate", url="http://127.0.0.1:9879/")
        browser.wait("document.querySelector('#live-status')")
        self.play(RNR)
        browser.wait("document.querySelectorAll('.flows tbody tr').length > 1")
        # The verdict is that of `why`.
        why = self.printed("why", "--json")
        browser.wait(f"document.querySelectorAll('#verdict .card[data-question]').length === {len(why['answers'])}")
        shown = browser.value("[...document.querySelectorAll('#verdict .card[data-question]')].map(c => [c.dataset.question, c.dataset.verdict,"
                              " c.querySelector('.summary').textContent])")
        self.assertEqual([tuple(card) for card in shown], [(a["question"], a["verdict"], a["summary"]) for a in why["answers"]])
        self.assertTrue(self.text("#grade").lower().startswith(why["grade"]), self.text("#grade"))
        # What the user chose stays: an order, a filter, the open flow, what is unfolded.
        browser.value("document.querySelector('[data-sort=messages]').click()")
        opened = browser.value("[...document.querySelectorAll('.flows tbody tr')].at(-1).dataset.flow")
        browser.value(f"document.querySelector('[data-flow=\"{opened}\"] .open').click()")
        browser.value("document.querySelector('details[data-key=calm]').open = true")
        # A change is seen within two seconds.
        before = browser.value("document.querySelectorAll('.flows tbody tr').length")
        self.wire.play(LOSS, "--speed", "max")
        sent = time.monotonic()
        browser.wait(f"document.querySelectorAll('.flows tbody tr').length > {before}", 10)
        self.assertLess(time.monotonic() - sent, 2)
        self.assertEqual(browser.value("document.querySelector('#flow-choice').value"), opened)
        self.assertEqual(browser.value("document.querySelector('th[aria-sort] button').dataset.sort"), "messages")
        self.assertTrue(browser.value("document.querySelector('details[data-key=calm]').open"))
        # Names of hosts are text.
        self.assertIn(HOSTILE, self.text(".flows tbody"))
        self.assertEqual(browser.value("[document.images.length, window.ran === undefined]"), [0, True])
        self.commands_are_shown()
        # The past, and back.
        browser.value("document.querySelector('[data-seconds=\"3600\"]').click()")
        browser.wait("document.querySelector('#live-status').value.startsWith('history')")
        browser.value("document.querySelector('#live-back').click()")
        browser.wait("document.querySelector('#live-status').value.startsWith('live')")
        self.a_long_history_comes_in_pieces()
        browser.value("document.querySelector('#trigger').click()")
        browser.wait("document.querySelector('#trigger-status').value !== ''")
        self.assertEqual(browser.value("document.querySelector('#trigger-status').value"), "a recording has begun")
        for folder in filter(None, [os.environ.get("RDMASCOPE_SCREENSHOTS")]):
            browser.screenshot(f"{folder}/live-1280.png")
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
        browser.wait("innerWidth === 390")
        self.assertEqual(browser.value("document.documentElement.scrollWidth"), 390)
        for folder in filter(None, [os.environ.get("RDMASCOPE_SCREENSHOTS")]):
            browser.screenshot(f"{folder}/live-390.png")
        self.assertEqual(browser.errors, [])
        self.assertEqual([url for url in browser.requests if not url.startswith(("http://127.0.0.1:9879/", "data:"))], [])


    def commands_are_shown(self):
        """Kinds and numbers as `io` finds them in the capture; also in the history."""
        browser, rows = self.browser, "[...document.querySelectorAll('#commands tbody tr:not(.group)')]"
        self.assertTrue(browser.value("document.querySelector('#commands').hidden"))
        done = subprocess.run([BINARY, "io", "-n", "--json", "-r", PCAPS / NFS], capture_output=True, check=True)
        kinds = [kind for connection in json.loads(done.stdout)["connections"] for kind in connection["kinds"]]
        expected = {kind["kind"]: kind["commands"] for kind in kinds if kind["commands"]}
        self.wire.play(NFS, "--speed", "max")
        number = "Number(row.cells[1].textContent.replaceAll(',', ''))"
        browser.wait(f"{rows}.reduce((sum, row) => sum + {number}, 0) >= {sum(expected.values())}", about=f"{rows}.map(row => row.textContent)")
        shown = browser.value(f"{rows}.map(row => [row.cells[0].textContent, {number}])")
        self.assertEqual(dict(shown), expected)
        self.assertFalse(browser.value("document.querySelector('nav [href=\"#commands\"]').hidden"))
        (connection,) = self.json("/api/v1/commands")["connections"]
        self.assertEqual({kind["kind"]: kind["commands"] for kind in connection["kinds"] if kind["commands"]}, expected)
        self.daemon.wait_for("history", lambda: any(kind["kind"] == "remove" for connection in self.json("/api/v1/report?from=-1h")["commands"]
                                                    for kind in connection["kinds"]))

    def a_long_history_comes_in_pieces(self):
        """The daemon's first answer is made to look as if the history had been read to 40 %, its second as if it was busy."""
        browser, status = self.browser, "document.querySelector('#live-status').value"
        browser.value("""(() => {
            const real = window.fetch, asked = [];
            window.asked = asked;
            window.fetch = async (url, ...more) => {
                if (url.includes('from=') && asked.length === 1) {
                    asked.push(url);
                    return new Response('Others read the history; ask again in some seconds.', {status: 503});
                }
                const answer = await real(url, ...more);
                if (!url.includes('from=')) return answer;
                asked.push(url);
                const report = await answer.json(), range = report.live.range;
                if (asked.length === 1) range.to_ns = range.from_ns + 0.4 * (range.asked_to_ns - range.from_ns);
                else await new Promise(done => { window.goOn = done; });
                return new Response(JSON.stringify(report));
            };
        })()""")
        browser.value("document.querySelector('[data-seconds=\"3600\"]').click()")
        browser.wait(f"{status}.includes('reading on until')", about=status)
        self.assertIn("40 % done", browser.value(status))
        browser.wait(f"{status}.includes('the daemon is busy; the page asks again')", about=status)
        browser.wait("window.goOn")
        browser.value("window.goOn()")
        browser.wait(f"{status}.startsWith('history') && !{status}.includes('reading on')", about=status)
        self.assertNotIn("busy", browser.value(status))
        asked = browser.value("window.asked")
        self.assertEqual((len(asked), len(set(asked))), (3, 1), "only the same request reads on")
        # A time that was picked by hand.
        browser.value("document.querySelector('#live-back').click()")
        browser.wait(f"{status}.startsWith('live')")
        browser.value("(() => { window.goOn = null; const f = document.querySelector('#history-from'); f.value = '2026-01-02T03:04'; document.querySelector('#history-show').click(); })()")
        browser.wait("window.goOn")
        picked = browser.value("Math.floor(new Date('2026-01-02T03:04').getTime() / 1000)")
        self.assertIn(f"from=%40{picked}&to=%40", browser.value("window.asked.at(-1)"))
        browser.value("window.goOn()")
        browser.wait(f"{status}.startsWith('history')", about=status)
        browser.value("document.querySelector('#live-back').click()")
        browser.wait(f"{status}.startsWith('live')")


if __name__ == "__main__":
    unittest.main()
