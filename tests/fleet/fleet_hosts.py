"""Two hosts with a daemon each, joined by a link, and linked to the engine on this machine: network namespaces."""
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.request

BINARY = os.environ['RDMASCOPE_BINARY']
ENVIRONMENT = {**os.environ, 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'}
ADDRESSES = {'near': '10.77.0.1', 'far': '10.77.0.2'}
# Of the links to the engine: 10.78.N.1 is this machine's end.
PATIENCE_SECONDS = 120


def wait_for(what, condition, seconds=PATIENCE_SECONDS):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'not within {seconds} s: {what}')
        time.sleep(0.05)


class FleetHosts:
    def __init__(self):
        self.names = {host: f'rdmascope-fleet-{os.getpid()}-{host}' for host in ADDRESSES}
        self.links = {host: f'rsf{os.getpid() % 100000}{number}' for number, host in enumerate(ADDRESSES)}
        self.processes = []

    def __enter__(self):
        try:
            for name in self.names.values():
                self.ip('netns', 'add', name)
            near, far = self.names.values()
            self.ip('-n', near, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', far)
            for number, (host, name) in enumerate(self.names.items()):
                self.ip('-n', name, 'link', 'set', 'lo', 'up')
                self.ip('-n', name, 'address', 'add', f'{ADDRESSES[host]}/24', 'dev', 'eth0')
                self.ip('-n', name, 'link', 'set', 'eth0', 'up')
                self.ip('link', 'add', self.links[host], 'type', 'veth', 'peer', 'name', 'engine', 'netns', name)
                self.ip('address', 'add', f'10.78.{number}.1/24', 'dev', self.links[host])
                self.ip('link', 'set', self.links[host], 'up')
                self.ip('-n', name, 'address', 'add', f'10.78.{number}.2/24', 'dev', 'engine')
                self.ip('-n', name, 'link', 'set', 'engine', 'up')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for link in self.links.values():
            subprocess.run(['ip', 'link', 'del', link], capture_output=True, check=False)
        for name in self.names.values():
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True, check=False)

    @staticmethod
    def ip(*arguments):
        subprocess.run(['ip', *arguments], check=True, capture_output=True, text=True)

    def within(self, host, *command):
        return ['ip', 'netns', 'exec', self.names[host], *map(str, command)]

    def engine_address(self, host):
        return f'10.78.{list(self.names).index(host)}.1'

    def daemon_address(self, host):
        return f'10.78.{list(self.names).index(host)}.2'

    def serve(self, host):
        process = subprocess.Popen(
            self.within(host, BINARY, 'endpoint', 'serve', '--listen', f'{ADDRESSES[host]}:7174'),
            stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.processes.append(process)
        assert process.stdout.readline().startswith('ready')
        return process

    def read(self, host, to, count, size, connections=3):
        """READs from one host to another; what the endpoint says that it completed."""
        done = subprocess.run(
            self.within(host, BINARY, 'endpoint', 'bench', 'read', '--to', f'{ADDRESSES[to]}:7174', '--size', size,
                        '--count', count, '--connections', connections, '--json'),
            check=True, capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE_SECONDS)
        return json.loads(done.stdout)['messages']['read']


class FleetDaemon:
    """A daemon that sends rows. kill() and start() again: its spool stays."""

    def __init__(self, hosts, host, folder, url, password, label=None, spool='64MiB', send_interval='0s'):
        self.hosts, self.host = hosts, host
        self.folder = pathlib.Path(folder) / host
        self.folder.mkdir(parents=True)
        self.spool = self.folder / 'spool'
        secret = self.folder / 'password'
        secret.write_text(password + '\n')
        secret.chmod(0o600)
        self.file = self.folder / 'rdmascope.toml'
        self.file.write_text(
            '[capture]\ninterfaces = ["eth0"]\n[engine]\ninterval = "250ms"\n'
            f'[control]\nsocket = ""\n[prometheus]\nlisten = "{hosts.daemon_address(host)}:9879"\n'
            f'[clickhouse]\nurl = "{url}"\nuser = "default"\npassword_file = "{secret}"\n'
            f'host = {json.dumps(label or host)}\ninterval = "500ms"\nspool = "{self.spool}"\n'
            f'max_spool_size = "{spool}"\nsend_interval = "{send_interval}"\n')
        self.process = None
        self.log = self.folder / 'log'

    def start(self):
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(
                self.hosts.within(self.host, BINARY, 'daemon', '--config', self.file),
                stdout=subprocess.DEVNULL, stderr=log, env=ENVIRONMENT)
        self.hosts.processes.append(self.process)
        wait_for(f'the daemon of {self.host} is ready: {self.log.read_text()}', self.metrics, 30)

    def metrics(self):
        """The series without labels; empty while there is no answer."""
        if self.process.poll() is not None:
            raise AssertionError(self.log.read_text())
        try:
            with urllib.request.urlopen(f'http://{self.hosts.daemon_address(self.host)}:9879/metrics', timeout=5) as page:
                text = page.read().decode()
        except OSError:
            return {}
        return {name: float(value) for name, value in re.findall(r'(?m)^(\w+) (\S+)$', text)}

    def wait_for_intervals(self, count):
        """Until the rows of `count` more intervals are in the spool."""
        first = wait_for('figures of the sink', self.metrics)['rdmascope_clickhouse_intervals_total']
        wait_for('intervals in the spool',
                 lambda: self.metrics().get('rdmascope_clickhouse_intervals_total', 0) >= first + count)

    def waiting(self):
        return list(self.spool.glob('*.rows'))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE_SECONDS) == 0, self.log.read_text()
