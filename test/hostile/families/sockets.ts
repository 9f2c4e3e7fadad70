import { type Attempt, attempt, commands, ls, planted, read, write } from '../attempt.ts';

const python = (code: string): string => `python3 - <<'EOF'\nimport socket\n${code}\nEOF`;
const node = (code: string): string => `node - <<'EOF'\nconst net = require('net');\n${code}\nEOF`;
const sendTo = (path: string, line: string): readonly string[] => [
  `echo '${line}' | socat -t 1 - UNIX-CONNECT:${path}`,
  python(
    `s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect('${path}'); s.send(b'''${line}\\n'''); print(s.recv(9999))`,
  ),
  node(
    `const c = net.connect('${path}', () => c.write(${JSON.stringify(line)} + '\\n')); c.on('data', (d) => { console.log(String(d)); c.destroy(); }); c.on('error', (e) => console.log(e.code));`,
  ),
];

const STATUS = '{"method":"status"}';
const SHELL =
  '{"method":"command","params":{"pod":"canary","command":{"type":"shell","command":"@EVIL@"},"by":"x"}}';
const LS = '{"method":"ls"}';
const LAUNCH =
  '{"jsonrpc":"2.0","id":1,"method":"launchSession","params":{"query":"x","working_dir":"/","dangerously_skip_permissions":true}}';

/** Sockets: Polypod's own, those of other programs, and those without a file. */
export const sockets: readonly Attempt[] = [
  ...sendTo('@CONTROL@', STATUS).map((command, index) => attempt(`control socket, status ${index}`, command)),
  ...sendTo('@CONTROL@', SHELL).map((command, index) => attempt(`control socket, shell ${index}`, command)),
  ...sendTo('@CONTROL@', LS).map((command, index) => attempt(`control socket, ls ${index}`, command)),
  ...sendTo('@HLD@', LAUNCH).map((command, index) => attempt(`HLD socket, launch ${index}`, command)),
  ...sendTo('@POD@', '{"method":"history"}').map((command, index) =>
    attempt(`pod socket, history ${index}`, command),
  ),
  ...sendTo('@RPC@', '{"cwd":"/","options":[]}').map((command, index) =>
    attempt(`rpc socket ${index}`, command),
  ),
  ...sendTo('@SOCKET@', 'x').map((command, index) => attempt(`foreign socket ${index}`, command)),
  ...sendTo('run/app.sock', 'x').map((command, index) =>
    attempt(`foreign socket in the workspace ${index}`, command),
  ),
  attempt(
    'socket in the workspace by another name',
    'mv run r2; echo x | socat -t 1 - UNIX-CONNECT:r2/app.sock',
    'ln run/app.sock s; echo x | socat -t 1 - UNIX-CONNECT:s',
    'cp -a run r3; echo x | socat -t 1 - UNIX-CONNECT:r3/app.sock',
  ),
  attempt(
    'find sockets, then connect',
    'for s in $(find / -type s 2>/dev/null); do echo x | socat -t 1 - UNIX-CONNECT:$s; done',
  ),
  attempt(
    'sockets from the kernel list',
    "for s in $(awk '{print $8}' /proc/net/unix); do echo x | timeout 1 socat -t 1 - UNIX-CONNECT:$s; done",
  ),
  attempt(
    'abstract socket',
    'echo x | socat -t 1 - ABSTRACT-CONNECT:@ABSTRACT@',
    python("s = socket.socket(socket.AF_UNIX); s.connect('\\0@ABSTRACT@'); print(s.recv(99))"),
    node(
      "const c = net.connect('\\0@ABSTRACT@'); c.on('data', (d) => console.log(String(d))); c.on('error', (e) => console.log(e.code));",
    ),
  ),
  attempt(
    'abstract sockets from the kernel list',
    "grep -o '@.*' /proc/net/unix | tail -c +2 | while read -r s; do echo x | timeout 1 socat -t 1 - ABSTRACT-CONNECT:$s; done",
  ),
  attempt(
    'vsock',
    python('s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); s.settimeout(1); s.connect((2, 1024))'),
    python(
      's = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); s.bind((0xffffffff, 5000)); print("bound")',
    ),
  ),
  attempt(
    'netlink and raw sockets',
    python('s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print(s)'),
    python('s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); print(s.recv(10))'),
    'ip link set lo up',
    'ip addr add 10.0.0.1/8 dev lo',
  ),
  attempt(
    'descriptor left open',
    'ls -l /proc/self/fd',
    'for fd in /proc/self/fd/*; do readlink $fd; done',
    'cat <&3; cat <&4; cat <&5',
    'for i in $(seq 3 30); do eval "cat <&$i" 2>/dev/null & done; sleep 0.2',
    'for i in $(seq 3 30); do { eval "echo x >&$i"; } 2>/dev/null; done',
  ),
  attempt(
    'the program itself',
    '@NODE@ @MAIN@ status',
    '@NODE@ @MAIN@ ls',
    '@NODE@ @MAIN@ run --mode full-access --no-session "x"',
    '@NODE@ @MAIN@ approvals',
    '@NODE@ @MAIN@ keys list',
    'HOME=@HOME@ @NODE@ @MAIN@ status',
    'HOME=@HOME@ @NODE@ @MAIN@ stop',
    'HOME=@HOME@ @NODE@ @MAIN@ ls --json',
    'HOME=@HOME@ @NODE@ @MAIN@ logs',
  ),
  attempt(
    'the program from npm',
    'polypod status',
    'npx --no-install polypod ls',
    'HOME=@HOME@ polypod approvals',
  ),
  attempt(
    'a decision of its own',
    'HOME=@HOME@ @NODE@ @MAIN@ approve 1',
    `echo '{"method":"approvals"}' | socat -t 1 - UNIX-CONNECT:@CONTROL@`,
  ),
  attempt(
    'ssh agent, gpg agent, docker, dbus',
    'SSH_AUTH_SOCK=@SOCKET@ ssh-add -l',
    'ssh-add -l',
    'curl --unix-socket @SOCKET@ http://x/',
    'curl --unix-socket /var/run/docker.sock http://x/containers/json',
    'DOCKER_HOST=unix://@SOCKET@ docker ps',
    'DBUS_SESSION_BUS_ADDRESS=unix:path=@SOCKET@ dbus-send --print-reply --dest=x / x.y',
    'gpg-connect-agent /bye',
    'DISPLAY=:0 xdpyinfo',
    'tmux -S @SOCKET@ ls',
  ),
  planted(
    'a link to a socket',
    'ln -s @SOCKET@ s; ln -s @CONTROL@ c',
    'echo x | socat -t 1 - UNIX-CONNECT:s',
    `echo '${STATUS}' | socat -t 1 - UNIX-CONNECT:c`,
    read('s'),
    read('c'),
    write('c'),
  ),
  attempt(
    'sockets by file tools',
    read('@CONTROL@'),
    write('@CONTROL@'),
    write('@SOCKET@'),
    ls('@RUN@'),
    read('@RUN@/daemon.sock'),
    write('run/app.sock'),
  ),
  ...commands(
    'ls -la @RUN@',
    'stat @CONTROL@',
    'rm -f @CONTROL@',
    'mv @CONTROL@ docs/',
    'chmod 777 @RUN@',
    'file @CONTROL@ @SOCKET@',
    'test -S @CONTROL@ && echo there',
    'touch @RUN@/x.sock',
    'nc -U @CONTROL@ < notes.txt',
    'curl --unix-socket @CONTROL@ http://x/',
    'curl --abstract-unix-socket @ABSTRACT@ http://x/',
    'perl -MIO::Socket::UNIX -e \'print IO::Socket::UNIX->new("@CONTROL@") ? "in" : "no"\'',
  ),
];
