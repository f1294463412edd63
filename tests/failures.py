"""What the tests of a JUnit report that failed have printed last. ctest prints it where each of them ended, thousands of lines above."""
import re
import sys
import xml.etree.ElementTree

LINES = 40
LETTERS = 300


def main(path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        if case.get("status") != "fail":
            continue
        printed = (case.findtext("system-out") or "").rstrip()
        # A suite also prints its tests that passed; they are left out.
        printed = re.sub(r"\[ RUN      \] (\S+)\n\[       OK \] \1.*\n", "", printed).split("\n")
        print(f"\n-- {case.get('name')}, its last {min(LINES, len(printed))} of {len(printed)} lines:")
        for line in printed[-LINES:]:
            print(line[:LETTERS])


if __name__ == "__main__":
    main(sys.argv[1])
