import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PeerProcess } from './peer-process.ts';

/**
 * Asks the kernel who connected, for many sockets at once. Node has no call for it, so that a small program inherits the
 * sockets and asks; perl is part of every Debian and takes 6 ms. Undefined where neither perl nor python3 is installed.
 */
export async function peerCredentials(
  descriptors: readonly number[],
): Promise<readonly PeerProcess[] | undefined> {
  for (const [program, args] of PROGRAMS) {
    const answer = await asked(program, [...args, String(descriptors.length)], descriptors);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** The numbers are SOL_SOCKET and SO_PEERCRED of Linux; on the few processors with others the call fails. */
const PROGRAMS = [
  [
    'perl',
    [
      '-e',
      'for my $fd (3 .. $ARGV[0] + 2) { open(my $s, "+<&=", $fd) or exit 1; my $c = getsockopt($s, 1, 17) or exit 1; print join(" ", unpack("lll", $c)), "\\n" }',
    ],
  ],
  [
    'python3',
    [
      '-IS',
      '-c',
      'import socket, struct, sys\nfor fd in range(3, 3 + int(sys.argv[1])):\n  s = socket.socket(fileno=fd); print(*struct.unpack("3i", s.getsockopt(1, 17, 12))); s.detach()',
    ],
  ],
] as const;

async function asked(
  program: string,
  args: readonly string[],
  descriptors: readonly number[],
): Promise<readonly PeerProcess[] | undefined> {
  // The first three descriptors would lose their mode: the sockets begin behind them.
  const stdio = ['ignore', 'pipe', 'ignore', ...descriptors] as const;
  try {
    const child = spawn(program, args, {
      stdio: [...stdio],
      env: { PATH: SYSTEM_PATH },
      timeout: PATIENCE_MS,
    });
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    const [code] = await once(child, 'close');
    const lines = text.trimEnd().split('\n');
    if (code !== 0 || lines.length !== descriptors.length) return undefined;
    return lines.map((line) => {
      const [pid = 0, uid = 0] = line.split(' ').map(Number);
      return { pid, uid };
    });
  } catch {
    // It is not installed, or a socket was closed meanwhile.
    return undefined;
  }
}

/** Nothing of the user's own directories: what answers here decides who may connect. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
const PATIENCE_MS = 5_000;
