"""The check of words against planted mistakes, and the check of commits as git calls it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
NONE = "# place | text | reason\n"


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def check(self, name, text, exceptions=NONE):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        rows = self.root / "exceptions.txt"
        rows.write_text(exceptions, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", HERE / "words.py", "--root", self.root, "--exceptions", rows, name],
                              capture_output=True, text=True, check=False)
        return [line.split(": ")[0] + " " + line.split("'")[1] for line in done.stdout.splitlines() if "'" in line]

    def test_prose_of_a_page_is_read_and_code_is_not(self):
        page = "Fine bytes.\n64 octets, and so many.\n`octets` stay.\n```\noctets\n```\nNobody knows.\n"
        self.assertEqual(self.check("page.md", page), ["page.md:2 octets", "page.md:2 so many", "page.md:7 Nobody"])

    def test_prose_of_a_manual_page(self):
        page = ".SH NAME\nx \\- at most 64\\-octet frames\n.nf\noctets\n.fi\nbehind it\n"
        self.assertEqual(self.check("man/x.1", page), ["man/x.1:2 octet", "man/x.1:6 behind"])

    def test_comments_and_texts_of_sources(self):
        source = ('int octets = 1;  // in octets\n/* likewise */ f("octets");\nprint("3 octets are wanted here");\n'
                  "char c = '\"'; // anew\nuse(R\"(// beside)\");\n")
        self.assertEqual(self.check("x.cpp", source), ["x.cpp:1 octets", "x.cpp:2 likewise", "x.cpp:3 octets",
                                                       "x.cpp:3 wanted", "x.cpp:4 anew"])

    def test_words_are_whole(self):
        self.assertEqual(self.check("page.md", "besides, unwanted, nobody_known, of which frame of which frame.\n"), [])

    def test_exceptions_are_of_a_place_and_a_text(self):
        rows = NONE + "docs/ | behind a proxy | a place in the network\n"
        text = "It is behind a proxy.\nIt is behind.\n"
        self.assertEqual(self.check("docs/page.md", text, rows), ["docs/page.md:2 behind"])
        self.assertEqual(self.check("page.md", text, rows), ["page.md:1 behind", "page.md:2 behind"])


class Commits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.git("init", "-q")
        (self.root / "capture").mkdir()
        (self.root / "capture/x.h").write_text("int x;\n", encoding="utf-8")
        self.git("add", ".")
        hook = self.root / ".git/hooks/commit-msg"
        hook.write_bytes((HERE / "commit-msg").read_bytes())
        hook.chmod(0o755)

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments], cwd=self.root,
                              capture_output=True, text=True, check=False)

    def commit(self, message):
        done = self.git("commit", "--allow-empty", "-q", "-m", message)
        return "" if done.returncode == 0 else done.stderr

    def test_good_subjects_pass(self):
        for message in ("capture: learn MPA ports in the kernel\n\nThe reason.", "build, capture: pass the root of the checkout",
                        "README: shorten the first screen", "Merge branch 'x'"):
            with self.subTest(message=message):
                self.assertEqual(self.commit(message), "")

    def test_bad_subjects_do_not(self):
        for message, word in (("learn MPA ports", "folder"), ("kapture: learn MPA ports", "kapture"), ("capture: learned it", "imperative"),
                              ("capture: learns it", "imperative"), ("capture: learning", "imperative"), ("capture: Learn it", "lower case"),
                              ("capture: learn it.", "full stop"), ("capture: " + "x" * 64, "at most 72"),
                              ("capture: learn it\nand more", "empty line")):
            with self.subTest(message=message):
                self.assertIn(word, self.commit(message))


if __name__ == "__main__":
    unittest.main()
