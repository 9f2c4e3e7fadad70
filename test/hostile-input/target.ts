import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { controlSocket, dataPathsFrom } from '../../src/setup/index.ts';
import { MAIN } from '../cli/polypod.ts';
import { LineClient } from './line-client.ts';

/** The built daemon with all doors open, in its own home directory, and the addresses of its doors. */
export interface Target {
  readonly child: ChildProcess;
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pod: string;
  readonly podId: string;
  readonly rpc: string;
  readonly hld: string;
  readonly acp: string;
  readonly control: string;
  readonly url: string;
  readonly key: string;
  /** Bytes of live heap and its buffers, after garbage collection. */
  readonly heap: () => Promise<number>;
  readonly log: () => string;
  readonly stderr: () => string;
  /** How the process ended, if it has. */
  readonly ended: () => string | undefined;
  readonly close: () => Promise<void>;
}

export interface TargetOptions {
  /** Rate limits high enough for a flood, so that requests are judged by their content. */
  readonly unlimited?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
}

const UNLIMITED = [
  'requests_per_minute',
  'burst',
  'streams',
  'unauthenticated_per_minute',
  'handshakes_per_minute',
  'connections',
  'connections_per_address',
];

export async function startTarget(options: TargetOptions = {}): Promise<Target> {
  const home = mkdtempSync(join(tmpdir(), 'polypod-'));
  const project = join(home, 'project');
  mkdirSync(project);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    USER: 'ada',
    OLLAMA_HOST: 'http://127.0.0.1:9',
    POLYPOD_RUNTIME_DIR: join(home, 'run'),
    ...options.env,
  };
  const dataPaths = dataPathsFrom(env);
  const limits = options.unlimited
    ? `limits: { ${UNLIMITED.map((name) => `${name}: 1000000000`).join(', ')} }\n`
    : '';
  mkdirSync(join(home, '.config/polypod'), { recursive: true });
  writeFileSync(join(home, '.config/polypod/config.yaml'), options.config ?? 'version: 1\n', { mode: 0o600 });
  const agentConfig = join(home, 'agent-config.yaml');
  writeFileSync(agentConfig, `port: 0\n${limits}`, { mode: 0o600 });
  const program = ['--expose-gc', '--import', resolve('test/hostile-input/heap-probe.mjs'), MAIN];
  const args = [
    'agent',
    'start',
    '--foreground',
    '--json',
    '--cwd',
    project,
    '--config',
    agentConfig,
    '--quiet',
  ];
  const model = options.env?.ANTHROPIC_BASE_URL === undefined ? ['--offline'] : [];
  const child = spawn(process.execPath, [...program, ...args, ...model], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let stdout = '';
  let stderr = '';
  let ended: string | undefined;
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-20_000)));
  child.on('exit', (code, signal) => {
    ended = `it ended with ${signal ?? code}: ${stderr}`;
  });
  const file = join(dataPaths.dataDirectory, 'tasks/agents/polypod.json');
  while (!stdout.includes('\n')) {
    if (ended !== undefined) throw new Error(ended);
    await Promise.race([once(child, 'exit'), once(child.stdout ?? child, 'data')]);
  }
  const control = controlSocket(dataPaths);
  const link = await LineClient.unix(control);
  link.send('{"method":"new","params":{"cwd":' + JSON.stringify(project) + ',"name":"target"}}\n');
  const created = await link.waitFor((line) => typeof line === 'object');
  link.close();
  const { result } = created as { result?: { id?: string } };
  const podId = result?.id;
  if (podId === undefined) throw new Error(`no session: ${JSON.stringify(created)}`);
  const record = JSON.parse(readFileSync(file, 'utf8')) as { url: string };
  return {
    child,
    home,
    project,
    env,
    podId,
    pod: join(dataPaths.runtimeDirectory, 'pods', `${podId}.sock`),
    rpc: join(dataPaths.runtimeDirectory, 'rpc.sock'),
    hld: join(home, '.humanlayer/daemon.sock'),
    acp: join(dataPaths.runtimeDirectory, 'acp.sock'),
    control,
    url: record.url,
    key: readFileSync(join(dataPaths.dataDirectory, 'tasks/client.key'), 'utf8').trim(),
    heap: async () => {
      const answer = once(child, 'message');
      child.send('heap');
      const [{ heapUsed }] = (await answer) as [{ heapUsed: number }];
      return heapUsed;
    },
    log: () => readFileSync(join(dataPaths.dataDirectory, 'logs/polypod.log'), 'utf8'),
    stderr: () => stderr,
    ended: () => ended,
    close: async () => {
      if (ended === undefined) {
        const exit = once(child, 'exit');
        child.kill('SIGKILL');
        await exit;
      }
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
