import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { isObject, type JsonObject, objectOf, parseObject, stringOf } from '../../../src/base/index.ts';
import { killAndWait, MAIN, temporaryDirectory } from '../../cli/polypod.ts';

/** The command-line client `acpx` from npm. It needs Node 22, so only the run on Node 24 has it (`.ci/run`). */
const hasAcpx = (() => {
  try {
    return execFileSync('acpx', ['--version'], { encoding: 'utf8', stdio: 'pipe' }).trim() !== '';
  } catch {
    return false;
  }
})();

let home = '';
let cwd = '';
let agent = '';

interface Running {
  readonly finished: Promise<number | null>;
  /** The messages in both directions, as the client prints them. */
  messages(): readonly JsonObject[];
}

function acpx(...args: readonly string[]): Running {
  const options = ['--ttl', '1', '--format', 'json', '--json-strict', '--cwd', cwd, '--agent', agent];
  const child = spawn('acpx', [...options, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => killAndWait(child));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    finished: new Promise((resolve) => child.once('close', resolve)),
    messages: () =>
      output
        .split('\n')
        .slice(0, -1)
        .map((line) => parseObject(line) ?? {}),
  };
}

/** Runs a command to its end, which must be a success. */
async function run(...args: readonly string[]): Promise<readonly JsonObject[]> {
  const running = acpx(...args);
  expect(await running.finished).toBe(0);
  return running.messages();
}

/** The exit code of the client if it denied all requests. */
const ALL_DENIED = 5;

const updatesIn = (messages: readonly JsonObject[]): readonly JsonObject[] =>
  messages.flatMap(({ method, params }) =>
    method === 'session/update' ? [objectOf(objectOf(params).update)] : [],
  );

const answerIn = (messages: readonly JsonObject[]): string =>
  updatesIn(messages)
    .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
    .map(({ content }) => stringOf(objectOf(content).text))
    .join('');

const stopReasons = (messages: readonly JsonObject[]): readonly string[] =>
  messages.flatMap(({ result }) => (isObject(result) ? stringOf(result.stopReason) || [] : []));

/** The client leaves a process that owns the session; it ends after a second without work. */
const ownerHasEnded = (): Promise<unknown> =>
  expect
    .poll(() => {
      const directory = join(home, '.acpx/queues');
      return existsSync(directory) ? readdirSync(directory) : [];
    })
    .toEqual([]);

const TOUCH = `[[sim tool=bash args='{"command":"touch made"}']]`;

describe.runIf(hasAcpx)('acpx, a client from npm', () => {
  beforeEach(() => {
    home = temporaryDirectory();
    cwd = join(home, 'project');
    mkdirSync(cwd);
    agent = `${process.execPath} ${MAIN} acp --offline`;
  });

  it('sends a prompt and receives the answer', async () => {
    const messages = await run('exec', "Hello [[sim text='Hi there']]");
    expect(answerIn(messages)).toBe('Hi there');
    expect(stopReasons(messages)).toEqual(['end_turn']);
  });

  it.each([
    ['--approve-all', 'completed', 0, true],
    ['--deny-all', 'failed', ALL_DENIED, false],
  ] as const)('answers a permission request with %s', async (option, status, code, isMade) => {
    const running = acpx(option, 'exec', TOUCH);
    expect(await running.finished).toBe(code);
    const messages = running.messages();
    expect(messages.map(({ method }) => method)).toContain('session/request_permission');
    expect(
      updatesIn(messages)
        .flatMap((update) => update.status ?? [])
        .at(-1),
    ).toBe(status);
    expect(existsSync(join(cwd, 'made'))).toBe(isMade);
    expect(stopReasons(messages)).toEqual(['end_turn']);
  });

  it('cancels a prompt from another process, and continues the session in a new process of the agent', async () => {
    await run('sessions', 'new');
    const long = acpx('prompt', '[[sim deltas=4000 delay=20]]');
    await expect.poll(() => answerIn(long.messages())).not.toBe('');
    expect(await run('cancel')).toMatchObject([{ cancelled: true }]);
    expect(await long.finished).toBe(0);
    expect(stopReasons(long.messages())).toEqual(['cancelled']);
    await ownerHasEnded();

    const messages = await run('prompt', "Again [[sim text='Back']]");
    expect(messages.map(({ method }) => method)).toContainEqual(
      expect.stringMatching(/^session\/(?:resume|load)$/),
    );
    expect(answerIn(messages)).toBe('Back');
    await ownerHasEnded();
    const [list] = await run('sessions', 'list');
    expect(list?.sessions).toMatchObject([{ cwd, title: '[[sim deltas=4000 delay=20]]' }]);
  });

  it('loads a session whose agent cannot resume', async () => {
    // The client prefers session/resume, so the agent must not offer it.
    const script = join(home, 'agent.sh');
    writeFileSync(script, `#!/bin/sh\n${agent} | sed -u 's/"resume":{},//'\n`, { mode: 0o700 });
    agent = script;
    await run('sessions', 'new');
    await run('prompt', "Hello [[sim text='Hi there']]");
    await ownerHasEnded();
    const messages = await run('prompt', "Again [[sim text='Back']]");
    expect(messages.map(({ method }) => method)).toContain('session/load');
    expect(messages.map(({ method }) => method)).not.toContain('session/new');
    expect(stopReasons(messages)).toEqual(['end_turn']);
    expect(answerIn(messages).endsWith('Back')).toBe(true);
    await ownerHasEnded();
  });
});
