#!/usr/bin/env python3
"""Puts the blocks of options.man into the manual pages: `./dev manuals`. With --check it changes nothing, and exits with
1 if a page differs."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MANUAL = HERE.parent / "man"
HEAD = re.compile(r'^\.\\" pages: ([\w ]+); key: (.+)\n', re.MULTILINE)
BLOCK = re.compile(r"^\.TP\n(?P<option>.*)\n(?:(?!\.TP$|\.SS|\.SH|\.PP$).*\n)*", re.MULTILINE)


def shared_blocks(text):
    """Of each block its pages, the key of its option line, and its text."""
    parts = HEAD.split(text)[1:]
    for pages, key, block in zip(parts[::3], parts[1::3], parts[2::3]):
        yield pages.split(), key.strip(), block


def with_block(page, key, block):
    """The page with the block in place of its own, and how many there were."""
    count = 0

    def replaced(match):
        nonlocal count
        if key not in match["option"]:
            return match[0]
        count += 1
        return block

    return BLOCK.sub(replaced, page), count


def generated():
    """Page -> text, with all shared blocks in their places."""
    pages = {}
    for names, key, block in shared_blocks((HERE / "options.man").read_text(encoding="utf-8")):
        for name in names:
            path = MANUAL / f"rdmascope-{name}.1"
            text = pages.get(path) or path.read_text(encoding="utf-8")
            pages[path], count = with_block(text, key, block)
            if count != 1:
                sys.exit(f"{path.name}: {count} options hold '{key}' of options.man, not 1")
    return pages


def main():
    check = sys.argv[1:] == ["--check"]
    different = 0
    for path, text in generated().items():
        if text == path.read_text(encoding="utf-8"):
            continue
        different += 1
        if check:
            print(f"docs/man/{path.name} differs from docs/shared/options.man: run ./dev manuals")
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if check and different else 0


if __name__ == "__main__":
    sys.exit(main())
