import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PeerProcess } from './peer-process.ts';

/**
 * Queries the kernel for the peer processes of many sockets at once. Node has no API for it, so a small program
 * inherits the sockets and queries them; perl is part of every Debian and takes 6 ms. Returns undefined if
 * neither perl nor python3 is installed.
 */
export async function peerCredentials(
  descriptors: readonly number[],
): Promise<readonly PeerProcess[] | undefined> {
  for (const [program, args] of PROGRAMS) {
    const answer = await runProgram(program, [...args, String(descriptors.length)], descriptors);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** The numbers are Linux's SOL_SOCKET and SO_PEERCRED; on the few processors with other values the call fails. */
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

async function runProgram(
  program: string,
  args: readonly string[],
  descriptors: readonly number[],
): Promise<readonly PeerProcess[] | undefined> {
  // Inherited descriptors 0 to 2 would lose their mode, so the sockets start at 3.
  const stdio = ['ignore', 'pipe', 'ignore', ...descriptors] as const;
  try {
    const child = spawn(program, args, {
      stdio: [...stdio],
      env: { PATH: SYSTEM_PATH },
      timeout: TIMEOUT_MS,
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
    // The program is not installed, or a socket was closed meanwhile.
    return undefined;
  }
}

/** Excludes directories of the user: the result decides who may connect. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
const TIMEOUT_MS = 5_000;
