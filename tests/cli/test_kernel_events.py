"""--kernel-events of dump, flows, why, top and run. The kernel here need not have RDMA: any of its events shows
that an event is reported, with its process and a count. tests/unit/trace/ tests what RDMA's events mean, and
`./dev lab` tests real ones in virtual machines."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump, run, run_unprivileged

RPING = PCAPS / "rxe-rping.pcap"
EVENT = "sched:sched_process_exec"  # its fields have been the same for ten years: filename, pid, old_pid
PLACES = [pathlib.Path("/sys/kernel/tracing/events"), pathlib.Path("/sys/kernel/debug/tracing/events")]


def has_events():
    return os.getuid() == 0 and any((place / EVENT.replace(":", "/") / "format").exists() for place in PLACES)


class Usage(TestCase):
    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for command in ("flows", "why", "top"):
            with self.subTest(command=command):
                self.assertIn("run --trace FILE --kernel-events", self.fails(run(command, "-r", RPING, "--kernel-events"), 2))
                self.assertIn("--kernel-events", self.fails(run(command, "--connect=/none", "--kernel-events"), 2))
                self.assertIn("rdma_cma", self.fails(run(command, "-i", "lo", "--kernel-events=,"), 2))
        self.assertIn("-r", self.fails(dump("-r", RPING, "--kernel-events"), 2))
        for arguments in (["-T", "json"], ["-V"], ["--count"], ["-w", "x.pcapng"], ["-ttt"], ["-ttttt"]):
            with self.subTest(arguments=arguments):
                self.assertIn("--kernel-events", self.fails(dump("-i", "lo", "--kernel-events", *arguments), 2))
        for events in (",", "../passwd", ":x", "x:", "a/b"):
            with self.subTest(events=events):
                self.assertIn("GROUP:EVENT", self.fails(dump("-i", "lo", f"--kernel-events={events}"), 2))
                self.assertIn("GROUP:EVENT", self.fails(run("run", f"--kernel-events={events}", "true"), 2))

    def test_the_list_stands_behind_an_equals_sign(self):
        """So that a path after the option is the program."""
        for command in ("dump", "flows", "why", "top", "run"):
            self.assertIn("--kernel-events[=LIST]", run(command, "--help").stdout)
        for program in ("/no/such/program", "./no-such-program"):
            result = run("run", "--kernel-events", program)
            self.assertNotEqual(result.returncode, 2, result.stderr)
            self.assertNotIn("GROUP:EVENT", result.stderr)


@unittest.skipUnless(has_events(), "the kernel's trace events cannot be read here")
class Events(TestCase):
    def start(self, *arguments):
        process = subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertIn("listening on", process.stderr.readline())
        time.sleep(0.5)  # events are armed after that line
        return process

    def make_events(self, count=3):
        """Programs that begin: their pids."""
        pids = []
        for _ in range(count):
            process = subprocess.Popen([shutil.which("true")])
            process.wait()
            pids.append(process.pid)
        time.sleep(0.5)
        return pids

    def end(self, process):
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)

    def test_dump_prints_each_by_its_process_and_fields(self):
        process = self.start("dump", "-i", "lo", f"--kernel-events={EVENT}", "-tt", "udp port 4791")
        begun = time.time()
        pids = self.make_events()
        out, error = self.end(process)
        self.assertEqual(process.returncode, 0, error)
        lines = {}
        for line in out.splitlines():
            match = re.fullmatch(r"(\d+\.\d{6}) kernel sched:sched_process_exec pid (\d+): (.*)", line)
            if match:
                lines[int(match[2])] = match
        for pid in pids:
            self.assertIn(pid, lines, out)
            self.assertIn("filename=" + shutil.which("true"), lines[pid][3])
            self.assertAlmostEqual(float(lines[pid][1]), begun, delta=30)
        times = [float(line.split()[0]) for line in out.splitlines()]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(int(re.search(rf"kernel events: {EVENT} (\d+)", error)[1]), len(pids))

    def test_patterns(self):
        process = self.start("dump", "-i", "lo", "--kernel-events=sched:sched_process_ex?c", "udp port 4791")
        self.make_events(1)
        _, error = self.end(process)
        self.assertIn(f"kernel events: {EVENT} ", error)

    def test_flows_and_why_tell_how_often_they_came(self):
        for command in ("flows", "why"):
            with self.subTest(command=command):
                process = self.start(command, "-i", "lo", f"--kernel-events={EVENT}", "udp port 4791")
                self.make_events()
                _, error = self.end(process)
                self.assertGreaterEqual(int(re.search(rf"kernel events: {EVENT} (\d+)", error)[1]), 3, error)

    def test_top_takes_them(self):
        result = run("top", "-i", "lo", f"--kernel-events={EVENT}", "--once", "--interval", "100ms")
        self.succeeds(result)

    @unittest.skipUnless((pathlib.Path(BINARY).resolve().parent / "librdmascope-trace.so").exists(), "nothing traces programs here")
    def test_run_counts_them_while_the_program_runs(self):
        result = run("run", f"--kernel-events={EVENT}", "--trace", self.folder / "trace", "--", sys.executable, "-c",
                     "import subprocess; [subprocess.run(['true']) for _ in range(3)]")
        self.assertEqual(result.returncode, 0, result.stderr)
        # The program itself begins, too.
        self.assertGreaterEqual(int(re.search(rf"kernel events: {EVENT} (\d+)", result.stderr)[1]), 4, result.stderr)
        self.assertTrue((self.folder / "trace").read_bytes().startswith(b"rdmatrc\n"))

    def test_what_is_not_there_is_said_with_what_is(self):
        for arguments in (["dump", "-i", "lo"], ["flows", "-i", "lo"], ["top", "-i", "lo", "--once"]):
            with self.subTest(arguments=arguments):
                message = self.fails(run(*arguments, "--kernel-events=no_such_group,sched"))
                self.assertIn("there is no event `no_such_group`", message)
                self.assertRegex(message, "modprobe rdma_cm|has the groups")

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_without_tracefs_it_says_how_to_mount_it(self):
        script = ('umount -l /sys/kernel/tracing 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null; '
                  '[ -e /sys/kernel/tracing/events ] && exit 77; exec "$0" flows -i lo --kernel-events')
        result = subprocess.run(["unshare", "-m", "sh", "-c", script, BINARY], capture_output=True, text=True, env=ENVIRONMENT)
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("tracefs cannot be taken away here")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("mount -t tracefs nodev /sys/kernel/tracing", result.stderr)

    def test_without_the_right_it_says_which(self):
        # Who may not capture either is told of that first: run needs no capture.
        if not (pathlib.Path(BINARY).resolve().parent / "librdmascope-trace.so").exists():
            self.skipTest("nothing traces programs here")
        result = run_unprivileged("run", "--kernel-events", "--", "true")
        if "library" in result.stderr:
            self.skipTest("the library is not where nobody finds it")
        self.assertIn("root", self.fails(result))


if __name__ == "__main__":
    unittest.main()
