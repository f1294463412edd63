"""What `cmake --install` (and the package rdmascope-wireshark) puts below a prefix is found there by tshark, and by itself."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from plugged import TestCase, capture, tshark


class Installed(TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-installed-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name)
        cls.prefix.chmod(0o755)
        done = subprocess.run([os.environ["RDMASCOPE_CMAKE"], "--install", os.environ["RDMASCOPE_BUILD"], "--component", "wireshark",
                               "--prefix", folder.name], text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.files = {path.name: path for path in cls.prefix.rglob("*") if path.is_file()}

    def tshark(self, *arguments):
        plugins = self.files["rdmascope.so"].parents[2]  # above 4.0/epan
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": str(self.prefix / "home"),
                       "WIRESHARK_PLUGIN_DIR": str(plugins), "WIRESHARK_EXTCAP_DIR": str(self.files["rdmascope-extcap"].parent)}
        result = tshark(*arguments, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_tshark_loads_the_plugin(self):
        self.assertRegex(self.tshark("-G", "plugins"), r"(?m)^rdmascope\.so\s.*" + re.escape(str(self.files["rdmascope.so"])))
        # RNR NAK: the AETH's syndrome of that frame begins with 001, and of no other.
        self.assertEqual("6\n", self.tshark("-n", "-r", capture("rxe-verbs-rnr"), "-Y", "rdma.rnr_nak", "-T", "fields", "-e", "frame.number"))

    def test_tshark_lists_the_interfaces(self):
        listed = self.tshark("-D")
        for interface in ("rdmascope-any (rdmascope: any)", "rdmascope:daemon (rdmascope: daemon)",
                          "rdmascope:recorder (rdmascope: flight recorder)"):
            self.assertIn(interface, listed)

    def test_the_help_of_the_interfaces_is_beside_them(self):
        said = subprocess.run([self.files["rdmascope-extcap"], "--extcap-interfaces"], text=True, capture_output=True, check=True).stdout
        page = pathlib.Path(re.search(r"\{help=file://(.*?)\}", said)[1])
        self.assertEqual(page, self.files["extcap.md"])

    def test_the_profile_and_the_manual_are_there(self):
        for name in ("preferences", "recent", "colorfilters", "dfilter_buttons"):
            self.assertTrue((self.prefix / "share/wireshark/profiles/RDMA" / name).is_file(), name)
        for name in ("rdmascope-wireshark.7", "rdmascope-extcap.1", "wireshark.md", "wireshark-filters.md"):
            self.assertIn(name, self.files)
        licence = (self.prefix / "share/doc/rdmascope-wireshark/copyright").read_text()
        for part in ("GNU General Public License", "BSD 3-Clause License"):
            self.assertIn(part, licence)


if __name__ == "__main__":
    unittest.main()
