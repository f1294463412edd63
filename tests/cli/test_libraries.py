"""Which libraries commands load. Those that few commands need are loaded when they are needed (base/shared_library.h)."""
import os
import pathlib
import re
import subprocess
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, ROOT, TestCase, run

# What the loader may not see at the start, and libraries that only these bring: of TLS, Kerberos and directories.
LATER = ('libcurl', 'libmicrohttpd', 'libgnutls', 'libssl', 'libcrypto', 'libgssapi', 'libkrb5', 'libldap', 'libssh2')
CAPTURE = PCAPS / 'made-tunnels.pcap'


def loaded_at_start():
    """What ld.so(8) loads before main(): with this variable it prints the libraries instead of starting the program."""
    listed = subprocess.run([BINARY], env={**ENVIRONMENT, 'LD_TRACE_LOADED_OBJECTS': '1'}, capture_output=True, text=True, timeout=60)
    return re.findall(r'^\s*(\S+)', listed.stdout, re.M)


class AtStart(TestCase):
    def test_few_libraries_are_loaded(self):
        libraries = loaded_at_start()
        self.assertTrue([name for name in libraries if name.startswith('libc.so')], 'the loader listed nothing')
        self.assertEqual([name for name in libraries if name.startswith(LATER)], [])


class Damaged(TestCase):
    """With files in the place of these libraries that are none."""

    def setUp(self):
        super().setUp()
        for name in ('libcurl.so.4', 'libmicrohttpd.so.12'):
            (self.folder / name).write_text('This is a text, and no library.\n' * 64)
        self.options = {'env': {**ENVIRONMENT, 'LD_LIBRARY_PATH': str(self.folder)}}

    def test_commands_that_need_none_of_them_work(self):
        for command in (('--version',), ('dump', '-c', '1', '-r', CAPTURE), ('flows', '-r', CAPTURE), ('why', '-r', CAPTURE)):
            with self.subTest(command=command):
                done = run(*command, **self.options)
                self.assertEqual((done.returncode, done.stderr), (run(*command).returncode, run(*command).stderr))

    def test_a_question_to_the_fleet_names_the_library_and_its_package(self):
        done = run('fleet', 'hosts', '--url', 'http://127.0.0.1:1', **self.options)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r'^rdmascope fleet hosts: libcurl\.so\.4: .*; requests to ClickHouse need this library: '
                                      r'install the package libcurl4$')


class Package(unittest.TestCase):
    def test_it_depends_on_what_is_loaded_later(self):
        """dpkg-shlibdeps finds what the program links, and nothing of these."""
        named = set()
        for source in ROOT.glob('*/**/*.cpp'):
            if source.relative_to(ROOT).parts[0] in ('build', 'tests'):
                continue
            if 'SharedLibrary::load' in (text := source.read_text(encoding='utf-8')):
                named.update(re.findall(r'\.package = "([^"]+)"', text))
        self.assertTrue(named, 'no source loads a library: where are they now?')
        settings = pathlib.Path(os.environ['RDMASCOPE_PACKAGING']).read_text(encoding='utf-8')
        depends = re.search(r'CPACK_DEBIAN_RDMASCOPE_PACKAGE_DEPENDS "([^"]*)"', settings)
        self.assertTrue(depends, settings[:2000])
        self.assertEqual({each.split()[0] for each in depends[1].split(', ')}, named)


if __name__ == '__main__':
    unittest.main()
