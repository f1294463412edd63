"""`rdmascope daemon --check`, and the same at the start: mistakes that only others than the reader of the file can judge, each
with its place, folders that cannot be written to, and files that cannot be read."""
import os
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, TestCase, run

QUIET = "[prometheus]\nlisten = \"\"\n[control]\nsocket = \"\"\n"


class Check(TestCase):
    def config(self, text):
        path = self.folder / "d.toml"
        path.write_text(text)
        return path

    def refused(self, text, *options):
        """What is said, without the program's name and the file's."""
        path = self.config(text)
        checked = self.fails(run("daemon", "--config", path, "--check", *options))
        lines = [line.removeprefix("rdmascope daemon: ") for line in checked.splitlines()]
        return [line.replace(f"{path}:", "FILE:") for line in lines]

    def test_mistakes_have_their_places(self):
        told = self.refused('[capture]\nfilter = "udp port"\n\n[[recorder.trigger]]\nname = "a"\nwhen = "retransmited > 1"\n'
                            '[[recorder.trigger]]\nname = "b"\nverdict = "rnrr"\n[service]\nuser = "nosuchuser"\n'
                            '[control]\ngroup = "nosuch"\n')
        self.assertEqual([line.split(": ")[:2] for line in told],
                         [["FILE:2:10", "capture.filter"], ["FILE:6:8", "recorder.trigger[0].when"],
                          ["FILE:9:11", "recorder.trigger[1].verdict"], ["FILE:11:8", "service.user"],
                          ["FILE:13:9", "control.group"]])

    def test_the_start_refuses_the_same(self):
        path = self.config(QUIET.replace('socket = ""', 'socket = ""\ngroup = "nosuch"'))
        self.assertIn(":5:9: control.group: there is no group 'nosuch'", self.fails(run("daemon", "--config", path)))

    def test_two_triggers_of_one_name(self):
        trigger = '[[recorder.trigger]]\nname = "a"\nverdict = "rnr"\n'
        self.assertIn("name", self.refused(trigger + trigger)[0])

    def test_folders_that_are_none(self):
        (self.folder / "file").touch()
        for option, key in (("--record", "recorder.directory"), ("--history", "history.directory")):
            for path in ("/dev/full", self.folder / "file", self.folder / "file" / "below"):
                with self.subTest(option=option, path=path):
                    self.assertEqual(self.refused("", option, path),
                                     [f"{key}: {path}: no file can be made there: Not a directory"])

    def test_file_systems_that_take_no_files(self):
        for path in ("/proc/no/such", "/proc/self", "/sys/kernel"):
            with self.subTest(path=path):
                self.assertEqual(self.refused("", "--record", path), [f"recorder.directory: {path}: no file can be made there: Operation not permitted"])
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("nothing can be mounted here")
        place = self.folder / "read-only"
        place.mkdir()
        for config in ("", '[service]\nuser = "nobody"\n'):
            path = self.config(config)
            checked = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro,mode=777 none "$0" && exec "$@"', place, BINARY,
                                      "daemon", "--config", path, "--check", "--history", place / "a"], capture_output=True, text=True, timeout=30)
            self.assertIn(f"history.directory: {place / 'a'}: no file can be made there", self.fails(checked))
            self.assertIn("Read-only file system", checked.stderr)

    def test_files_that_cannot_be_read(self):
        none, spool, file = self.folder / "none", self.folder / "spool", self.folder / "file"
        file.touch(mode=0o644)
        told = self.refused(f'[clickhouse]\nurl = "https://h:8443"\nspool = "{file}"\npassword_file = "{none}"\nca_file = "{self.folder}"\n'
                            f'[http]\ntoken_file = "{file}"\n[engine]\nnode_names = "{self.folder}"\n')
        self.assertEqual(told, [f"FILE:3:9: clickhouse.spool: {file}: no file can be made there: Not a directory",
                                f"FILE:7:14: http.token_file: {file}: every user can read it; use chmod o-r",
                                f"FILE:4:17: clickhouse.password_file: {none}: No such file or directory",
                                f"FILE:5:11: clickhouse.ca_file: {self.folder}: is a directory, and a regular file is expected; name another file",
                                f"FILE:9:14: engine.node_names: {self.folder}: Is a directory"])
        for lines, reason in ((self.folder, "is a directory, and a file is expected"), (none / "rows", "there is no such folder; make it")):
            told = self.refused(f'[clickhouse]\njsonl = "{lines}"\nspool = "{spool}"\n')
            self.assertEqual(told, [f"FILE:2:9: clickhouse.jsonl: {none if lines != self.folder else lines}: {reason}"])
        self.assertFalse(spool.exists())

    def test_a_policy_that_cannot_be_read_has_its_key(self):
        self.assertEqual(self.refused(f'[policy]\nfile = "{self.folder}"\n'),
                         [f"FILE:2:8: policy.file: {self.folder}: is a directory, and a regular file is expected; name another file"])

    @unittest.skipIf(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 1 << 40, "this machine has as much memory")
    def test_more_memory_than_the_machine_has(self):
        told = self.refused(f'[recorder]\ndirectory = "{self.folder}"\nmemory = "1TiB"\nmax_file_size = "1TiB"\n')
        self.assertRegex(told[0], r"^FILE:3:10: recorder.memory: 1 TiB are taken at the start, and this machine has [0-9.]+ GiB of memory$")
        fits = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        told = self.refused(f'[recorder]\ndirectory = "{self.folder}"\nmemory = "{fits}MiB"\nmax_file_size = "{fits}MiB"\n')
        self.assertRegex(told[0], r"^FILE:3:10: recorder.memory: [0-9.]+ GiB are taken at the start, the rings of one interface take 64 MiB "
                                  r"more, and this machine has [0-9.]+ GiB of memory$")
        if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 64 << 30:
            told = self.refused('[capture]\nthreads = 64\nbuffer = "1GiB"\n')
            self.assertRegex(told[0], "^FILE:3:10: capture.buffer: the rings of one interface take 64 GiB, and this machine has")

    def test_a_folder_that_is_missing_will_be_made(self):
        result = run("daemon", "--record", self.folder / "a" / "b", "--check")
        self.assertEqual((result.returncode, result.stderr), (0, "rdmascope daemon: the configuration is good\n"))
        self.assertFalse((self.folder / "a").exists())

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_a_folder_of_another_user(self):
        told = self.refused(f'[service]\nuser = "nobody"\n[recorder]\ndirectory = "{self.folder}/a/b"\n')
        self.assertIn("FILE:4:13: recorder.directory", told[0])
        self.assertIn("by user 'nobody': Permission denied", told[0])
        self.folder.chmod(0o777)
        self.succeeds(run("daemon", "--config", self.folder / "d.toml", "--check"))


@unittest.skipUnless(os.getuid() == 0, "only root may capture for sure")
class Start(TestCase):
    def test_incidents_that_would_be_lost(self):
        path = self.folder / "d.toml"
        path.write_text(QUIET)
        (self.folder / "file").touch()
        for record in ("/dev/full", self.folder / "file", "/proc/no/such"):
            with self.subTest(record=record):
                result = run("daemon", "--config", path, "-i", "lo", "--record", record)
                self.assertNotIn("ready", result.stderr)
                self.assertIn(f"{record}: no file can be made there", self.fails(result))

    def test_folders_are_made_with_their_parents(self):
        path = self.folder / "d.toml"
        path.write_text(QUIET)
        record = self.folder / "a" / "b"
        process = subprocess.Popen([BINARY, "daemon", "--config", path, "-i", "lo", "--record", record], text=True,
                                   env=ENVIRONMENT, stderr=subprocess.PIPE)
        for line in process.stderr:
            if "ready" in line:
                break
        process.terminate()
        error = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 0, error)
        self.assertTrue(record.is_dir())


if __name__ == "__main__":
    unittest.main()
