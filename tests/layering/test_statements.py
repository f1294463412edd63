"""The check of statements sees what it is for: mistakes that are planted in a source, and nothing in a sound one."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'statements.py')

SOUND = '''
// A comment, with a comma = 1, and more.
#include <map>
#define PAIR(a, b) a = 1, b = 2
namespace shop {
enum class Coin { cent = 1, mark, crown = mark };
struct Till {
    Till(int coins, int notes = 3) : coins_(coins), notes_{notes}, text_("a = 1, b") {}
    bool operator==(const Till&, std::size_t = 0) const = default;
    friend bool operator<(const Till&, const Till&);
    int coins_ = 0, notes_ = 0;
    std::map<int, Coin> all = {{1, Coin::cent}, {2, Coin::mark}};
};
template <class... T>
void print(T&... values) { ((values ? show(values, 1) : void()), ...); }
__attribute__((used, noinline)) void count(Till& till, void (*then)(int, int)) {
    int a = 1, b = 2;
    std::map<int, int> sums, others;
    auto [first, second] = pair_of<int, Coin>(a, b);
    sums[a] = most<int, int>(a, b);
    till.coins_ = a;
    const auto add = [&, c = 2](int by, int to = 4) { a += by; };
    for (int i = 0, j = 1; i < a; ++i) add(i, j);
    while ((a = next(b)) > 0) add(a, b);
    if (a < b && b > (a)) (text += "x") += 'y';
    switch (a) {
        case 1: add(a, [&] { a = b; }); break;
        default: add(Till{.coins_ = 1}, b == a);
    }
    const char* text = R"(x = 1, (y, z);)";
    return finish(Till{a, b}, a == 1, b <= 2, "a = 1", ',', '=');
}
}
'''

# Each is a statement of a function, with the words that report it.
PLANTED = [
    ('a = 1, b = 2;', 'a comma joins two expressions'),
    ('add(a), add(b);', 'a comma joins two expressions'),
    ('++a, ++b;', 'a comma joins two expressions'),
    ('*a = 1, b = 2;', 'a comma joins two expressions'),
    ('if (a) b = 1, c = 2;', 'a comma joins two expressions'),
    ('if (a) return failed = true, 0;', 'a comma joins two expressions'),
    ('return a.clear(), true;', 'a comma joins two expressions'),
    ('case 1: a = 1, b = 2; break;', 'a comma joins two expressions'),
    ('const auto f = [&] { a = 1, b = 2; };', 'a comma joins two expressions'),
    ('const auto f = [&](int i) -> std::string { return a = i, b; };', 'a comma joins two expressions'),
    ('for (; a < b; ++a, ++b) add(a);', 'a comma joins two expressions in the head of a loop'),
    ('const int c = a > b ? (a = 1, b) : 2;', 'a comma joins two expressions in parentheses'),
    ('add((a, b));', 'a comma joins two expressions in parentheses'),
    ("print(out += ' ', 1);", 'an argument assigns (+=)'),
    ('print(a.b->c[1] = 2);', 'an argument assigns (=)'),
    ('print(1, *a = 2);', 'an argument assigns (=)'),
    ('print((a = 2) + 1);', 'an argument assigns (=)'),
    ('base::print<int>(a <<= 2);', 'an argument assigns (<<=)'),
    ('if (print(a = b)) return;', 'an argument assigns (=)'),
    ('const int c = print(a |= b);', 'an argument assigns (|=)'),
]


class Planted(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            for path, content in (('cmake/layers.txt', 'shop | shop |\n'), ('shop/till.cpp', text)):
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), 'w', encoding='utf-8') as file:
                    file.write(content)
            done = subprocess.run([sys.executable, '-B', CHECK, '--root', folder], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.stderr, '')
            return done.returncode, done.stdout

    def test_sound_statements_pass(self):
        self.assertEqual(self.check(SOUND), (0, ''))

    def test_every_mistake_is_reported_with_its_line(self):
        for statement, words in PLANTED:
            with self.subTest(statement):
                self.assertEqual(self.check('namespace shop {\nvoid f() {\n    ' + statement + '\n}\n}\n'),
                                 (1, f'shop/till.cpp:3: {words}; write a statement of its own\n'))


if __name__ == '__main__':
    unittest.main()
