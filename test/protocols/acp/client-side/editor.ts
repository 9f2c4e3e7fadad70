import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client, type ClientContext, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';
import { onTestFinished } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../../src/base/index.ts';
import { type Script, type Sim, type SimAnswer, startSim } from '../../../../src/sim/index.ts';
import { type Finished, start, temporaryDirectory } from '../../../cli/polypod.ts';

export interface Project {
  readonly home: string;
  /** The real directory of the project. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly sim: Sim;
  readonly path: (name: string) => string;
  readonly text: (name: string) => string;
  /** Starts `polypod acp` and opens a connection. */
  readonly editor: (options?: EditorOptions) => Promise<Editor>;
}

export interface ProjectOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly daemon?: boolean;
  readonly config?: JsonObject;
}

/** A project with the built program and a scripted model. */
export async function projectFixture(script: Script, options: ProjectOptions = {}): Promise<Project> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const home = realpathSync(temporaryDirectory());
  const cwd = join(home, 'project');
  mkdirSync(cwd);
  for (const [name, text] of Object.entries(options.files ?? {})) writeFileSync(join(cwd, name), text);
  const env = { HOME: home, USER: 'ada', POLYPOD_CONFIG: join(home, 'config.yaml') };
  const accounts = { acme: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
  // JSON is YAML.
  writeFileSync(
    env.POLYPOD_CONFIG,
    JSON.stringify({ model: 'acme/one', titles: 'off', accounts, ...options.config }),
    { mode: 0o600 },
  );
  writeFileSync(join(home, 'models.json'), JSON.stringify([{ account: 'acme', id: 'one', name: 'One' }]));
  if (options.daemon === true) await start(['serve'], env).waitForOutput('ready');
  return {
    home,
    cwd,
    env,
    sim,
    path: (name) => join(cwd, name),
    text: (name) => readFileSync(join(cwd, name), 'utf8'),
    editor: async (given = {}) => {
      const editor = new Editor(env, given);
      await editor.initialize();
      return editor;
    },
  };
}

type Handler = (params: JsonObject, signal: AbortSignal) => Promise<object> | object;

export interface EditorOptions {
  readonly capabilities?: JsonObject;
  /** Answers requests of the agent. Every other request is answered with "method not found". */
  readonly handlers?: Readonly<Record<string, Handler>>;
  /** Unsaved texts by path. Sets the capabilities and handlers for files. */
  readonly buffers?: Map<string, string>;
  readonly args?: readonly string[];
}

const FILES = { fs: { readTextFile: true, writeTextFile: true } };

/** An editor: `polypod acp`, driven by the client of the reference SDK. */
export class Editor {
  readonly child: ChildProcessWithoutNullStreams;
  readonly finished: Promise<Finished>;
  readonly agent: ClientContext;
  /** The requests of the agent, in order. */
  readonly requests: { readonly method: string; readonly params: JsonObject }[] = [];
  readonly updates: JsonObject[] = [];
  readonly #capabilities: JsonObject;

  constructor(
    env: Readonly<Record<string, string>>,
    { capabilities, handlers = {}, buffers, args = [] }: EditorOptions,
  ) {
    const { child, finished } = start(['acp', ...args], env);
    [this.child, this.finished] = [child, finished];
    this.#capabilities = capabilities ?? (buffers === undefined ? {} : FILES);
    const all: Readonly<Record<string, Handler>> = {
      ...(buffers !== undefined && fileHandlers(buffers)),
      'session/request_permission': () => ({ outcome: { outcome: 'selected', optionId: 'allow-once' } }),
      ...handlers,
    };
    child.stdin.on('error', () => {});
    // `start` reads text; the SDK reads bytes.
    const bytes = new Readable({ read: () => {} });
    child.stdout.on('data', (text: string) => bytes.push(Buffer.from(text)));
    child.stdout.on('end', () => bytes.push(null));
    const app = client().onNotification('session/update', ({ params }) => {
      this.updates.push(objectOf(params.update));
    });
    for (const method of METHODS)
      app.onRequest(method, objectOf, async ({ params, signal }) => {
        this.requests.push({ method, params });
        const handle = all[method];
        if (handle === undefined) throw RequestError.methodNotFound(method);
        return handle(params, signal);
      });
    const connection = app.connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(bytes) as ReadableStream<Uint8Array>,
      ),
    );
    this.agent = connection.agent;
    onTestFinished(() => connection.close());
  }

  async initialize(): Promise<void> {
    await this.agent.request('initialize', {
      protocolVersion: 1,
      clientCapabilities: this.#capabilities,
      clientInfo: { name: 'test', version: '0' },
    });
  }

  async newSession(cwd: string, more: JsonObject = {}): Promise<string> {
    const { sessionId } = await this.agent.request('session/new', { cwd, mcpServers: [], ...more });
    return sessionId;
  }

  async prompt(sessionId: string, text = 'go'): Promise<string> {
    const { stopReason } = await this.agent.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text }],
    });
    return stopReason;
  }

  /** The requests of one method. */
  asked(method: string): readonly JsonObject[] {
    return this.requests.filter((request) => request.method === method).map(({ params }) => params);
  }

  /** The update that ended a call. */
  end(callId = 'call_1'): JsonObject {
    const ends = this.updates.filter(
      ({ toolCallId, status }) => toolCallId === callId && /^(?:completed|failed)$/.test(stringOf(status)),
    );
    return ends.at(-1) ?? {};
  }

  /** Ends the program as a crash does. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.finished;
  }
}

const METHODS = [
  'session/request_permission',
  'fs/read_text_file',
  'fs/write_text_file',
  'terminal/create',
  'terminal/output',
  'terminal/wait_for_exit',
  'terminal/kill',
  'terminal/release',
  'elicitation/create',
] as const;

/** Files as an editor has them: open texts count, all others are read from disk; a write is saved. */
export function fileHandlers(buffers: Map<string, string>): Readonly<Record<string, Handler>> {
  return {
    'fs/read_text_file': ({ path }) => {
      const open = buffers.get(stringOf(path));
      if (open !== undefined) return { content: open };
      try {
        return { content: readFileSync(stringOf(path), 'utf8') };
      } catch {
        throw new RequestError(-32603, 'Internal error', { details: 'cannot open the file' });
      }
    },
    'fs/write_text_file': ({ path, content }) => {
      buffers.delete(stringOf(path));
      writeFileSync(stringOf(path), stringOf(content));
      return {};
    },
  };
}

/** The results of calls that the model received, as text. */
export function resultsFor(sim: Sim): readonly string[] {
  const { messages } = objectOf(sim.requests.at(-1)?.body);
  return arrayOf(messages).flatMap((message) =>
    arrayOf(objectOf(message).content).flatMap((part) => {
      const { type, content } = objectOf(part);
      if (type !== 'tool_result') return [];
      return [
        typeof content === 'string'
          ? content
          : arrayOf(content)
              .map((block) => stringOf(objectOf(block).text))
              .join(''),
      ];
    }),
  );
}

export const answers = (text: string): SimAnswer => ({ parts: [{ text }] });

export const calls = (name: string, args: Record<string, unknown>, id = 'call_1'): SimAnswer => ({
  parts: [{ toolCall: { id, name, arguments: args } }],
});
