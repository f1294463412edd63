"""The check of descriptors sees mistakes that are planted in a source, and nothing in a sound one."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'descriptors.py')

SOUND = '''
// ::open(path, O_RDONLY) in a comment
int open(const char* path);
Till::Till() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
bool Till::accept(int coin) { return box.open(coin) && this->socket(coin); }
int peer() { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }
int copy() { return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0); }
FILE* file() { return std::fopen(path, "rbe"); }
'''
MISTAKES = [
    'int a() { return ::open(path.c_str(), O_RDONLY); }',
    'int a() { return ::openat(folder, name, O_RDWR | O_CREAT, mode(0640)); }',
    'int a() { return open(path, O_RDONLY); }',
    'base::Descriptor a(::socket(AF_INET, SOCK_DGRAM, 0));',
    'int a() { return ::accept(listener, nullptr, nullptr); }',
    'int a() { return ::dup(STDIN_FILENO); }',
    'int a() { return ::eventfd(0, EFD_NONBLOCK); }',
    'int a() { return memfd_create("a", 0); }',
    'FILE* a() { return std::fopen(path, "rb"); }',
    'std::ifstream file(path);',
    'int a() { return ::fork(); }',
    'void a() { std::system("ls"); execvp(arguments[0], arguments); }',
    'int a() { return ::epoll_create1(0) + ::inotify_init1(IN_NONBLOCK); }',
]


def check(source):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'cmake'))
        os.makedirs(os.path.join(root, 'shop'))
        with open(os.path.join(root, 'cmake', 'layers.txt'), 'w', encoding='utf-8') as file:
            file.write('shop | shop |\n')
        with open(os.path.join(root, 'shop', 'till.cpp'), 'w', encoding='utf-8') as file:
            file.write(source)
        return subprocess.run([sys.executable, '-B', CHECK, '--root', root], capture_output=True, text=True)


class Descriptors(unittest.TestCase):
    def test_a_sound_source_has_no_mistakes(self):
        result = check(SOUND)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))

    def test_each_planted_mistake_is_reported_with_its_line(self):
        for mistake in MISTAKES:
            with self.subTest(mistake):
                result = check(SOUND + mistake + '\n')
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(f'shop/till.cpp:{SOUND.count(chr(10)) + 1}: ', result.stdout)
                self.assertNotRegex(result.stdout, r':[1-8]: ')


if __name__ == '__main__':
    unittest.main()
