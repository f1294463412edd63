"""What the client trusts: servers whose certificates are verified, and no other host. The servers are Python's."""
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

BINARY = os.environ['RDMASCOPE_BINARY']
PASSWORD = 'a secret'


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers like an engine without rows, or leads elsewhere."""

    def do_POST(self):
        self.server.requests.append((self.path, dict(self.headers)))
        self.rfile.read(int(self.headers['Content-Length']))
        if self.server.target:
            self.send_response(307)
            self.send_header('Location', self.server.target + self.path)
        else:
            self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, certificate=None, target=None):
        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.http.requests = []
        self.http.target = target
        scheme = 'http'
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # A client that refuses the certificate is an error of this connection alone.
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
            scheme = 'https'
        self.url = f'{scheme}://127.0.0.1:{self.http.server_address[1]}'
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.http.handle_error = lambda *_: None
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    @property
    def requests(self):
        return self.http.requests


def make_certificate(folder, name, subject):
    """Key and certificate, which signs itself, in one file."""
    path = pathlib.Path(folder) / f'{name}.pem'
    key = pathlib.Path(folder) / f'{name}.key'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', f'/CN={name}', '-addext', f'subjectAltName={subject}', '-keyout', key, '-out', path],
                   check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


class Trust(unittest.TestCase):
    def setUp(self):
        if shutil.which('openssl') is None:
            self.skipTest('openssl makes the certificates')
        folder = tempfile.TemporaryDirectory(prefix='rdmascope-trust-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.password = self.folder / 'password'
        self.password.write_text(PASSWORD + '\n')

    def ask(self, url, *options, before=()):
        return subprocess.run([*before, BINARY, 'fleet', 'hosts', '--url', url, '--user', 'reader', '--password-file', self.password,
                               *map(str, options)], capture_output=True, text=True, timeout=60)

    def test_a_certificate_is_verified_unless_the_user_says_otherwise(self):
        right = make_certificate(self.folder, 'right', 'IP:127.0.0.1')
        with Server(right) as server:
            refused = self.ask(server.url)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn('certificate', refused.stderr)
            self.assertEqual(server.requests, [], 'the password went to a server that is not trusted')
            for options in (('--ca-file', right), ('--no-verify-tls',)):
                done = self.ask(server.url, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
            missing = self.ask(server.url, '--ca-file', self.folder / 'none.pem')
            self.assertEqual(missing.returncode, 1)

    def test_a_certificate_for_another_name_is_refused(self):
        other = make_certificate(self.folder, 'other', 'DNS:other.example')
        with Server(other) as server:
            refused = self.ask(server.url, '--ca-file', other)
            self.assertEqual(refused.returncode, 1)
            self.assertEqual(server.requests, [])

    def test_a_file_of_certificates_replaces_those_of_the_system(self):
        """In a mount namespace whose folder of trusted certificates holds the server's."""
        if os.geteuid() != 0 or subprocess.run(['unshare', '-m', 'true'], capture_output=True).returncode != 0:
            self.skipTest('mount namespaces need root')
        right = make_certificate(self.folder, 'right', 'IP:127.0.0.1')
        other = make_certificate(self.folder, 'other', 'IP:127.0.0.1')
        system = self.folder / 'system'
        system.mkdir()
        shutil.copy(right, system / 'ca-certificates.crt')
        number = subprocess.run(['openssl', 'x509', '-hash', '-noout', '-in', right], check=True, capture_output=True, text=True).stdout
        shutil.copy(right, system / f'{number.strip()}.0')
        before = ['unshare', '-m', 'sh', '-c', f'mount --bind {system} /etc/ssl/certs && exec "$@"', 'sh']
        with Server(right) as server:
            trusted = self.ask(server.url, before=before)
            self.assertEqual(trusted.returncode, 0, trusted.stderr)
            refused = self.ask(server.url, '--ca-file', other, before=before)
            self.assertEqual(refused.returncode, 1, 'a certificate of the system was trusted')

    def test_redirections_are_not_followed(self):
        with Server() as elsewhere, Server(target=elsewhere.url) as server:
            refused = self.ask(server.url)
            self.assertEqual(refused.returncode, 1)
            self.assertIn('307', refused.stderr)
            self.assertEqual((len(server.requests), len(elsewhere.requests)), (1, 0))

    def test_the_password_is_a_header_and_nowhere_else(self):
        with Server() as server:
            done = self.ask(server.url)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path, headers in server.requests:
                self.assertNotIn('secret', path)
                self.assertEqual(headers['X-ClickHouse-Key'], PASSWORD)
                self.assertEqual([name for name, value in headers.items() if 'secret' in value], ['X-ClickHouse-Key'])


if __name__ == '__main__':
    unittest.main()
