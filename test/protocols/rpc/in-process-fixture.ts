import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { rpcExtensions } from '../../../src/cli/rpc/extensions.ts';
import type { Host } from '../../../src/pod/index.ts';
import { type RpcParts, serveRpc } from '../../../src/protocols/index.ts';
import type { Script } from '../../../src/sim/index.ts';
import { MODEL, hostFixture } from '../../pod/fixture.ts';
import { Client } from './client.ts';
import type { RpcFixture, RpcFixtureOptions } from './fixture.ts';

export interface InProcess extends RpcFixture {
  readonly host: Host;
  readonly client: StreamClient;
}

const NEVER_READ = '/nobody/reads/this.yaml';
const URL = 'http://127.0.0.1';

/** The real door over two streams. */
export async function inProcessFixture(script: Script, options: RpcFixtureOptions = {}): Promise<InProcess> {
  const rules = options.isAsking === true ? [] : ([{ tool: 'bash', action: 'auto' }] as const);
  const { host, cwd } = await hostFixture(script, { agent: { rules } });
  const client = new StreamClient();
  client.served = serveRpc(client.streams, partsFor(options, host, cwd), client.signal);
  onTestFinished(async () => {
    client.close();
    await client.served;
  });
  await client.waitFor(({ type }) => type === 'ready');
  client.lines.splice(0);
  return { host, cwd, client, baseUrl: URL, version: '1.2.3', configFile: NEVER_READ };
}

function partsFor(options: RpcFixtureOptions, host: Host, cwd: string): RpcParts {
  const { rules = [], hasShortDelays = false } = options;
  const other = { ...OFFERED, id: 'other', name: 'Other', reasoning: false };
  return {
    host,
    sessions: { cwd, inMemory: options.inMemory ?? false },
    first: () => host.create({ cwd, lazy: true }),
    models: async () => (options.hasOneModel === true ? [OFFERED] : [OFFERED, other]),
    scope: [],
    toolNames: async () => ['bash', 'read'],
    limits: {},
    extensions: extensionsFor(options, cwd),
    rules: rules.map((rule) => ({ ...rule, path: NEVER_READ })),
    version: '1.2.3',
    by: 'ada',
    echoErrors: options.echoErrors ?? false,
    clearTodosAfterMs: hasShortDelays ? 20 : 60_000,
    now: () => 1_700_000_000_000,
  };
}

function extensionsFor(
  { extension, emitsTitle = false }: RpcFixtureOptions,
  cwd: string,
): RpcParts['extensions'] {
  const file = join(cwd, 'extension.mjs');
  if (extension !== undefined) writeFileSync(file, extension);
  return rpcExtensions({ files: extension === undefined ? [] : [file], cwd, emitsTitle }).extensions;
}

const OFFERED = {
  provider: MODEL.account,
  id: MODEL.id,
  name: 'Sim',
  wire: 'anthropic',
  baseUrl: URL,
  reasoning: true,
  thinkingMode: 'budget',
  input: ['text'],
  contextWindow: 100_000,
} as const;

/** A client in the same process that can stop reading. */
export class StreamClient extends Client {
  served: Promise<void> = Promise.resolve();
  readonly #input: PassThrough;
  readonly #output = new PassThrough();
  readonly #stop = new AbortController();

  constructor() {
    const input = new PassThrough();
    super((bytes) => void input.write(bytes));
    this.#input = input;
    this.#output.setEncoding('utf8').on('data', (text: string) => this.take(text));
  }

  get streams() {
    return { input: this.#input, output: this.#output };
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The number of unread bytes. */
  get unread(): number {
    return this.#output.readableLength + this.#output.writableLength;
  }

  pause(): void {
    this.#output.pause();
  }

  resume(): void {
    this.#output.resume();
  }

  end(): void {
    this.#input.end();
  }

  close(): void {
    this.#stop.abort();
  }
}
