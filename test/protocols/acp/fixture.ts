import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client,
  type ClientContext,
  ndJsonStream,
  type NewSessionResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { describe, onTestFinished } from 'vitest';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { type PodHandle, remotePod } from '../../../src/control/index.ts';
import { daemonLink } from '../../../src/daemon/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import type { SimAnswer, Script } from '../../../src/sim/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { type Finished, start, temporaryDirectory } from '../../cli/polypod.ts';
import { FrameLog } from './frame-log.ts';

export interface AcpFixtureOptions {
  /** Whether the editor reaches its sessions through a daemon. */
  readonly daemon?: boolean;
  /** Further settings of the configuration file. */
  readonly config?: JsonObject;
  readonly sim?: Omit<Parameters<typeof startSim>[0] & object, 'script'>;
}

export interface AcpFixture {
  readonly home: string;
  /** The directory of the project. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Starts `polypod acp` as an editor does. */
  readonly editor: (options?: EditorOptions) => Promise<Editor>;
  /** A session of the daemon, as its other clients see it. */
  readonly pod: (sessionId: string) => Promise<PodHandle>;
}

export interface EditorOptions {
  readonly capabilities?: JsonObject;
  /** Answers permission requests; absent: they stay open. */
  readonly permission?: (
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse> | RequestPermissionResponse;
  readonly args?: readonly string[];
}

/** The built program with a scripted model, with or without a daemon. */
export async function acpFixture(script: Script, options: AcpFixtureOptions = {}): Promise<AcpFixture> {
  const sim = await startSim({ ...options.sim, script });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const cwd = join(home, 'project');
  mkdirSync(cwd);
  const env = { HOME: home, USER: 'ada', POLYPOD_CONFIG: join(home, 'config.yaml') };
  const accounts = { acme: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
  // JSON is YAML.
  writeFileSync(
    env.POLYPOD_CONFIG,
    JSON.stringify({ model: 'acme/one', titles: 'off', accounts, ...options.config }),
    { mode: 0o600 },
  );
  const price = { input: 1, output: 2 };
  const model = { account: 'acme', id: 'one', name: 'One', reasoning: true, contextWindow: 100_000, price };
  writeFileSync(
    join(home, 'models.json'),
    JSON.stringify([model, { ...model, id: 'two', name: 'Two', contextWindow: 50_000 }]),
  );
  if (options.daemon === true) {
    const daemon = start(['serve'], env);
    await daemon.waitForOutput('ready');
  }
  return {
    home,
    cwd,
    env,
    editor: async (given = {}) => {
      const editor = new Editor(env, given);
      await editor.initialize();
      return editor;
    },
    pod: async (sessionId) => {
      const link = await daemonLink(dataPathsFrom(env));
      if (link === undefined) throw new Error('no daemon is up');
      onTestFinished(() => link.close());
      return remotePod(sessionId, link);
    },
  };
}

/** Runs the same tests in one process and through a daemon. */
export function describeWithAndWithoutDaemon(
  body: (openFixture: (script: Script, options?: AcpFixtureOptions) => Promise<AcpFixture>) => void,
): void {
  describe.each([
    ['without a daemon', false],
    ['through a daemon', true],
  ])('%s', (_, daemon) => body((script, options) => acpFixture(script, { ...options, daemon })));
}

/** `polypod acp`, driven by the client of the reference SDK. Every frame is validated against the schema of the protocol. */
export class Editor {
  readonly child: ChildProcessWithoutNullStreams;
  readonly finished: Promise<Finished>;
  readonly log = new FrameLog();
  readonly agent: ClientContext;
  readonly #capabilities: JsonObject;

  constructor(env: Readonly<Record<string, string>>, options: EditorOptions = {}) {
    const { child, finished } = start(['acp', ...(options.args ?? [])], env);
    [this.child, this.finished] = [child, finished];
    this.#capabilities = options.capabilities ?? {};
    child.stdin.on('error', () => {});
    // `start` reads text; the SDK reads bytes.
    const bytes = new Readable({ read: () => {} });
    child.stdout.on('data', (text: string) => {
      this.log.receive(text);
      bytes.push(Buffer.from(text));
    });
    child.stdout.on('end', () => bytes.push(null));
    void finished.then(({ code, stderr }) => this.log.over(`the program ended with ${code}: ${stderr}`));
    const input = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.log.send(chunk.toString());
        child.stdin.write(chunk, () => done());
      },
    });
    const connection = client()
      .onNotification('session/update', () => {})
      .onRequest('session/request_permission', async ({ params, signal }) => {
        if (options.permission !== undefined) return options.permission(params, signal);
        return new Promise<RequestPermissionResponse>((resolve) => {
          signal.addEventListener('abort', () => resolve({ outcome: { outcome: 'cancelled' } }));
        });
      })
      .connect(
        ndJsonStream(
          Writable.toWeb(input) as WritableStream<Uint8Array>,
          Readable.toWeb(bytes) as ReadableStream<Uint8Array>,
        ),
      );
    this.agent = connection.agent;
    onTestFinished(() => {
      connection.close();
      this.log.assertValid();
    });
  }

  async initialize(): Promise<JsonObject> {
    return objectOf(
      await this.agent.request('initialize', {
        protocolVersion: 1,
        clientCapabilities: this.#capabilities,
        clientInfo: { name: 'test', version: '0' },
      }),
    );
  }

  newSession(cwd: string, more: JsonObject = {}): Promise<NewSessionResponse> {
    return this.agent.request('session/new', { cwd, mcpServers: [], ...more });
  }

  /** Sends a prompt and resolves with its stop reason. */
  async prompt(sessionId: string, text: string, signal?: AbortSignal): Promise<string> {
    const { stopReason } = await this.agent.request(
      'session/prompt',
      { sessionId, prompt: [{ type: 'text', text }] },
      signal && { cancellationSignal: signal },
    );
    return stopReason;
  }

  /** The updates of a session so far. */
  updates(sessionId: string): readonly JsonObject[] {
    return this.log.received.flatMap(({ method, params }) => {
      const { sessionId: id, update } = objectOf(params);
      return method === 'session/update' && id === sessionId ? [objectOf(update)] : [];
    });
  }

  /** Waits for an update, past or future. */
  update(sessionId: string, matches: (update: JsonObject) => boolean): Promise<JsonObject> {
    return this.log.until(() => this.updates(sessionId).find(matches));
  }

  /** Waits for a kind of update, past or future. */
  updateOf(sessionId: string, kind: string): Promise<JsonObject> {
    return this.update(sessionId, ({ sessionUpdate }) => sessionUpdate === kind);
  }

  /** The permission requests so far. */
  permissionRequests(): readonly JsonObject[] {
    return this.log.received.filter(({ method }) => method === 'session/request_permission');
  }

  /** Waits for the permission request with this index. */
  permissionRequest(index = 0): Promise<JsonObject> {
    return this.log.until(() => this.permissionRequests()[index]);
  }

  /** Closes the input of the program. */
  async end(): Promise<Finished> {
    this.child.stdin.end();
    return this.finished;
  }

  /** Ends the program without a warning. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.finished;
  }
}

/** What the updates show, one line for each, for comparison. Usage and commands are left out. */
export function shown(updates: readonly JsonObject[]): readonly string[] {
  const lines: string[] = [];
  let last = '';
  for (const update of updates) {
    const kind = stringOf(update.sessionUpdate);
    if (kind === 'usage_update' || kind === 'available_commands_update') continue;
    if (kind.endsWith('_chunk')) {
      const text = stringOf(objectOf(update.content).text);
      const message = `${kind} ${stringOf(update.messageId)}`;
      if (message === last) lines[lines.length - 1] += text;
      else lines.push(`${kind.replace('_chunk', '')}: ${text}`);
      last = message;
      continue;
    }
    last = '';
    if (kind === 'tool_call' || kind === 'tool_call_update')
      lines.push(`${kind} ${stringOf(update.toolCallId)} ${stringOf(update.status)}`.trim());
    else lines.push(kind);
  }
  return lines;
}

export const allow = { outcome: { outcome: 'selected', optionId: 'allow-once' } } as const;
export const reject = { outcome: { outcome: 'selected', optionId: 'reject' } } as const;

export const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });

export const calls = (name: string, args: Record<string, unknown>, id = 'call_1'): SimAnswer => ({
  parts: [{ toolCall: { id, name, arguments: args } }],
});

/** A command that needs an approval. */
export const asks = (command = 'touch made', id = 'call_1'): SimAnswer => calls('bash', { command }, id);

/** An answer that does not end by itself. */
export const STALLS: SimAnswer = { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } };
