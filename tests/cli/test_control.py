"""The control socket, and `--connect`: a daemon's answers are what the commands print for the same packets."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, run, run_unprivileged

SERVER = os.environ["RDMASCOPE_CONTROL_SERVER"]
WRITE = PCAPS / "rxe-write-bw-64k.pcap"
CAPTURES = ["rxe-write-bw-64k.pcap", "rxe-rping.pcap", "siw-loss1pct-send-bw.pcap"]


class Daemon:
    """A program that answers for a capture."""

    def __init__(self, test, capture, steps=None):
        self.path = test.folder / "control.sock"
        arguments = [SERVER, capture, self.path] + ([str(steps)] if steps else [])
        self.process = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.end)
        test.assertEqual(self.process.stdout.readline(), "ready\n")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        self.process.stdout.close()

    def ask(self, *requests):
        """The answers, from a client that says all it has to say and then only listens."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(self.path))
            client.sendall("".join(json.dumps(request) + "\n" for request in requests).encode())
            client.shutdown(socket.SHUT_WR)
            octets = b""
            while piece := client.recv(1 << 20):
                octets += piece
        lines = octets.decode().split("\n")
        assert lines.pop() == ""
        return [json.loads(line) for line in lines]


class Answers(TestCase):
    def test_flows_and_why_are_what_the_commands_print(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                daemon = Daemon(self, PCAPS / name)
                flows, why = daemon.ask({"id": 1, "command": "flows"}, {"id": 2, "command": "why"})
                self.assertEqual((flows["id"], why["id"]), (1, 2))
                self.assertEqual(flows["result"], json.loads(run("flows", "-n", "-r", PCAPS / name, "--json").stdout))
                self.assertEqual(why["result"], json.loads(run("why", "-n", "-r", PCAPS / name, "--json").stdout))
                daemon.end()

    def test_so_are_chosen_columns_in_another_order(self):
        daemon = Daemon(self, WRITE)
        for sort in ("packets", "-packets", "source.address", "id"):
            answer, = daemon.ask({"command": "flows", "columns": ["id", "packets", "latency_ns.write"], "sort": sort,
                                  "limit": 3})
            printed = run("flows", "-n", "-r", WRITE, "--json", "--columns", "id,packets,latency_ns.write",
                          f"--sort={sort}", "--top", 3)
            self.assertEqual(answer["result"], json.loads(printed.stdout), sort)

    def test_one_flow_alone(self):
        daemon = Daemon(self, WRITE)
        whole = json.loads(run("flows", "-n", "-r", WRITE, "--json").stdout)["flows"]
        for flow in whole:
            answer, = daemon.ask({"command": "flows", "flow": flow["id"]})
            self.assertEqual(answer["result"]["flows"], [flow])
            answer, = daemon.ask({"command": "why", "flow": flow["id"]})
            printed = run("why", "-n", "-r", WRITE, "--json", "--flow", flow["id"])
            self.assertEqual(answer["result"], json.loads(printed.stdout))

    def test_every_answer_is_one_line_of_json(self):
        daemon = Daemon(self, WRITE)
        commands = [entry["name"] for entry in daemon.ask({"command": "help"})[0]["result"]["commands"]]
        self.assertEqual(len(commands), 14)
        # What these answer is no single line: a stream, or frames after it (live.daemon asks for them).
        streams = {"snapshot", "subscribe", "frames", "recording"}
        self.assertLessEqual(streams, set(commands))
        requests = [{"id": name, "command": name} for name in commands if name not in streams]
        answers = daemon.ask(*requests, {"id": "no", "command": "no"})
        self.assertEqual([answer["id"] for answer in answers], [request["id"] for request in requests] + ["no"])
        refused = {answer["id"] for answer in answers if not answer["ok"]}
        self.assertEqual(refused, {"trigger", "history", "no"})


class Connect(TestCase):
    def test_figures_are_those_of_the_capture(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                daemon = Daemon(self, PCAPS / name)
                for arguments in (["flows"], ["flows", "--json"], ["flows", "--csv"], ["why", "--json"], ["why", "-v"],
                                  ["flows", "--sort", "packets", "--top", "1"]):
                    printed = run(*arguments, "-n", f"--connect={daemon.path}")
                    expected = run(*arguments, "-n", "-r", PCAPS / name)
                    output = expected.stdout.replace(f" -r {PCAPS / name}", "")
                    if arguments[0] == "flows" or "--json" in arguments:
                        self.assertEqual(self.succeeds(printed), output, arguments)
                    else:
                        self.assertEqual(printed.stdout.splitlines()[0], output.splitlines()[0])
                    if arguments == ["flows"]:
                        self.assertEqual(printed.stderr, expected.stderr)
                daemon.end()

    def test_the_socket_may_stand_behind_a_blank(self):
        daemon = Daemon(self, WRITE)
        self.succeeds(run("flows", "--connect", daemon.path, "--top", "1"))
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        self.succeeds(run("flows", "--connect", "./control.sock"))

    def test_intervals_add_up_to_the_whole(self):
        daemon = Daemon(self, WRITE, steps=4)
        rows = json.loads(self.succeeds(run("flows", "-n", "--json", "--interval", "100ms", "--seconds", "5",
                                            f"--connect={daemon.path}")))
        packets = {}
        for row in rows["flows"]:
            self.assertEqual(row["interval"]["length_ns"], 100_000_000)
            self.assertEqual(row["interval"]["start_ns"] % 100_000_000, 0)
            packets[row["id"]] = packets.get(row["id"], 0) + row["packets"]
        whole = json.loads(run("flows", "-n", "--json", "-r", WRITE).stdout)
        self.assertEqual(packets, {flow["id"]: flow["packets"] for flow in whole["flows"]})
        self.assertGreater(len({row["interval"]["start_ns"] for row in rows["flows"]}), 2)
        self.assertEqual(rows["capture"]["packets"], whole["capture"]["packets"])

    def test_a_time_alone_is_what_happened_in_it(self):
        daemon = Daemon(self, WRITE, steps=1)
        told = json.loads(self.succeeds(run("flows", "-n", "--json", "--seconds", "0.5", f"--connect={daemon.path}")))
        whole = json.loads(run("flows", "-n", "--json", "-r", WRITE).stdout)
        self.assertEqual({flow["id"]: flow["packets"] for flow in told["flows"]},
                         {flow["id"]: flow["packets"] for flow in whole["flows"]})
        again = run("flows", "-n", "--json", "--seconds", "0.2", f"--connect={daemon.path}")
        self.assertEqual(json.loads(self.succeeds(again))["flows"], [])
        self.assertIn("no packets in that time", again.stderr)

    def test_an_interrupt_ends_it_with_what_was_seen(self):
        daemon = Daemon(self, WRITE, steps=2)
        process = subprocess.Popen([BINARY, "flows", "-n", "--csv", "--columns", "id,packets", "--interval", "100ms",
                                    f"--connect={daemon.path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=ENVIRONMENT)
        self.assertIn("id", process.stdout.readline())
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)

    def test_a_daemon_that_goes_away_is_told(self):
        daemon = Daemon(self, WRITE)
        process = subprocess.Popen([BINARY, "flows", "-n", "--json", "--interval", "100ms", f"--connect={daemon.path}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        deadline = time.monotonic() + 30
        while daemon.ask({"command": "status"})[0]["result"]["control"]["clients"] < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        daemon.end()
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors, "went away|no daemon answers")


class Client(TestCase):
    """`rdmascope daemon` as a client of the daemon that runs."""

    def ask(self, path, *arguments):
        return run("daemon", *arguments, "--socket", path)

    def test_status_is_for_people_and_as_json(self):
        daemon = Daemon(self, WRITE)
        packets = json.loads(run("flows", "--json", "-r", WRITE).stdout)["capture"]["packets"]
        self.assertRegex(self.succeeds(self.ask(daemon.path, "--status")), rf"(?m)^packets +{packets:,}$".replace(",", "[, ]?"))
        status = json.loads(self.succeeds(self.ask(daemon.path, "--status", "--json")))
        self.assertEqual(status["packets"], packets)

    def test_status_shows_what_was_lost(self):
        counts = {"history_intervals": 7, "history_lost_intervals": 2, "recorder_frames": 1, "recordings": 1, "recordings_failed": 3,
                  "flows": 5, "flows_evicted": 4, "trace_records": 9, "trace_records_lost": 6,
                  "clickhouse": {"sent_intervals": 8, "spool_octets": 2048, "dropped_intervals": 1, "spool_failures": 5, "failures": 3}}
        results = [{"program": "rdmascope", "protocol_version": 1, "snapshot_version": 1}, counts]
        path = self.folder / "canned.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            listener.settimeout(60)
            asking = subprocess.Popen([BINARY, "daemon", "--status", "--socket", path], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
            peer, _ = listener.accept()
            with peer, peer.makefile("rb") as requests:
                for result in results:
                    self.assertIn(b"command", requests.readline())
                    peer.sendall(json.dumps({"version": 1, "ok": True, "result": result}).encode() + b"\n")
                page = asking.communicate(timeout=60)[0]
        lines = dict(line.split(None, 1) for line in page.splitlines() if len(line.split()) > 1)
        self.assertEqual(asking.returncode, 0)
        self.assertEqual(lines["history"], "7 intervals, 2 lost")
        self.assertEqual(lines["recorder"], "1 frame held, 1 recording saved, 3 failed")
        self.assertEqual(lines["flows"], "5, 4 evicted")
        self.assertEqual(lines["traces"], "9 records, 6 lost")
        self.assertEqual(lines["clickhouse"], "8 intervals sent, 2 KiB waiting, 1 dropped, 5 not spooled, 3 failed requests")

    def test_reload_is_answered(self):
        daemon = Daemon(self, WRITE)
        self.assertIn("read again", self.succeeds(self.ask(daemon.path, "--reload")))

    def test_what_the_daemon_refuses_is_a_failure(self):
        daemon = Daemon(self, WRITE)
        self.assertIn("nothing is recorded here", self.fails(self.ask(daemon.path, "--trigger", "slow now"), 1))

    def test_mistakes_say_what_to_do(self):
        nobody = self.folder / "none.sock"
        self.assertIn(str(nobody), self.fails(self.ask(nobody, "--status"), 1))
        self.assertIn("a reason of one line", self.fails(run("daemon", "--trigger", ""), 2))
        self.assertIn("--json is of --status", self.fails(run("daemon", "--json"), 2))
        self.assertIn("no control socket", self.fails(run("daemon", "--status", "--socket", "off"), 1))

    def test_who_may_not_ask_is_told_so(self):
        if os.getuid() != 0:
            self.skipTest("root alone can make a socket that others may not open")
        daemon = Daemon(self, WRITE)
        os.chmod(daemon.path, 0o600)
        os.chmod(self.folder, 0o755)
        message = self.fails(run_unprivileged("daemon", "--status", "--socket", daemon.path), 1)
        self.assertIn("group", message)


class Mistakes(TestCase):
    def test_nobody_answers(self):
        message = self.fails(run("flows", f"--connect={self.folder}/none.sock"))
        self.assertIn("start one with `rdmascope daemon", message)
        self.assertIn("none.sock", message)

    def test_what_is_no_daemon(self):
        path = self.folder / "other.sock"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            process = subprocess.Popen([BINARY, "why", f"--connect={path}"], stderr=subprocess.PIPE, text=True)
            client, _ = listening.accept()
            client.recv(1000)
            client.sendall(b"220 mail.example.org ESMTP\r\n")
            client.close()
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertIn("no rdmascope daemon", errors)

    @unittest.skipUnless(os.getuid() == 0, "root alone can become somebody else")
    def test_who_may_not_is_told_which_group_may(self):
        daemon = Daemon(self, WRITE)
        os.chmod(self.folder, 0o755)
        self.assertIn("group root may", self.fails(run_unprivileged("flows", f"--connect={daemon.path}")))

    def test_what_is_said_of_packets_has_no_meaning(self):
        for arguments in (["-r", WRITE], ["-i", "lo"], ["-c", "3"], ["-K"], ["-s", "100"], ["-B", "100"], ["-p"],
                          ["--threads", "2"], ["--link-rate", "10G"], ["--max-flows", "3"], ["udp"], ["-F", "file"]):
            for command in ("flows", "why"):
                self.fails(run(command, "--connect=/nowhere", *arguments), 2)

    def test_without_a_source_the_choices_name_the_daemon(self):
        message = self.fails(run("flows"), 2)
        self.assertIn("--connect", message)
        self.assertIn("/run/rdmascope/rdmascope.sock", message)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "needs root and unshare(1)")
    def test_without_a_source_the_daemon_that_runs_is_asked(self):
        # The mount is seen by nobody else: the script runs in a namespace of its own.
        script = ('mount -t tmpfs none /run || exit 77; "$1" "$2" /run/rdmascope/rdmascope.sock > "$4" & server=$!; '
                  'for try in $(seq 300); do grep -q ready "$4" 2> /dev/null && break; sleep 0.1; done; '
                  '"$3" flows -n --json; status=$?; kill $server; exit $status')
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", SERVER, str(WRITE), BINARY,
                                 str(self.folder / "said")], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("no mount namespace can be had: " + result.stderr)
        self.assertEqual(json.loads(self.succeeds(result)),
                         json.loads(run("flows", "-n", "--json", "-r", WRITE).stdout))


if __name__ == "__main__":
    unittest.main()
