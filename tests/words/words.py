#!/usr/bin/env python3
"""Words and idioms that the style of CONTRIBUTING.md excludes, in documents, manual pages, help, messages and comments.

  words.py --root .                  all files of the repository
  words.py --root . FILE...          these files
  words.py --root . --summary        only the number of findings for each file

A rule is a pattern with the words to use instead. exceptions.txt lists what is right although a rule matches, each with its
reason. Prints one line for each finding, and exits with 1 if there is one.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Pattern, what to write instead. A pattern matches whole words, in any case.
RULES = [
    (r"octets?|\d[\d,]*-octet", "byte"),
    (r"so many|so much|of that many", "n, the number, the size"),
    (r"(?:is|are|was|were|be|been) told(?! apart)|told of|tells? of|hears? of|knows? of", "reports, is reported, reads, knows"),
    (r"meets|heeds?|obeys?|obeyed|welcomes|adopts?", "handles, accepts, follows"),
    (r"nobody|whoever", "no process, no host, the sender that"),
    (r"(?<=[.;:] )who (?!is |are |was )\w+s\b", "a reader that, the host that"),
    (r"but for", "except"),
    (r"behind", "after"),
    (r"likewise", "also"),
    (r"of which(?! frame)", "whose, and … of them"),
    (r"in vain", "without success"),
    (r"anew", "again"),
    (r"in the midst", "inside"),
    (r"beside", "next to, with"),
    (r"(?<!there )(?:is|are|was) none", "is invalid, is not a, there is no"),
    (r"wanted", "expected, required"),
    (r"sick|illness(?:es)?|symptoms?", "problem, cause, effect"),
    (r"message units?", "message"),
    (r"for want of", "for lack of"),
    (r"unless told otherwise", "by default"),
    (r"lest|be it", "so that … not; also, or"),
    (r"as fast as it goes", "at full speed"),
    (r"what is live", "live packets"),
    (r"(?:gives?|gave|given) (?:that |it |nothing )?away|being taken in", "shows, reveals; is read, is added"),
    (r"at a glance|chronicles?|the crew|workings|loans?|cleverly|lo and behold", "the plain noun"),
]
# One pattern of all rules: the name of the group that matched is the number of its rule.
WORDS = re.compile(r"(?<![\w-])(?=\w)(?:" + "|".join(f"(?P<rule{i}>{pattern})" for i, (pattern, _) in enumerate(RULES)) + r")(?!\w)",
                   re.IGNORECASE)

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(text):
    """As long as the text, with its lines."""
    return re.sub(r"[^\n]", " ", text)


def prose_of_markdown(text):
    text = re.sub(r"^```.*?^```", lambda match: blank(match[0]), text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda match: blank(match[0]), text)


def prose_of_manual(text):
    text = re.sub(r"^\.nf$.*?^\.fi$", lambda match: blank(match[0]), text, flags=re.MULTILINE | re.DOTALL)
    return text.replace("\\-", "- ").replace("\\f", " f")


def prose_of_source(text):
    """Comments, and texts of several words: messages and help."""
    kept, end = [], 0
    for match in COMMENT.finditer(text):
        kept.append(blank(text[end:match.start()]))
        found = match[0]
        is_comment = found.startswith("/")
        is_text = found.startswith(('"', "R")) and found.count(" ") > 1 and "#include" not in found
        kept.append(re.sub(r"`[^`\n]*`", lambda code: blank(code[0]), found) if is_comment or is_text else blank(found))
        end = match.end()
    return "".join(kept) + blank(text[end:])


def prose_of_script(text):
    return "".join(line if line.lstrip().startswith("#") else blank(line) for line in text.splitlines(keepends=True))


def prose(path, text):
    name = path.name
    if name.endswith(".md"):
        return prose_of_markdown(text)
    if path.parent.name == "man":
        return prose_of_manual(text)
    if name.endswith((".h", ".cpp", ".c")):
        return prose_of_source(text)
    if name.endswith((".cmake", ".txt", ".toml")) or name == "dev":
        return prose_of_script(text)
    return ""


def read_exceptions(path):
    """Rows of `place | text | reason`: a folder that ends with /, or a file; the words on that line, or * for all."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 3 or not cells[2]:
            sys.exit(f"{path}:{number}: a row has three cells: place | text | reason")
        rows.append(cells)
    return rows


def is_excepted(place, line, rows):
    for where, text, _ in rows:
        here = where == "*" or place == where or (where.endswith("/") and place.startswith(where))
        if here and (text == "*" or text.lower() in line.lower()):
            return True
    return False


def findings(root, place, rows):
    """Line, words and advice of each finding."""
    if is_excepted(place, "", rows):
        return
    text = (root / place).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    for match in WORDS.finditer(prose(pathlib.Path(place), text)):
        number = text.count("\n", 0, match.start()) + 1
        if not is_excepted(place, lines[number - 1], rows):
            yield number, match[0].strip(), RULES[int(match.lastgroup.removeprefix("rule"))][1]


def files_of(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True)
    for place in listed.stdout.splitlines():
        in_tests = place.startswith("tests/") and not place.endswith(".md")
        if not in_tests and (root / place).is_file() and not (root / place).is_symlink():
            yield place


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--exceptions", type=pathlib.Path, default=pathlib.Path(__file__).with_name("exceptions.txt"))
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    rows = read_exceptions(arguments.exceptions)
    count = 0
    for place in arguments.files or files_of(arguments.root):
        found = list(findings(arguments.root, place, rows))
        count += len(found)
        if arguments.summary and found:
            print(f"{len(found):5} {place}")
        if not arguments.summary:
            for number, words, instead in found:
                print(f"{place}:{number}: '{words}': write {instead}")
    if count:
        print(f"{count} findings: CONTRIBUTING.md, style of words; exceptions are in {arguments.exceptions.name}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
