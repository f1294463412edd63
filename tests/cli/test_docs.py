"""What README and manual say of the program, held against the program."""
import re
import shlex
import subprocess
import unittest

from command import BINARY, ROOT, TestCase, needs, run


class Sessions(TestCase):
    """Sessions in the documents: `$ COMMAND` on a capture of pcaps/, and what the command prints. A line `...` stands for
    lines that are left out."""

    @staticmethod
    def of(page):
        for block in re.findall(r"^```\n(\$ .*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            for command, text in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                words = shlex.split(command)
                if words[0] == "rdmascope" and "pcaps/" in command and text:
                    yield words[1:], text

    def test_they_show_what_the_program_prints(self):
        count = 0
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for arguments, shown in self.of(page):
                with self.subTest(page=page.name, arguments=arguments):
                    printed = "\n" + self.succeeds(run(*arguments, cwd=ROOT))
                    for part in ("\n" + shown).split("\n...\n"):
                        if not part.strip():
                            continue
                        part = "\n" + part.strip("\n") + "\n"
                        self.assertIn(part, printed)
                        printed = printed[printed.index(part) + len(part) - 1:]
                    count += 1
        self.assertGreater(count, 2)


class Links(unittest.TestCase):
    """Links between documents lead to files and headings that exist."""

    @staticmethod
    def anchors(path):
        headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def test_they_lead_somewhere(self):
        count = 0
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if link.startswith(("http", "mailto:")):
                    continue
                with self.subTest(page=page.name, link=link):
                    place, _, anchor = link.partition("#")
                    target = (page.parent / place).resolve() if place else page
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, self.anchors(target))
                    count += 1
        self.assertGreater(count, 80)


class FirstScreens(TestCase):
    def test_the_readme_begins_with_an_answer_and_is_short(self):
        page = (ROOT / "README.md").read_text()
        self.assertEqual(next(Sessions.of(ROOT / "README.md"))[0][0], "why")
        self.assertLessEqual(page.count("\n"), 120)

    def test_every_command_is_in_its_table(self):
        page = (ROOT / "README.md").read_text()
        commands = re.findall(r"^  (\w+) {2,}", self.succeeds(run("help")), re.MULTILINE)
        self.assertGreater(len(commands), 9)
        for command in set(commands) - {"help"}:
            self.assertIn(f"| `{command}` |", page)

    def test_help_fits_a_terminal_and_leads_to_the_first_commands(self):
        lines = self.succeeds(run("help")).splitlines()
        self.assertLess(len(lines), 24, "a prompt follows")
        self.assertLessEqual(max(map(len, lines)), 80)
        for command in ("rdmascope demo ", "rdmascope why -r ", "rdmascope top "):
            self.assertIn(command, "\n".join(lines[:8]))


def arguments_of(call):
    """How many arguments a call has whose parentheses begin the text."""
    depth = commas = 0
    for character in call:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return commas + 1
        commas += character == "," and depth == 1
    raise ValueError(call)


class TracePoints(TestCase):
    def setUp(self):
        super().setUp()
        page = (ROOT / "docs/man/rdmascope-iwarp.7").read_text()
        section = re.search(r"^\.SH TRACE POINTS$(.*?)^\.SH ", page, re.MULTILINE | re.DOTALL).group(1)
        self.manual = {name: {sentence.count(",") + 1 for sentence in text.split(";")}
                       for name, text in re.findall(r"^\.TP\n\.B (\w+)\n(.*)$", section, re.MULTILINE)}

    def test_the_manual_has_those_of_the_sources_with_their_arguments(self):
        sources = {}
        for path in (ROOT / "iwarp").rglob("*.cpp"):
            text = path.read_text()
            for match in re.finditer(r"\bIWARP_PROBE(?=\((\w+),)", text):
                # The first argument of the macro is the name.
                sources.setdefault(match[1], set()).add(arguments_of(text[match.end():]) - 1)
        self.assertGreater(len(sources), 5)
        self.assertEqual(self.manual, sources)

    @needs("readelf")
    def test_the_manual_has_those_of_the_program(self):
        notes = subprocess.run(["readelf", "--notes", BINARY], capture_output=True, text=True, check=True).stdout
        found = set(re.findall(r"Provider: rdmascope\s+Name: (\w+)", notes))
        if not found:
            self.skipTest("built without <sys/sdt.h>")
        self.assertEqual(found, set(self.manual))


class Words(TestCase):
    """docs/output.md explains the words of a line of `dump`."""

    def test_those_of_iwarp_and_of_the_connection_manager_are_in_the_table(self):
        page = (ROOT / "docs/output.md").read_text()
        known = set(re.findall(r"`([a-z-]+)(?: N)?`", page))
        source = (ROOT / "dissect/output/text_management.cpp").read_text()
        words = set(re.findall(r'\{"[a-z_.]+", "([a-z-]+)", Form::', source))
        source = (ROOT / "dissect/output/text_segment.cpp").read_text()
        words |= set(re.findall(r'\bword(?:_hex)?\(out, "([a-z-]+)"', source))
        words |= set(re.findall(r'out \+= " ([a-z-]+)"', source))
        self.assertGreater(len(words), 30)
        self.assertEqual(words - known, set())


class Promises(unittest.TestCase):
    """Each promise of SECURITY.md names tests, and these exist."""

    def setUp(self):
        self.suites = {}
        for path in (ROOT / "tests").rglob("*.cpp"):
            for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE):
                self.suites.setdefault(suite, set()).add(name)

    @staticmethod
    def promises():
        page = (ROOT / "SECURITY.md").read_text()
        for table in re.findall(r"^\| promise \| test \|\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE):
            for row in table.splitlines():
                promise, tests = row.strip("| ").split(" | ")
                yield promise, re.findall(r"`([^`]+)`", tests)

    def exists(self, name, script):
        """Whether there is such a test; `script`: the text of the script that was named before, for classes in it."""
        if re.fullmatch(r"[A-Z]\w*", name):
            return f"class {name}(" in script
        if match := re.fullmatch(r"([A-Z]\w*)\.(\w+|\*)", name):
            return match[2] == "*" and match[1] in self.suites or match[2] in self.suites.get(match[1], ())
        if "/" in name:
            return (ROOT / name).exists()
        folder = name.replace("unit_", "unit/", 1) if name.startswith("unit_") else name
        return (ROOT / "tests" / folder).is_dir() or self.script(name).exists()

    @staticmethod
    def script(name):
        folder, _, test = name.partition(".")
        return ROOT / "tests" / folder / f"test_{test}.py"

    def test_each_promise_has_its_test(self):
        count = 0
        for promise, names in self.promises():
            with self.subTest(promise):
                known, script = 0, ""
                for name in names:
                    if name.startswith("./dev"):
                        continue
                    self.assertTrue(self.exists(name, script), name)
                    script = self.script(name).read_text() if self.script(name).exists() else script
                    known += 1
                self.assertGreater(known, 0)
                count += 1
        self.assertGreater(count, 15)

    def test_the_unit_runs_the_daemon_as_its_own_user_in_a_sandbox(self):
        unit = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "daemon/systemd/rdmascope.service.in").read_text(), re.MULTILINE))
        self.assertEqual(unit["User"], "rdmascope")
        self.assertEqual((unit["NoNewPrivileges"], unit["ProtectSystem"], unit["ProtectHome"]), ("yes", "strict", "yes"))
        self.assertLessEqual(set(unit["CapabilityBoundingSet"].split()), {"CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON"})


class ControlSocket(unittest.TestCase):
    def test_the_answers_shown_have_the_version_of_snapshots_that_is_sent(self):
        sent = re.search(r"snapshot_version = (\d+);", (ROOT / "metrics/figures/snapshot_codec.h").read_text())[1]
        shown = re.findall(r'"snapshot_version":(\d+)', (ROOT / "docs/control.md").read_text())
        self.assertGreater(len(shown), 1)
        self.assertEqual(set(shown), {sent})


if __name__ == "__main__":
    unittest.main()
