"""Real ClickHouse servers on ports of loopback, each with a folder of its own, ended by their processes' ids."""
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

TOOLS = pathlib.Path(__file__).resolve().parents[2] / 'build/tools/clickhouse'


def find_server():
    """Debian's program, installed or unpacked by ./dev; None if there is no such program."""
    unpacked = TOOLS / 'usr/sbin/clickhouse-server'
    return shutil.which('clickhouse-server') or (str(unpacked) if unpacked.exists() else None)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(('127.0.0.1', 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Failed(Exception):
    """The server refused a query; the text is its message."""


USERS = '''<yandex>
  <profiles>
    <default><max_memory_usage>4000000000</max_memory_usage></default>
    <reader><readonly>1</readonly></reader>
  </profiles>
  <users>
    <default><password>{password}</password><networks><ip>::/0</ip></networks><profile>default</profile>
      <quota>default</quota></default>
  </users>
  <quotas><default/></quotas>
</yandex>
'''

CONFIG = '''<yandex>
  <logger><level>warning</level><log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{inter}</interserver_http_port>
  <listen_host>{address}</listen_host>
  <path>{folder}/data/</path>
  <tmp_path>{folder}/tmp/</tmp_path>
  <users_config>{folder}/users.xml</users_config>
  <mark_cache_size>268435456</mark_cache_size>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <timezone>UTC</timezone>
  {compression}
  <remote_servers><fleet>{shards}</fleet></remote_servers>
</yandex>
'''

SHARD = ('<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>{tcp}</port>'
         '<user>default</user><password>{password}</password></replica></shard>')


ZSTD = ('<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>zstd</method></case>'
        '</compression>')


class Server:
    """One process. kill() and start() again: the data stays."""

    def __init__(self, folder, address, ports, password, zstd=False):
        self.zstd = zstd
        self.folder = pathlib.Path(folder)
        self.address = address
        self.http, self.tcp, self.inter = ports
        self.password = password
        self.process = None

    @property
    def url(self):
        return f'http://127.0.0.1:{self.http}'

    def write_configuration(self, servers):
        self.folder.mkdir(parents=True, exist_ok=True)
        shards = ''.join(SHARD.format(tcp=each.tcp, password=each.password) for each in servers)
        (self.folder / 'config.xml').write_text(
            CONFIG.format(folder=self.folder, http=self.http, tcp=self.tcp, inter=self.inter, address=self.address,
                          shards=shards, compression=ZSTD if self.zstd else ''))
        (self.folder / 'users.xml').write_text(USERS.format(password=self.password))

    def start(self, patience=60):
        self.process = subprocess.Popen([find_server(), f'--config-file={self.folder}/config.xml'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.url, timeout=2):
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError((self.folder / 'error.log').read_text()[-2000:]) from None
                time.sleep(0.05)
        raise RuntimeError(f'{self.url}: no answer')

    def kill(self):
        """As a power switch would: no chance to finish anything."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def query(self, sql, data=b'', timeout=120, gzip=False, **settings):
        parameters = urllib.parse.urlencode({'query': sql, **settings}) if data else urllib.parse.urlencode(settings)
        request = urllib.request.Request(f'{self.url}/?{parameters}', data=data or sql.encode(),
                                         headers={'X-ClickHouse-User': 'default', 'X-ClickHouse-Key': self.password,
                                                  **({'Content-Encoding': 'gzip'} if gzip else {})})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Failed(error.read().decode(errors='replace')) from None

    def statements(self, text):
        """Each statement of a script, which ends with a semicolon at the end of a line."""
        for statement in text.split(';\n'):
            if statement.strip():
                self.query(statement)


class Cluster:
    """Shards that know one another as the cluster `fleet`."""

    def __init__(self, folder, shards=2, addresses=None, password='secret', zstd=False):
        addresses = addresses or ['127.0.0.1'] * shards
        self.servers = []
        for number, address in enumerate(addresses):
            self.servers.append(Server(pathlib.Path(folder) / f'shard{number}', address, free_ports(3), password, zstd))
        for server in self.servers:
            server.write_configuration(self.servers)

    def start(self):
        for server in self.servers:
            server.start()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for server in self.servers:
            server.kill()
