#!/usr/bin/env python3
"""Descriptors of the house are close-on-exec, and few files start programs.

  descriptors.py --root .

Reports in every folder of cmake/layers.txt: calls that open a descriptor without asking for close-on-exec, standard file
streams, which cannot ask for it, and calls that start a program in a file that START_PROGRAMS does not list. Exits 1 and
prints one line for each mistake.
"""
import argparse
import os
import re
import sys

from layering import read_table, sources, read

# Function -> what its call must contain. `None`: there is no call of it that marks the descriptor.
OPENING = {
    'open': r'O_CLOEXEC', 'openat': r'O_CLOEXEC', 'creat': None, 'socket': r'SOCK_CLOEXEC', 'socketpair': r'SOCK_CLOEXEC',
    'accept': None, 'accept4': r'SOCK_CLOEXEC', 'pipe': None, 'pipe2': r'O_CLOEXEC', 'dup': None, 'dup2': None,
    'dup3': r'O_CLOEXEC', 'memfd_create': r'MFD_CLOEXEC', 'epoll_create': None, 'epoll_create1': r'EPOLL_CLOEXEC',
    'inotify_init': None, 'inotify_init1': r'IN_CLOEXEC', 'fanotify_init': r'FAN_CLOEXEC', 'eventfd': r'EFD_CLOEXEC',
    'timerfd_create': r'TFD_CLOEXEC', 'signalfd': r'SFD_CLOEXEC', 'mkstemp': None, 'mkostemp': r'O_CLOEXEC',
    'fopen': r'"[rwa+bx]*e[rwa+bx]*"', 'freopen': None, 'popen': None, 'tmpfile': None, 'shm_open': r'O_CLOEXEC',
    'perf_event_open': r'PERF_FLAG_FD_CLOEXEC',
}
# Calls with other arguments that are right all the same: file -> function -> the reason.
RIGHT = {
    'base/open_file.cpp': {'openat': 'O_CLOEXEC is in the flags that open_at() adds'},
    'observe/trace_folder.cpp': {'openat': 'O_CLOEXEC is in the variable `how`'},
    'cli/standard_streams.cpp': {'open': 'standard streams are for children, too'},
    'plugins/extcap/fifo_capture.cpp': {'dup2': 'standard input is for children, too'},
    'trace/perf/perf_source.cpp': {'perf_event_open': 'PERF_FLAG_FD_CLOEXEC is in the definition'},
}
# Files that start programs: what the children inherit is for tests/cli/test_inherited.py.
START_PROGRAMS = {
    'capture/files/ring_writer.cpp': 'dump -z',
    'cli/run/run_traced.cpp': 'run',
    'cli/run/executable.cpp': 'run',
}
STARTING = re.compile(r'(?<![\w.>])(?:::)?(fork|vfork|clone|clone3|posix_spawnp?|system|popen|execv[pe]?|execvpe|execl[pe]?|fexecve|execveat)\(')
STREAM = re.compile(r'\bstd::(?:basic_)?[io]?f(?:ile)?stream\b')
CALL = re.compile(r'(?<![\w.>:])(?:::|std::)?(%s)\(' % '|'.join(OPENING))
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)
# A declaration or definition has a type before the name.
DECLARED = re.compile(r'(?:[\w>&*]\s|[&*])$')
KEYWORD = re.compile(r'\b(?:return|else|do|throw)\s$')


def arguments_at(text, at):
    """What stands between the parenthesis before `at` and its partner."""
    depth, end = 1, at
    while end < len(text) and depth:
        depth += {'(': 1, ')': -1}.get(text[end], 0)
        end += 1
    return text[at:end - 1]


def mistakes_in(path, text):
    text = COMMENT.sub(lambda found: re.sub(r'[^\n]', ' ', found.group()), text)

    def line_of(at):
        return text.count('\n', 0, at) + 1

    for found in STREAM.finditer(text):
        yield line_of(found.start()), 'standard file streams are not close-on-exec: base/file.h reads files'
    for found in STARTING.finditer(text):
        before = text[:found.start()]
        if path not in START_PROGRAMS and not (DECLARED.search(before) and not KEYWORD.search(before)):
            yield line_of(found.start()), f'{found.group(1)}() starts a program: see START_PROGRAMS in tests/layering/descriptors.py'
    for found in CALL.finditer(text):
        name, before = found.group(1), text[:found.start()]
        if DECLARED.search(before) and not KEYWORD.search(before):
            continue
        # A function or method of the house has the same name, and no global scope before it.
        arguments = arguments_at(text, found.end())
        is_system = found.group().startswith(('::', 'std::')) or name not in ('open', 'accept') or 'O_' in arguments
        needed = OPENING[name]
        if not is_system or (needed and re.search(needed, arguments)) or name in RIGHT.get(path, {}):
            continue
        yield line_of(found.start()), f'{name}() opens a descriptor that is not close-on-exec'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    root = parser.parse_args().root
    tops = sorted({row.split('/')[0] for row in read_table(os.path.join(root, 'cmake/layers.txt'))})
    wrong = 0
    for path in sources(root, tops):
        for line, mistake in mistakes_in(path, read(root, path)):
            print(f'{path}:{line}: {mistake}')
            wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
