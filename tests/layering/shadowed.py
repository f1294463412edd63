#!/usr/bin/env python3
"""Classes and functions of Python that a later definition hides: a hidden test never runs.

  shadowed.py --root .

Reads every Python file of tests/. A name may be defined twice on the two sides of an `if` or a `try`. Exits 1 and prints
one line for each mistake.
"""
import argparse
import ast
import os
import sys

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def find_shadowed(body):
    """(name, line of the hidden definition, line of the one that hides it) of one body and of the classes in it."""
    lines = {}
    for node in body:
        if not isinstance(node, DEFINITIONS):
            continue
        # The setter of a property has the property's name.
        if node.name in lines and not any(isinstance(each, ast.Attribute) for each in node.decorator_list):
            yield node.name, lines[node.name], node.lineno
        lines[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            yield from find_shadowed(node.body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    root = parser.parse_args().root
    mistakes = 0
    for folder, folders, files in os.walk(os.path.join(root, 'tests')):
        folders.sort()
        for name in sorted(files):
            if not name.endswith('.py'):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                tree = ast.parse(file.read(), path)
            for found, hidden, line in find_shadowed(tree.body):
                print(f'{os.path.relpath(path, root)}:{line}: {found} hides the {found} of line {hidden}, which never runs')
                mistakes += 1
    return 1 if mistakes else 0


if __name__ == '__main__':
    sys.exit(main())
