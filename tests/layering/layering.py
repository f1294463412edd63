#!/usr/bin/env python3
"""What the folders of the house may include, held against what they include.

  layering.py --root . --folder metrics     one folder with its subfolders, and words of its rows that nothing needs
  layering.py --root . --cycles             include cycles between subfolders of the whole house
  layering.py --root . --stems              headers of the same name in several folders, tests among them
  layering.py --root . --list               the folders of the table that are libraries

cmake/layers.txt is the table: one row a folder, with its namespace and the folders that it may include. A folder's name
stands for the files directly in it; `folder/*` also for its subfolders. A folder may always include itself.
Exits 1 and prints one line for each mistake.
"""
import argparse
import os
import re
import sys

INCLUDE = re.compile(r'^ *# *include *([<"])([^">]+)[>"]', re.M)
NAMESPACE = re.compile(r'^namespace ([\w:]+(?:::inline \w+)*[\w:]*) \{', re.M)
FORWARD = re.compile(r'(?:\s*(?:class|struct|enum class) \w+(?: : [\w:]+)?;(?: *//[^\n]*)?|\s*//[^\n]*)*\s*\n\}')

# Headers of the outside world that the house keeps to one place: prefix, folders that may include them.
KEPT_APART = [
    (r'pcap\.h|pcap/', ['capture/']),
    (r'ncurses|curses\.h', ['tui/terminal/']),
    (r'epan/|wireshark/', ['plugins/wireshark/']),
    (r'sys/socket\.h', ['iwarp/transport/', 'iwarp/preload/', 'control/', 'daemon/', 'capture/', 'replay/sockets/']),
    (r'microhttpd\.h', ['daemon/http/']),
    (r'infiniband/|rdma/', ['iwarp/preload/', 'capture/', 'trace/', 'fabric/umad/']),
    (r'curl/', ['fleet/client/']),
    (r'dlfcn\.h', ['base/', 'trace/interposer/']),
]

# Headers of the house that are for one folder, though the folder that they are in is for more: pattern, its folder.
PRIVATE = [
    (r'metrics/measure/engine/(?!analyzer\.h$)', 'metrics/'),
]

# Names of headers that several folders may have, because the folders are parallel on purpose: stem -> the reason. All
# other headers have a name of their own, which says what the file holds.
PARALLEL = {
    'iwarp': 'dissect/layers has one file for each protocol, under the name of the protocol',
    'json': 'one printer for each format in the folders that print',
    'memory_region': 'iwarp/preload has one file for each object of the verbs, as iwarp/verbs has',
    'options': 'one for each subcommand',
    'page': 'what a subcommand prints for people',
    'record': 'trace/record.h gives the types of wire/trace/record.h to the folder trace',
    'script': 'the tests of iWARP and of RoCE write a conversation in the same way',
    'support': 'what the unit tests of one folder share',
}


def read_table(path):
    """Folder -> (namespace, [folders it may include])."""
    rows = {}
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.split('#')[0].strip()
            if not line:
                continue
            cells = [cell.strip() for cell in line.split('|')]
            if len(cells) != 3:
                sys.exit(f'{path}:{number}: a row has three cells: folder | namespace | folders that it may include')
            rows[cells[0]] = (cells[1], cells[2].split())
    return rows


def sources(root, tops):
    for top in tops:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith(('.h', '.cpp', '.c')):
                    yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def own_includes(root, path, tops, text):
    """The headers of the house that a file includes, as paths from the root."""
    for quote, header in INCLUDE.findall(text):
        if quote == '"' and header.split('/')[0] in tops and os.path.exists(os.path.join(root, header)):
            yield header


def permitted(folder, target, allowed):
    if folder == target:
        return True
    for entry in allowed:
        if entry.endswith('/*'):
            if target == entry[:-2] or target.startswith(entry[:-1]):
                return True
        elif target == entry:
            return True
    return False


def check_namespace(path, text, expected):
    """The first namespace of a file that holds more than forward declarations."""
    for match in NAMESPACE.finditer(text):
        if FORWARD.match(text, match.end()):
            continue
        found = match.group(1).replace('inline ', '')
        if found != expected and not found.startswith(expected + '::'):
            return f'{path}: namespace {found}, but the folder has {expected}'
        return None
    return None


def check_folder(root, rows, top):
    tops = {folder.split('/')[0] for folder in rows}
    mistakes = []
    used = {}
    for path in sources(root, [top]):
        folder = os.path.dirname(path)
        text = read(root, path)
        if folder not in rows:
            mistakes.append(f'{path}: {folder}/ has no row in cmake/layers.txt')
            continue
        namespace, allowed = rows[folder]
        for header in own_includes(root, path, tops, text):
            target = os.path.dirname(header)
            if target != folder:
                used.setdefault(folder, set()).add(target)
            if not permitted(folder, target, allowed):
                mistakes.append(f'{path}: {folder}/ may not include {header} (cmake/layers.txt lists: '
                                f'{" ".join(allowed) or "nothing"})')
            for pattern, home in PRIVATE:
                if re.match(pattern, header) and not path.startswith(home):
                    mistakes.append(f'{path}: {header} is for {home} alone')
        for _, header in INCLUDE.findall(text):
            for prefix, homes in KEPT_APART:
                if re.match(prefix, header) and not os.path.exists(os.path.join(root, header)):
                    if not any(path.startswith(home) for home in homes):
                        mistakes.append(f'{path}: <{header}> is for {", ".join(homes)} alone')
        if namespace != '-' and not path.endswith('main.cpp'):
            mistake = check_namespace(path, text, namespace)
            if mistake:
                mistakes.append(mistake)
    for folder, (_, allowed) in sorted(rows.items()):
        if folder.split('/')[0] == top:
            mistakes += unused_words(folder, allowed, used.get(folder, set()))
    return mistakes


def unused_words(folder, allowed, used):
    """The folders that a row permits and that no file of the folder includes: a row says what its folder knows."""
    return [f'cmake/layers.txt: {folder}/ may include {entry}, and no file of {folder}/ does'
            for entry in allowed if not any(permitted('', target, [entry]) for target in used)]


def find_cycles(root, rows):
    """Strongly connected subfolders. A file directly in a top folder is a node of its own: it may use a subfolder that
    another file of its folder serves."""
    tops = {folder.split('/')[0] for folder in rows}
    split = {folder.split('/')[0] for folder in rows if '/' in folder}

    def node(path):
        folder = os.path.dirname(path)
        return path if folder in split else folder

    edges, examples = {}, {}
    for path in sources(root, sorted(tops)):
        for header in own_includes(root, path, tops, read(root, path)):
            one, other = node(path), node(header)
            if one != other:
                edges.setdefault(one, set()).add(other)
                examples.setdefault((one, other), f'{path} includes {header}')
    index, low, stack, on_stack, cycles = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(edges.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            at, rest = work[-1]
            advanced = False
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    advanced = True
                    break
                if other in on_stack:
                    low[at] = min(low[at], index[other])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[at])
            if low[at] == index[at]:
                group = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    group.append(member)
                    if member == at:
                        break
                if len(group) > 1:
                    cycles.append(sorted(group))

    for start in sorted(edges):
        if start not in index:
            visit(start)
    mistakes = []
    for group in cycles:
        mistakes.append('include cycle: ' + ' '.join(group))
        mistakes += [f'  {text}' for (one, other), text in sorted(examples.items()) if one in group and other in group]
    return mistakes


def find_shared_stems(root, tops):
    """Headers whose name stands in another folder as well, without a reason in PARALLEL."""
    folders = {}
    for path in sources(root, tops):
        stem, ending = os.path.splitext(os.path.basename(path))
        if ending == '.h':
            folders.setdefault(stem, []).append(path)
    return [f'{stem}.h stands in several folders, and PARALLEL in layering.py gives no reason: {" ".join(paths)}'
            for stem, paths in sorted(folders.items()) if len(paths) > 1 and stem not in PARALLEL]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--root', required=True)
    parser.add_argument('--table')
    parser.add_argument('--folder')
    parser.add_argument('--cycles', action='store_true')
    parser.add_argument('--stems', action='store_true')
    parser.add_argument('--list', action='store_true')
    arguments = parser.parse_args()
    rows = read_table(arguments.table or os.path.join(arguments.root, 'cmake', 'layers.txt'))
    if arguments.list:
        print('\n'.join(sorted({folder.split('/')[0] for folder in rows})))
        return 0
    if arguments.stems:
        mistakes = find_shared_stems(arguments.root, sorted({folder.split('/')[0] for folder in rows} | {'tests'}))
    elif arguments.cycles:
        mistakes = find_cycles(arguments.root, rows)
        for folder in sorted(rows):
            if not os.path.isdir(os.path.join(arguments.root, folder)):
                mistakes.append(f'cmake/layers.txt: there is no folder {folder}/')
    else:
        mistakes = check_folder(arguments.root, rows, arguments.folder)
    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes else 0


if __name__ == '__main__':
    sys.exit(main())
