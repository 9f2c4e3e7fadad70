import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSim } from '../src/sim/index.ts';
import { MAIN, temporaryDirectory } from './cli/polypod.ts';

/** Runs in the program before its first line: appends the name of each package that is loaded to a file. */
const RECORDER = `
import { appendFileSync } from 'node:fs';
import Module, { register } from 'node:module';
const hooks = \`
  import { appendFileSync } from 'node:fs';
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context);
    appendFileSync(process.env.LOADED_PACKAGES, found.url + '\\\\n');
    return found;
  }\`;
register('data:text/javascript,' + encodeURIComponent(hooks));
const load = Module._load;
Module._load = function (request, parent, ...rest) {
  try {
    appendFileSync(process.env.LOADED_PACKAGES, Module._resolveFilename(request, parent) + '\\n');
  } catch {}
  return load.call(this, request, parent, ...rest);
};
`;

interface Run {
  /** The packages that were loaded. */
  readonly packages: () => readonly string[];
  /** The files of the bundle that were loaded, without those that only name the exports of another one. */
  readonly files: () => readonly string[];
  readonly output: () => string;
  readonly until: (text: string) => Promise<void>;
  /** Waits for the end. */
  readonly ended: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

function start(
  args: readonly string[],
  home = temporaryDirectory(),
  env: Readonly<Record<string, string>> = {},
): Run {
  const [record, recorder] = [join(home, 'loaded.txt'), join(home, 'recorder.mjs')];
  writeFileSync(recorder, RECORDER);
  if (!existsSync(record)) writeFileSync(record, '');
  const child = spawn(process.execPath, ['--import', pathToFileURL(recorder).href, MAIN, ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      LOADED_PACKAGES: record,
      POLYPOD_RUNTIME_DIR: join(home, 'run'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const closed = once(child, 'close');
  return {
    output: () => output,
    packages: () => [
      ...new Set(
        readFileSync(record, 'utf8')
          .split('\n')
          .flatMap((line) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(line)?.[1] ?? []),
      ),
    ],
    files: () => [
      ...new Set(
        readFileSync(record, 'utf8')
          .split('\n')
          .filter((line) => dirname(line) === dirname(MAIN) && statSync(line).size > 300)
          .map((line) => basename(line)),
      ),
    ],
    until: async (text) => {
      while (!output.includes(text)) {
        if (child.exitCode !== null) throw new Error(`ended before it printed ${text}: ${output}`);
        await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), closed]);
      }
    },
    ended: async () => void (await closed),
    stop: async () => {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

const AWS = ['@aws-sdk/credential-providers', '@smithy/core', '@smithy/signature-v4'];

const HTTP = ['fastify', '@fastify/rate-limit', 'ws', 'typebox', 'ajv'];

describe('packages are loaded on demand', () => {
  it.each([
    [['--version'], '.'],
    [['--help'], 'Usage'],
    [['ls'], 'no sessions'],
    [['ask', '--offline', 'hello'], 'simulated'],
  ])('polypod %j loads none', async (args, printed) => {
    const run = start(args);
    await run.ended();
    expect({ packages: run.packages(), output: run.output() }).toEqual({
      packages: [],
      output: expect.stringContaining(printed),
    });
  });

  it('polypod serve loads those for HTTP when its tasks door opens, and the OpenAPI generator when it is used', async () => {
    const home = temporaryDirectory();
    const daemon = start(['serve', '--json'], home);
    await daemon.until('"socket"');
    expect(daemon.packages().filter((name) => [...HTTP, '@fastify/swagger'].includes(name))).toEqual([]);
    const agent = start(['agent', 'start', 'web', '--port', '0', '--json'], home);
    await agent.ended();
    expect(daemon.packages()).toEqual(expect.arrayContaining(HTTP));
    expect(daemon.packages()).not.toContain('@fastify/swagger');
    await daemon.stop();
  });

  it.each([
    ['serve', ['serve', '--offline', '--json'], '"socket"', []],
    // A session that is stored would be published a moment later.
    ['rpc', ['--mode', 'rpc', '--no-session'], '"type":"ready"', ['pod', 'store']],
  ])(
    'polypod %s loads only files for this purpose until it is ready',
    async (moment, args, ready, indexes) => {
      const run = start(args, temporaryDirectory(), { ANTHROPIC_API_KEY: 'any' });
      await run.until(ready);
      const files = run.files();
      await run.stop();
      // The name of a file lists what needs it: scripts/cli-bundle.mjs.
      const others = files.filter((name) => !name.split('-').includes(moment));
      expect(files.length).toBeGreaterThan(others.length);
      expect(others.map((name) => name.replace(/-[\w-]{8}\.js$/, '')).toSorted()).toEqual(
        ['base', 'code-cache', 'main.js', 'rolldown-runtime', ...indexes].toSorted(),
      );
    },
  );

  it('polypod ask loads those of AWS when a Bedrock account answers, and not when there is only one', async () => {
    const sim = await startSim({ script: () => ({ parts: [{ text: 'Hello.' }] }) });
    onTestFinished(() => sim.close());
    const env = {
      ANTHROPIC_BASE_URL: sim.url,
      ANTHROPIC_API_KEY: 'any',
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: sim.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'AKID',
      AWS_SECRET_ACCESS_KEY: 'secret',
    };
    const other = start(['ask', 'Hi'], temporaryDirectory(), env);
    await other.ended();
    expect({ packages: other.packages(), output: other.output() }).toEqual({
      packages: [],
      output: 'Hello.\n',
    });
    const signed = start(['ask', '-m', 'bedrock/sim', 'Hi'], temporaryDirectory(), env);
    await signed.ended();
    expect(signed.output()).toBe('Hello.\n');
    expect(signed.packages()).toEqual(expect.arrayContaining(AWS));
  });
});
