"""Help, usage errors, listings; and that completions and manuals are well-formed."""
import pathlib
import re
import shutil
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, dump, needs, run, tcpdump

RPING = PCAPS / "rxe-rping.pcap"


class Help(TestCase):
    def test_no_command_is_a_usage_error_that_lists_the_commands(self):
        self.assertIn("dump", run().stderr)
        self.assertEqual(run().returncode, 2)

    def test_help_in_all_its_spellings(self):
        overview = self.succeeds(run("help"))
        self.assertIn("\n  dump ", overview)
        self.assertEqual(overview, run("--help").stdout)
        self.assertEqual(overview, run("-h").stdout)
        page = self.succeeds(run("help", "dump"))
        self.assertEqual(page, self.succeeds(dump("--help")))
        self.assertEqual(page, self.succeeds(dump("-h")))

    def test_version(self):
        self.assertRegex(self.succeeds(run("--version")), r"^rdmascope \d+\.\d+\.\d+\n$")
        self.assertEqual(dump("--version").stdout, run("--version").stdout)

    def test_an_unknown_command_names_the_one_that_was_meant(self):
        self.assertIn("did you mean 'dump'?", self.fails(run("dmup"), 2))
        self.assertNotIn("did you mean", self.fails(run("tshark"), 2))
        self.fails(run("help", "nothing"), 2)

    def test_who_begins_with_an_option_as_with_tcpdump_is_told_where_it_goes(self):
        for option in ("-r", "-i", "--nothing"):
            self.assertIn(f"`rdmascope dump {option}`", self.fails(run(option, RPING), 2))
        self.assertIn("did you mean '--version'?", self.fails(run("--verison"), 2))


class Usage(TestCase):
    def test_without_a_source_the_choices_are_named(self):
        message = self.fails(dump(), 2)
        self.assertIn("-r FILE", message)
        self.assertIn("-i IFACE", message)

    def test_a_file_needs_no_option(self):
        for command in (["dump"], ["flows"], ["why"], ["top", "--once"]):
            with self.subTest(command=command):
                named = run(*command, RPING, "udp", "port", "4791")
                self.assertEqual(named.returncode, 0, named.stderr)
                if command[0] == "top":  # the charts of a picture depend on the time of playing
                    self.assertIn("rxe-rping.pcap", named.stdout)
                else:
                    self.assertEqual(named.stdout, run(*command, "-r", RPING, "udp", "port", "4791").stdout)
                self.assertNotEqual(named.stdout, "")
                self.assertIn("/no/such.pcap", self.fails(run(*command, "/no/such.pcap"), 1))
                # An option names the source: the word is part of the expression.
                self.fails(run(*command, "-r", RPING, RPING), 2)

    def test_several_files_are_merged(self):
        both = run("flows", "--json", RPING, RPING)
        self.assertEqual(both.stdout, run("flows", "--json", "-r", RPING, "-r", RPING).stdout)

    def test_completion_prints_the_scripts(self):
        for shell, file in (("bash", "rdmascope.bash"), ("zsh", "_rdmascope"), ("fish", "rdmascope.fish")):
            script = self.succeeds(run("completion", shell))
            self.assertEqual(script, (ROOT / "cli/completion" / file).read_text())
        self.assertIn("did you mean 'bash'?", self.fails(run("completion", "bsh"), 2))
        self.fails(run("completion"), 2)

    def test_filters_teach(self):
        self.assertIn("Did you mean nak?", self.fails(dump("-r", RPING, "-Y", 'rdma.operation == "nack"'), 2))
        self.assertIn("its values are first, middle", self.fails(dump("-r", RPING, "-Y", 'rdma.position in {"zzzzzz"}'), 2))
        self.assertIn("== compares", self.fails(dump("-r", RPING, "-Y", "infiniband.bth.opcode = 4"), 2))
        self.assertEqual(dump("-r", RPING, "-Y", 'rdma.operation contains "ack"', "--count").returncode, 0)

    def test_what_cannot_be_obeyed_is_a_usage_error(self):
        for arguments in (["-k"], ["--no-such"], ["-c"], ["-c", "x"], ["-T", "xml"], ["-T", "fields"], ["-L"], ["-J"],
                          ["-E", "header=y"], ["-C", "1"], ["-i", "lo"], ["-r", RPING], ["--color=red"], ["-s", "-1"]):
            with self.subTest(arguments=arguments):
                message = self.fails(dump("-r", RPING, *arguments), 2)
                self.assertIn("rdmascope help dump", message)

    def test_an_option_of_another_command_is_named_with_the_command(self):
        for arguments, part in ((["why", "--columns", "x"], "there is no option --columns; flows, io, top and fleet have it\n"),
                                (["flows", "-w", "x"], "there is no option -w; dump has it\n"),
                                (["endpoint", "ping", "--depth", "1"], "there is no option --depth; endpoint bench has it\n"),
                                (["doctor", "--markers", "on"], "there is no option --markers; endpoint and run have it\n")):
            with self.subTest(arguments=arguments):
                self.assertIn(part, self.fails(run(*arguments), 2))

    def test_an_abbreviation_of_two_names_lists_both(self):
        self.assertIn("--time-stamp may be --time-stamp-type or --time-stamp-precision", self.fails(dump("--time-stamp", "x"), 2))

    def test_packets_of_a_daemon_are_to_be_had_elsewhere(self):
        for arguments in (["--connect=/x"], ["--connect", "/x"], ["-n", "--connect"]):
            message = self.fails(dump(*arguments), 2)
            for word in ("flows, why and top", "flight recorder", "trigger", "rdmascope-control(7)"):
                self.assertIn(word, message)


class Listings(TestCase):
    @needs("tcpdump")
    def test_compiled_expressions_are_tcpdumps(self):
        for form in ("-d", "-dd", "-ddd"):
            for expression in ("udp port 4791", "tcp[13] & 2 != 0 and host 192.0.2.1", "less 100"):
                for extra in ([], ["-O"], ["-y", "RAW"], ["-y", "LINUX_SLL2"]):
                    with self.subTest(form=form, expression=expression, extra=extra):
                        theirs = tcpdump("-s", 262144, "-y", "EN10MB", *extra, form, expression)
                        ours = dump(*extra, form, expression)
                        self.assertEqual(self.succeeds(ours), theirs.stdout)

    @needs("tcpdump")
    def test_the_code_is_for_the_link_type_of_the_file(self):
        capture = PCAPS / "made-raw-ip.pcap"
        self.assertEqual(dump("-r", capture, "-d", "udp").stdout, tcpdump("-r", capture, "-d", "udp").stdout)

    @needs("tcpdump")
    def test_interfaces_are_numbered_as_tcpdump_numbers_them(self):
        def names(text):
            return re.findall(r"^(\d+\.\S+)", text, re.MULTILINE)

        theirs = tcpdump("-D")
        if theirs.returncode != 0:
            self.skipTest("tcpdump cannot list the interfaces here")
        self.assertEqual(names(self.succeeds(dump("-D"))), names(theirs.stdout))


class Documentation(TestCase):
    def test_the_completions_are_well_formed(self):
        for shell, name in (("bash", "rdmascope.bash"), ("zsh", "_rdmascope"), ("fish", "rdmascope.fish")):
            if shutil.which(shell):
                with self.subTest(shell=shell):
                    subprocess.run([shell, "-n", ROOT / "cli/completion" / name], check=True)

    @needs("bash")
    def test_bash_completes(self):
        def complete(*words):
            script = (f"source {ROOT}/cli/completion/rdmascope.bash; COMP_WORDS=({' '.join(words)} ''); "
                      f"COMP_CWORD={len(words)}; _rdmascope; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(complete(BINARY), ["dump", "flows", "io", "paths", "why", "explain", "report", "policy", "fabric", "top", "daemon", "fleet", "endpoint", "replay", "run", "doctor",
                                           "demo", "completion", "help", "--help", "--version"])
        self.assertEqual(complete(BINARY, "dump", "-T"), ["text", "fields", "json", "ek"])
        self.assertIn("lo", complete(BINARY, "dump", "-i"))
        self.assertIn("infiniband.bth.opcode", complete(BINARY, "dump", "-T", "fields", "-e"))
        self.assertEqual(complete(BINARY, "dump", "--color", "="), ["auto", "never", "always"])

    @needs("bash")
    def test_bash_completes_words_that_it_cuts(self):
        """bash hands words over in pieces, cut at `=` and `:`, and replaces the last piece."""
        def complete(*words):
            quoted = " ".join(f"'{word}'" for word in words)
            script = (f"source {ROOT}/cli/completion/rdmascope.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                      "_rdmascope; printf '%s\\n' \"${COMPREPLY[@]}\"")
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=self.folder).stdout.split()

        (self.folder / "2026-11-24T10:00:00.pcap").touch()
        (self.folder / "folder").mkdir()
        events = ["rdma_cma", "rdma_core", "ib_cma", "ib_mad", "rpcrdma"]
        for words, replies in (
                (["dump", "-r", "2026-11-24T10", ":", "0"], ["00:00.pcap"]),
                (["dump", "-r", "2026-11-24T10", ":"], ["00:00.pcap"]),
                (["dump", "--read-file", "=", "2026-11-24T10", ":", "00", ":", "0"], ["00.pcap"]),
                (["replay", "2026-11-24T10", ":", ""], ["00:00.pcap"]),
                (["dump", "-E", "separator", "="], ["/t", "/s", ","]),
                (["dump", "--color", "=", "al"], ["always"]),
                (["dump", "--kernel-events", "="], events),
                (["flows", "--kernel-events", "=", "ib"], ["ib_cma", "ib_mad"]),
                (["run", "--kernel-events", "="], events),
                (["daemon", "--prometheus", "127.0.0.1", ":", "14"], ["14791"]),
                (["daemon", "--prometheus", "=", "127.0.0.1", ":"], ["14791"]),
                (["endpoint", "ping", "--to", "127.0.0.1", ":", "7"], ["7174"]),
                (["replay", "--rewrite", "qpn."], ["qpn.src:", "qpn.dst:"]),
                (["flows", "--history", ""], ["folder"]),
                (["endpoint", "se"], ["serve"]),
                (["help", "du"], ["dump"])):
            with self.subTest(words=words):
                self.assertEqual(complete(BINARY, *words), replies)
        for options in (["--receive-patience", "100"], ["--receive-patience", "=", "100"], ["--kernel-events", "=", "rdma_cma"],
                        ["--address", "::", "1"], ["--address", "=::", "1", "--"], ["--trace", "x"], []):
            with self.subTest(options=options):
                self.assertIn("printf", complete(BINARY, "run", *options, "print"), "a program comes next")
                self.assertEqual(complete(BINARY, "run", *options, "true", "fol"), ["folder"], "the program's own words")

    @needs("fish")
    def test_fish_completes(self):
        def complete(line):
            script = f"source {ROOT}/cli/completion/rdmascope.fish; complete -C '{line}'"
            environment = {**ENVIRONMENT, "HOME": str(self.folder), "PATH": f"{pathlib.Path(BINARY).parent}:{ENVIRONMENT['PATH']}"}
            told = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, cwd=self.folder, env=environment)
            return [reply.split("\t")[0] for reply in told.stdout.splitlines()]

        (self.folder / "folder").mkdir()
        self.assertEqual(sorted(complete("rdmascope ")), sorted(["dump", "flows", "io", "paths", "why", "explain", "report", "policy", "fabric", "top", "daemon", "fleet", "endpoint", "replay", "run",
                                                                 "doctor", "demo", "completion", "help"]))
        self.assertEqual(sorted(complete("rdmascope dump -T ")), ["ek", "fields", "json", "text"])
        self.assertEqual(complete("rdmascope help dump --col"), [])
        self.assertEqual(complete("rdmascope dump -r demo --rec"), [], "a file's name is no command")
        self.assertEqual(sorted(complete("rdmascope endpoint --")), ["--help", "--version"])
        for options in ("", "--software ", "--trace x ", "--receive-patience 100 --summary off ", "--kernel-events=rdma_cma ", "-- "):
            with self.subTest(options=options):
                self.assertIn("env", complete(f"rdmascope run {options}en"), "a program comes next")
                self.assertEqual(complete(f"rdmascope run {options}true fol"), ["folder/"], "the program's own words")
                self.assertNotIn("--software", complete(f"rdmascope run {options}true --so"), "and its own options")

    @needs("zsh")
    def test_zsh_is_offered_words_alone(self):
        """compadd takes what is after its first word for words, `--` too."""
        for words, calls in ((["rdmascope", ""], ["dump flows io paths why explain report policy fabric top daemon fleet endpoint replay run doctor demo completion help",
                                                "-- --help --version"]),
                             (["rdmascope", "endpoint", ""], ["serve ping bench listen", "-- --help --version"])):
            with self.subTest(words=words):
                script = (f"compadd() {{ print -r -- \"$*\" }}; words=({' '.join(word or repr('') for word in words)}); "
                          f"CURRENT={len(words)}; source {ROOT}/cli/completion/_rdmascope")
                told = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True)
                self.assertEqual(told.stdout.splitlines(), calls)

    @needs("mandoc")
    def test_the_manual_is_well_formed(self):
        for page in sorted((ROOT / "docs/man").iterdir()):
            with self.subTest(page=page.name):
                lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True)
                self.assertEqual(lint.stdout + lint.stderr, "")


if __name__ == "__main__":
    unittest.main()
