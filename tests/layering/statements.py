#!/usr/bin/env python3
"""Side effects of the house's sources stand in statements of their own.

  statements.py --root .

Reports comma expressions (`return failed = true, 0;`, `++i, ++j`) and assignments inside arguments (`print(out += ' ')`)
in every folder of cmake/layers.txt. The check reads tokens and relies on the layout of clang-format, which puts blanks
around a less-than sign and none before template arguments. Exits 1 and prints one line for each mistake.
"""
import argparse
import os
import re
import sys

from layering import read_table, sources, read

TOKEN = re.compile(r'''
    (?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|\s+)
  | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[\w.]|'\w|[eEpP][+-])*)
  | (?P<sign><<=|>>=|<=>|->\*|\.\.\.|\+\+|--|->|::|&&|\|\||<<|[-+*/%&|^=!<>]=|.)
''', re.X | re.S | re.M)

ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
CLOSING = {'(': ')', '[': ']', '{': '}'}
# A parenthesis after these words holds no arguments. After the second it holds an expression.
HEADS = {'if', 'while', 'switch', 'for', 'catch'}
BEFORE_EXPRESSION = {'return', 'throw', 'co_return', 'co_yield', 'case', 'else', 'do'}
NO_CALLS = HEADS | BEFORE_EXPRESSION | {'sizeof', 'alignof', 'decltype', 'noexcept', 'requires', 'explicit', 'alignas',
                                        'static_assert', 'operator', '__attribute__', 'asm', 'volatile', 'constexpr'}
TYPES = {'auto', 'bool', 'char', 'int', 'unsigned', 'signed', 'long', 'short', 'float', 'double', 'void'}


class Group:
    """What stands between a bracket and its partner; `kind` is empty for a whole file. Items are tokens and groups."""

    def __init__(self, kind, line, before, parent):
        self.kind, self.line, self.before, self.parent = kind, line, before, parent
        self.items = []


class Token:
    def __init__(self, kind, text, line, spaced):
        self.kind, self.text, self.line, self.spaced = kind, text, line, spaced


def is_sign(item, *texts):
    return isinstance(item, Token) and item.kind == 'sign' and item.text in texts


def is_word(item, *texts):
    return isinstance(item, Token) and item.kind == 'word' and (not texts or item.text in texts)


def parse(text):
    """The tokens of a source as a tree of its brackets."""
    top = group = Group('', 1, None, None)
    line, spaced = 1, False
    for match in TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        kind = 'text' if match.group('text') is not None else kind
        if match.group('skip') is not None:
            spaced = True
        elif kind == 'sign' and found in CLOSING:
            inner = Group(found, line, group.items[-1] if group.items else None, group)
            group.items.append(inner)
            group = inner
            spaced = False
        elif kind == 'sign' and group.kind and found == CLOSING[group.kind]:
            group = group.parent
            spaced = False
        else:
            group.items.append(Token(kind, found, line, spaced))
            spaced = False
        line += found.count('\n')
    return top


def without_templates(items):
    """The items without template arguments: `<` with no blank before it, up to its partner."""
    out, at = [], 0
    while at < len(items):
        item = items[at]
        if is_sign(item, '<') and not item.spaced and out and (is_word(out[-1]) or is_sign(out[-1], ']')):
            depth, end = 0, at
            while end < len(items):
                depth += is_sign(items[end], '<') - is_sign(items[end], '>')
                if is_sign(items[end], ';') or depth == 0:
                    break
                end += 1
            if depth == 0:
                at = end + 1
                continue
        out.append(item)
        at += 1
    return out


def split(items, sign):
    parts = [[]]
    for item in items:
        if is_sign(item, sign):
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def has_comma(items):
    return any(is_sign(item, ',') for item in items)


def is_variadic(items):
    return any(is_sign(item, '...') for item in items)


def after_heads(items):
    """A statement without `if (...)`, `else`, `case X:` and the like before it."""
    while items:
        if is_word(items[0], 'if', 'while', 'for', 'switch'):
            at = 1 + is_word(items[1] if len(items) > 1 else None, 'constexpr')
            items = items[at + 1:]
        elif is_word(items[0], 'else', 'do'):
            items = items[1:]
        elif is_word(items[0], 'case', 'default'):
            colon = next((at for at, item in enumerate(items) if is_sign(item, ':')), None)
            if colon is None:
                return items
            items = items[colon + 1:]
        else:
            return items
    return items


def length_of_place(items):
    """How many items name what could be assigned to: `a.b->c[1]`, `*p`, `f(x).y`."""
    at = 0
    while at < len(items) and is_sign(items[at], '*'):
        at += 1
    if at < len(items) and isinstance(items[at], Group) and items[at].kind == '(':
        at += 1
    elif at < len(items) and is_word(items[at]) and items[at].text not in TYPES | BEFORE_EXPRESSION:
        at += 1
    else:
        return 0
    while at < len(items):
        if is_sign(items[at], '.', '->', '::') and at + 1 < len(items) and is_word(items[at + 1]):
            at += 2
        elif isinstance(items[at], Group) and items[at].kind in '([':
            at += 1
        else:
            break
    return at


def is_expression(items):
    """Whether a statement is an expression, and no declaration: a place, or a call, comes first and an operator next."""
    if not items:
        return False
    if is_word(items[0], 'return', 'throw', 'co_return') or is_sign(items[0], '++', '--', '!', '*'):
        return True
    length = length_of_place(items)
    if length == 0:
        return False
    if length == len(items):
        return True
    return is_sign(items[length], ',', '++', '--', '?', '<<', '>>', '&&', '||', '+', '-', *ASSIGNMENTS)


def is_block(group):
    """Whether braces hold statements, and not values, enumerators or members."""
    before = group.before
    if isinstance(before, Group):
        return before.kind in '({' or (before.kind == '[' and not is_word(before.before))
    if before is None or is_sign(before, ';', ':', '}') or is_word(before, 'else', 'do', 'try', 'const', 'noexcept',
                                                                   'override', 'final', 'mutable'):
        return True
    # `-> Type {`
    siblings = group.parent.items
    at = next(i for i, item in enumerate(siblings) if item is group) - 1
    while at >= 0 and (is_word(siblings[at]) or is_sign(siblings[at], '::', '<', '>', ',', '*', '&')):
        at -= 1
    return at >= 0 and is_sign(siblings[at], '->') and at > 0 and isinstance(siblings[at - 1], Group)


def statements_of(items):
    """Runs of items up to a semicolon; a block ends one as well."""
    run = []
    for at, item in enumerate(items):
        if is_sign(item, ';'):
            yield run
            run = []
            continue
        run.append(item)
        following = items[at + 1] if at + 1 < len(items) else None
        continues = isinstance(following, Token) and following.kind == 'sign' and following.text not in {'*', '++', '--', '!'}
        if isinstance(item, Group) and item.kind == '{' and not continues and not isinstance(following, Group):
            run = []


def is_call(group):
    before = group.before
    if group.kind != '(':
        return False
    if is_word(before):
        return before.text not in NO_CALLS
    if isinstance(before, Group):
        return before.kind in '([' and not is_lambda(before) and not is_word(before.before, *HEADS)
    return is_sign(before, '>')


def is_lambda(group):
    return group.kind == '[' and not is_word(group.before) and not isinstance(group.before, Group)


def is_operator_name(group):
    """The parameters of `operator==(`."""
    siblings = group.parent.items
    at = next(i for i, item in enumerate(siblings) if item is group) - 1
    while at >= 0 and isinstance(siblings[at], Token) and siblings[at].kind == 'sign':
        at -= 1
    return at >= 0 and is_word(siblings[at], 'operator')


def is_grouping(group):
    """A parenthesis around an expression."""
    if group.kind != '(':
        return False
    before = group.before
    if before is None:
        return group.parent.kind == '(' and not is_word(group.parent.before, '__attribute__')
    if isinstance(before, Token) and before.kind == 'sign':
        return before.text not in {'>', '&', '*', '::', '<'} and not is_operator_name(group)
    return is_word(before, *BEFORE_EXPRESSION)


def assigns(items):
    """The assignment that an argument is, also in parentheses of its own."""
    items = without_templates(items)
    length = length_of_place(items)
    is_type = length and is_word(items[length - 1]) and items[length - 1].text.endswith('_t')
    if length and not is_type and length < len(items) and is_sign(items[length], *ASSIGNMENTS):
        return items[length]
    for item in items:
        if isinstance(item, Group) and is_grouping(item):
            found = assigns(item.items)
            if found:
                return found
    return None


def line_of(items):
    return items[0].line


def mistakes_in(group):
    items = without_templates(group.items)
    if group.kind == '{' and is_block(group):
        for run in statements_of(items):
            run = after_heads(run)
            if has_comma(run) and is_expression(run):
                yield line_of(run), 'a comma joins two expressions'
    if group.kind == '(' and is_word(group.before, 'for'):
        for clause in split(items, ';')[1:]:
            if has_comma(clause):
                yield group.line, 'a comma joins two expressions in the head of a loop'
    if is_grouping(group) and has_comma(items) and not is_variadic(items):
        yield group.line, 'a comma joins two expressions in parentheses'
    if is_call(group):
        for argument in split(items, ','):
            found = assigns(argument)
            if found:
                yield found.line, f'an argument assigns ({found.text})'
    for item in group.items:
        if isinstance(item, Group):
            yield from mistakes_in(item)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    root = parser.parse_args().root
    sys.setrecursionlimit(10_000)
    tops = sorted({folder.split('/')[0] for folder in read_table(os.path.join(root, 'cmake', 'layers.txt'))})
    found = False
    for path in sources(root, tops):
        for line, words in sorted(set(mistakes_in(parse(read(root, path))))):
            print(f'{path}:{line}: {words}; write a statement of its own')
            found = True
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
