"""`rdmascope run`: which programs it starts and how, which it refuses and why. What they then do is in tests/software."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, ROOT, TestCase, needs, run

LIBRARY = "librdmascope-verbs.so"


def on_software(*arguments, **options):
    return run("run", "--software", *arguments, **options)


def has_library():
    folder = pathlib.Path(BINARY).resolve().parent
    return (folder / LIBRARY).exists() or (folder.parent / "lib/rdmascope" / LIBRARY).exists()


class Usage(TestCase):
    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for arguments in ([], ["--software"], ["--software", "--"], ["--crc", "on", "true"], ["--attach", "0"],
                          ["--attach", "self"], ["--attach", "1", "true"], ["--software", "--attach", "1"], ["--trace", "", "true"],
                          ["--mads", "", "true"], ["--mads", "-", "true"], ["--mads", "x", "--trace", "x", "true"],
                          ["--mads", "x", "--trace", "./x", "true"],
                          ["--mads", "x", "--attach", "1"],
                          ["--summary", "maybe", "true"],
                          ["--software", "--crc", "perhaps", "true"], ["--software", "--crc"], ["--software", "--address", "host", "true"],
                          ["--software", "--mpa-revision", "3", "true"], ["--software", "--max-ulpdu", "64769", "true"], ["-x", "true"]):
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope run", self.fails(run("run", *arguments), 2))
        self.assertIn("did you mean '--software'?", run("run", "--softwear", "true").stderr)
        self.assertIn("which program?", run("run", "--software").stderr)

    def test_help(self):
        self.assertEqual(self.succeeds(run("help", "run")), self.succeeds(run("run", "--help")))
        self.assertEqual(run("run", "--version").stdout, run("--version").stdout)

    def test_the_manual_and_the_library_have_the_same_variables(self):
        manual = (ROOT / "docs/man/rdmascope-run.1").read_text()
        header = (ROOT / "iwarp/preload/environment_settings.h").read_text()
        options = (ROOT / "cli/run/options.cpp").read_text()
        variables = {f"RDMASCOPE_SOFTWARE_{name}" for name in re.findall(r"^/// \| ([A-Z_]+) \|", header, re.MULTILINE)}
        self.assertGreater(len(variables), 5)
        self.assertEqual(set(re.findall(r"RDMASCOPE_SOFTWARE_[A-Z_]+", manual)), variables)
        self.assertEqual(set(re.findall(r"RDMASCOPE_SOFTWARE_[A-Z_]+", options)), variables)


@unittest.skipUnless(has_library(), "the software stack's library is not built here")
class Programs(TestCase):
    def test_the_exit_status_is_the_programs_own(self):
        for status in (0, 1, 2, 77, 255):
            self.assertEqual(on_software("sh", "-c", f"exit {status}").returncode, status)

    def test_signals_are_the_programs_own(self):
        # To us the death is a signal's; to a shell, 128 and its number.
        self.assertEqual(on_software("sh", "-c", "kill -TERM $$").returncode, -15)
        shell = subprocess.run(["sh", "-c", f"{BINARY} run --software -- sh -c 'kill -SEGV $$'; echo $?"], capture_output=True, text=True,
                               env=ENVIRONMENT, timeout=60)
        self.assertEqual(shell.stdout, "139\n")

    def test_arguments_input_and_output_are_the_programs_own(self):
        result = on_software("--", "printf", "%s|", "--crc", "a b", "--", "")
        self.assertEqual(self.succeeds(result), "--crc|a b|--||")
        self.assertEqual(result.stderr, "")
        self.assertEqual(on_software("cat", input="through").stdout, "through")

    def variables(self, *options, **environment):
        text = self.succeeds(on_software(*options, "--", "env", env={**ENVIRONMENT, **environment}))
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def test_the_library_stands_behind_what_was_preloaded_before(self):
        alone = self.variables()["LD_PRELOAD"]
        self.assertEqual(pathlib.Path(alone).name, LIBRARY)
        self.assertTrue(pathlib.Path(alone).is_absolute())
        other = subprocess.run(["sh", "-c", "stdbuf -oL env | sed -n 's/^LD_PRELOAD=//p'"], capture_output=True, text=True).stdout.strip()
        if not other:
            self.skipTest("nothing here to preload")
        self.assertEqual(self.variables(LD_PRELOAD=other)["LD_PRELOAD"], f"{other}:{alone}")

    def test_options_become_variables(self):
        found = self.variables("--crc", "off", "--address", "127.0.0.1", "--address=::1", "--mpa-revision", "1", "--crc", "on",
                               RDMASCOPE_SOFTWARE_MARKERS="on")
        found = {name.removeprefix("RDMASCOPE_SOFTWARE_"): value for name, value in found.items() if name.startswith("RDMASCOPE_SOFT")}
        self.assertEqual(found, {"CRC": "on", "ADDRESS": "127.0.0.1,::1", "MPA_REVISION": "1", "MARKERS": "on"})

    def test_there_is_no_such_program(self):
        self.assertIn("in the folders of PATH", self.fails(on_software("no-such-program"), 127))
        self.assertIn("/no/such/program", self.fails(on_software("/no/such/program"), 127))
        self.fails(on_software(""), 127)

    def file(self, octets, mode=0o755):
        path = self.folder / "program"
        path.write_bytes(octets)
        path.chmod(mode)
        return path

    def test_what_is_no_program(self):
        self.assertIn("is no program", self.fails(on_software(self.folder), 126))
        self.assertIn("neither a program nor a script", self.fails(on_software(self.file(b"text\n")), 126))
        self.assertIn("may not be executed", self.fails(on_software(self.file(b"#!/bin/sh\n", 0o644)), 126))
        self.assertIn("Not a directory", self.fails(on_software(self.file(b"") / "below"), 126))

    def test_the_program_is_not_overwritten_by_its_trace(self):
        path = self.file(b"#!/bin/sh\nexit 0\n")
        self.assertIn("being read", self.fails(run("run", "--trace", path, path)))
        self.assertEqual(path.read_bytes(), b"#!/bin/sh\nexit 0\n")

    def test_a_script_is_run_with_a_word(self):
        result = on_software(self.file(b"#!/bin/sh -e\necho done; exit 3\n"))
        self.assertEqual((result.returncode, result.stdout), (3, "done\n"))
        self.assertIn("is a script: all that it starts is run so, too", result.stderr)
        self.assertIn("its interpreter cannot be used", self.fails(on_software(self.file(b"#!/no/such/interpreter\n")), 126))

    def changed(self, at, octet):
        octets = bytearray(pathlib.Path(shutil.which("true")).read_bytes())
        octets[at] = octet
        return self.file(octets)

    def test_programs_of_another_kind(self):
        self.assertIn("32-bit", self.fails(on_software(self.changed(4, 1)), 126))  # EI_CLASS
        self.assertIn("another kind of processor", self.fails(on_software(self.changed(18, 0xf3)), 126))  # e_machine
        self.assertIn("make no sense", self.fails(on_software(self.changed(54, 1)), 126))  # e_phentsize
        self.assertIn("32-bit", self.fails(on_software(self.file(b"\x7fELF\x01")), 126))

    def test_a_program_for_another_c_library(self):
        octets = pathlib.Path(shutil.which("true")).read_bytes()
        at = octets.index(b"/ld-linux")
        changed = self.file(octets[:at] + b"/ld-musl-" + octets[at + 9:])
        self.assertIn("another C library", self.fails(on_software(changed), 126))

    @unittest.skipUnless(pathlib.Path("/sbin/ldconfig").exists(), "no static program at hand")
    def test_a_static_program(self):
        kind = subprocess.run(["readelf", "-l", "/sbin/ldconfig"], capture_output=True, text=True).stdout if shutil.which("readelf") else ""
        if not kind or "INTERP" in kind:
            self.skipTest("/sbin/ldconfig is not static, or readelf is not installed")
        self.assertIn("linked statically", self.fails(on_software("/sbin/ldconfig"), 126))

    @unittest.skipUnless(os.getuid() == 0, "only root can make a program of somebody else's")
    def test_a_set_user_id_program(self):
        for mark, word in ((0o4755, "set-user-ID"), (0o2755, "set-group-ID")):
            with self.subTest(mark=oct(mark)):
                path = self.file(pathlib.Path(shutil.which("true")).read_bytes())
                os.chown(path, 65534, 65534)
                path.chmod(mark)
                self.assertIn(word, self.fails(on_software(path), 126))

    def test_without_the_library(self):
        binary = shutil.copy(BINARY, self.folder)
        result = subprocess.run([binary, "run", "--software", "true"], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertIn("is not installed", self.fails(result, 1))

    def test_a_library_that_cannot_be_named(self):
        folder = self.folder / "with space"
        folder.mkdir()
        (folder / LIBRARY).write_bytes(b"")
        binary = shutil.copy(BINARY, folder)
        result = subprocess.run([binary, "run", "--software", "true"], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertIn("space or a colon", self.fails(result, 1))

    def test_a_library_that_is_damaged(self):
        """ld.so would say so, and run the program without it: on other adapters, or none."""
        binary = shutil.copy(BINARY, self.folder)
        whole = (pathlib.Path(BINARY).parent / LIBRARY).read_bytes()
        for octets in (b"", whole[:64], whole[:3000], whole[:len(whole) // 2], b"#!/bin/sh\n"):
            with self.subTest(octets=len(octets)):
                (self.folder / LIBRARY).write_bytes(octets)
                result = subprocess.run([binary, "run", "--software", "echo", "ran"], capture_output=True, text=True,
                                        env=ENVIRONMENT, timeout=60)
                self.assertIn("cannot be preloaded", self.fails(result, 1))
                self.assertNotIn("ran", result.stdout)
        (self.folder / LIBRARY).write_bytes(whole)
        result = subprocess.run([binary, "run", "--software", "echo", "ran"], capture_output=True, text=True, env=ENVIRONMENT,
                                timeout=60)
        self.assertEqual(self.succeeds(result), "ran\n")

    @needs("ibv_devices")
    def test_the_program_finds_the_device(self):
        self.assertIn("rdmascope0", self.succeeds(on_software("ibv_devices")))


if __name__ == "__main__":
    unittest.main()
