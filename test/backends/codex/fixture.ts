import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { agentCommand } from '../../../scripts/agents/agents.mjs';
import type {
  AgentConnection,
  AgentEnd,
  AgentEvent,
  AgentSettings,
  ConnectOptions,
  PermissionReply,
  PermissionRequest,
} from '../../../src/backends/index.ts';
import { codex } from '../../../src/backends/codex/index.ts';
import { type Script, type Sim, startSim } from '../../../src/sim/index.ts';
import type { CommandEntry } from '../../../src/tools/index.ts';

export const command = agentCommand('codex');
export const isInstalled = existsSync(command[0]);

export interface Directories {
  readonly root: string;
  readonly cwd: string;
  /** The home directory, which is also that of Codex. */
  readonly home: string;
  readonly directory: string;
}

/** Directories of their own for the project, the user and the files of the connection. */
export function makeDirectories(): Directories {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'polypod-codex-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  const directories = {
    root,
    cwd: join(root, 'project'),
    home: join(root, 'home'),
    directory: join(root, 'files'),
  };
  for (const path of [directories.cwd, directories.home, directories.directory]) mkdirSync(path);
  return directories;
}

export async function simulate(script: Script): Promise<Sim> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  return sim;
}

/** The call of a command. */
export function run(cmd: string, more: object = {}) {
  return { toolCall: { name: 'exec_command', arguments: { cmd, ...more } } };
}

/** Writes the configuration of a user whose provider is the simulator. */
export function configure({ home }: Directories, url: string, more = ''): void {
  writeFileSync(
    join(home, 'config.toml'),
    `model = "gpt-test"
model_provider = "sim"
${more}
[model_providers.sim]
name = "sim"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SIM_API_KEY"
request_max_retries = 0
stream_max_retries = 1
`,
  );
}

export function launch({ home, directory }: Directories) {
  return {
    command,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      CODEX_HOME: home,
      SIM_API_KEY: 'key-for-tests',
    } as Readonly<Record<string, string>>,
    trustProject: false,
    directory,
    record: (() =>
      ({ started() {}, close() {} }) as unknown as CommandEntry) satisfies ConnectOptions['record'],
  };
}

export type Approve = (request: PermissionRequest) => PermissionReply | undefined;
export const allow: Approve = () => ({ decision: 'allow' });

export interface Opened {
  readonly connection: AgentConnection;
  readonly events: readonly AgentEvent[];
  readonly directories: Directories;
  readonly ended: Promise<AgentEnd>;
  /** Waits for the next event of a type that was not returned before. */
  readonly next: <T extends AgentEvent['type']>(
    type: T,
    test?: (event: Extract<AgentEvent, { type: T }>) => boolean,
  ) => Promise<Extract<AgentEvent, { type: T }>>;
  /** Sends a prompt and returns the events of its turn. */
  readonly turn: (text: string) => Promise<readonly AgentEvent[]>;
}

export interface OpenOptions extends Partial<Omit<ConnectOptions, 'settings' | 'env'>> {
  readonly directories?: Directories;
  readonly approve?: Approve;
  readonly settings?: Partial<AgentSettings>;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
}

/** Connects to the real program, whose provider is the simulator. */
export async function open(sim: Pick<Sim, 'url'>, options: OpenOptions = {}): Promise<Opened> {
  const { directories = makeDirectories(), approve = allow, settings, env, config, ...rest } = options;
  configure(directories, sim.url, config);
  const events: AgentEvent[] = [];
  const waiting = new Set<() => void>();
  let end: (value: AgentEnd) => void = () => {};
  const ended = new Promise<AgentEnd>((resolve) => {
    end = resolve;
  });
  let connection: AgentConnection | undefined;
  const opened = await codex.connect({
    ...launch(directories),
    ...(env && { env: { ...launch(directories).env, ...env } }),
    cwd: directories.cwd,
    start: { type: 'new' },
    settings: { mode: 'workspace-write', paths: [], ...settings },
    mcpServers: [],
    services: {
      readTextFile: () => Promise.reject(new Error('not used')),
      writeTextFile: () => Promise.reject(new Error('not used')),
      runCommand: () => Promise.reject(new Error('not used')),
    },
    onEvents: async (more) => {
      events.push(...more);
      for (const event of more) {
        const reply = event.type === 'permission' ? approve(event.request) : undefined;
        if (event.type === 'permission' && reply !== undefined)
          connection?.answer(event.request.requestId, reply);
      }
      for (const wake of waiting) wake();
    },
    onEnd: (value) => {
      end(value);
      for (const wake of waiting) wake();
    },
    ...rest,
  });
  connection = opened;
  onTestFinished(() => opened.close());
  const returned = new Set<AgentEvent>();
  const next: Opened['next'] = async (type, test = () => true) => {
    for (;;) {
      const found = events.find(
        (event): event is Extract<AgentEvent, { type: typeof type }> =>
          event.type === type &&
          !returned.has(event) &&
          test(event as Extract<AgentEvent, { type: typeof type }>),
      );
      if (found !== undefined) {
        returned.add(found);
        return found;
      }
      let wake: () => void = () => {};
      await new Promise<void>((resolve) => {
        wake = resolve;
        waiting.add(wake);
      });
      waiting.delete(wake);
    }
  };
  const turn: Opened['turn'] = async (text) => {
    const from = events.length;
    opened.prompt([{ type: 'text', text }]);
    await next('turn-end');
    return events.slice(from);
  };
  return { connection: opened, events, directories, ended, next, turn };
}

export function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

export function ofType<T extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  type: T,
): readonly Extract<AgentEvent, { type: T }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
}

/** Whether the last request to the model contains a text. The request itself would be too long for a failed test's message. */
export function wasSent({ requests }: Sim, text: string | RegExp): boolean {
  const body = JSON.stringify(requests.filter(({ path }) => path === '/v1/responses').at(-1)?.body);
  return typeof text === 'string' ? body.includes(text) : text.test(body);
}

/** The processes whose environment or command line contains a text. */
export function processesWith(text: string): readonly { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const [line = '', environment = ''] = ['cmdline', 'environ'].map((file) =>
        contentOf(`/proc/${name}/${file}`),
      );
      if (!`${line}${environment}`.includes(text)) return [];
      return [{ pid: Number(name), command: line.replaceAll('\0', ' ') }];
    });
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}

/**
 * A proxy to the simulator that adds what it does not have: a call named `namespace::tool` is of a tool in a namespace, and a call
 * named `custom::tool` has a text as input.
 */
export async function withToolKinds({ url }: Sim): Promise<{ readonly url: string }> {
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const piece of request.setEncoding('utf8')) body += String(piece);
      const answer = await fetch(`${url}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json' },
        ...(body === '' ? {} : { body }),
      });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      const lines = (await answer.text()).split('\n');
      response.end(
        lines
          .map((line) => (line.startsWith('data: {') ? `data: ${withKind(line.slice(6))}` : line))
          .join('\n'),
      );
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
}

function withKind(payload: string): string {
  const event = JSON.parse(payload) as { item?: { name?: string; arguments?: string; type?: string } };
  const [kind = '', name] = event.item?.name?.split('::') ?? [];
  if (name === undefined || event.item === undefined) return payload;
  const { arguments: args = '', ...item } = event.item;
  if (kind !== 'custom')
    return JSON.stringify({ ...event, item: { ...item, name, namespace: kind, arguments: args } });
  const { input = '' } = JSON.parse(args === '' ? '{}' : args) as { input?: string };
  return JSON.stringify({ ...event, item: { ...item, name, type: 'custom_tool_call', input } });
}
