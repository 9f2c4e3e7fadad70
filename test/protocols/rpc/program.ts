import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringOf } from '../../../src/base/index.ts';
import { type Script, startSim } from '../../../src/sim/index.ts';
import { type Finished, start, temporaryDirectory } from '../../cli/polypod.ts';
import { Client } from './client.ts';
import type { RpcFixture, RpcFixtureOptions } from './fixture.ts';

export interface InPipes extends RpcFixture {
  readonly client: Program;
}

/** The built program over real pipes, after its first line, `ready`, was removed. */
export async function programFixture(
  script: Script,
  options: RpcFixtureOptions = {},
  env: Readonly<Record<string, string>> = {},
): Promise<InPipes> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const configFile = join(home, 'config.yaml');
  const accounts = { sim: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
  // JSON is YAML.
  writeFileSync(configFile, JSON.stringify({ accounts, stream_rules: options.rules ?? [] }), { mode: 0o600 });
  const model = { account: 'sim', id: 'sim', name: 'Sim', reasoning: true, contextWindow: 100_000 };
  const other = { ...model, id: 'other', name: 'Other', reasoning: false };
  writeFileSync(
    join(home, 'models.json'),
    JSON.stringify(options.hasOneModel === true ? [model] : [model, other]),
  );
  const client = new Program(['--model', 'sim/sim', ...argumentsFor(options, home)], {
    ...env,
    HOME: home,
    POLYPOD_CONFIG: configFile,
    ...(options.emitsTitle === true ? { PI_RPC_EMIT_TITLE: '1' } : {}),
    ...(options.hasShortDelays === true ? { NODE_OPTIONS: `--import=data:text/javascript,${HASTE}` } : {}),
  });
  const ready = await client.waitFor(({ type }) => type === 'ready');
  client.lines.splice(0);
  return { client, cwd: home, baseUrl: sim.url, version: stringOf(ready.version), configFile };
}

function argumentsFor(options: RpcFixtureOptions, home: string): readonly string[] {
  const file = join(home, 'extension.mjs');
  if (options.extension !== undefined) writeFileSync(file, options.extension);
  return [
    ...(options.inMemory === true ? ['--no-session'] : []),
    ...(options.echoErrors === true ? ['--rpc-errors=echo'] : []),
    ...(options.isAsking === true ? ['--ask'] : []),
    ...(options.extension === undefined ? [] : ['-e', file]),
  ];
}

/** A clock that shortens minutes and leaves shorter times unchanged. */
const HASTE = encodeURIComponent(`
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (wake, ms, ...rest) => setTimeout(wake, ms >= 60_000 ? ms / 1000 : ms, ...rest);
`);

/** The built program in RPC mode. */
export class Program extends Client {
  readonly child: ChildProcessWithoutNullStreams;
  readonly home: string;
  readonly finished: Promise<Finished>;

  constructor(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const home = env.HOME ?? temporaryDirectory();
    const { child, finished } = start(['--mode', 'rpc', ...args], { ...env, HOME: home });
    super((bytes) => void child.stdin.write(bytes));
    [this.child, this.home, this.finished] = [child, home, finished];
    child.stdout.on('data', (text: string) => this.take(text));
    child.stdin.on('error', () => {});
    void finished.then(({ code, stderr }) => this.over(`the program has ended with ${code}: ${stderr}`));
    onTestFinished(() => void child.stdin.end());
  }

  /** Closes its input. */
  async end(): Promise<Finished> {
    this.child.stdin.end();
    return this.finished;
  }
}
