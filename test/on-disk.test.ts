import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeAgent, withBackends } from './backends/fake-agent.ts';
import { call, waitForEvent, isType, textAnswer, type CliFixture, cliFixture } from './cli/daemon.ts';
import { polypod, type Running, start } from './cli/polypod.ts';
import { Client } from './protocols/hld/fixture.ts';

/** One row of a table in docs/on-disk.md: a path pattern, and the mode of files there. */
interface Row {
  readonly pattern: RegExp;
  readonly mode: string;
}

/** Where the directories of the page are in the home directory of the exercise. */
const DIRECTORIES: readonly (readonly [name: string, path: string])[] = [
  ['~/', ''],
  ['<data>', '(?:.local/share/polypod|agent/polypod)'],
  ['<config>', '.config/polypod'],
  ['<cache>', '.cache/polypod'],
  ['<runtime>', '(?:.local/share|agent)/polypod/run'],
  ['<agent>', 'agent'],
  ['<workspace>', 'project'],
];

/** Files that are about to be renamed; the page describes them in its introduction. */
const DRAFT = /\.(?:new|fork|repair|[0-9a-f]{8}-[0-9a-f-]{27})$/;

const ROWS = rowsIn(readFileSync('docs/on-disk.md', 'utf8'));

describe('docs/on-disk.md', () => {
  it('lists every file that the program leaves in a home directory, with its mode', async () => {
    const found = await filesOfAnExercise();
    // Otherwise the exercise would not have reached what the page describes.
    expect(found.length).toBeGreaterThan(30);
    expect(unlisted(found, ROWS)).toEqual([]);
  }, 120_000);

  it('finds a file that is not listed, and one with another mode', () => {
    expect(unlisted([{ path: '.local/share/polypod/unknown', mode: '600' }], ROWS)).toHaveLength(1);
    expect(unlisted([{ path: '.local/share/polypod/logs/audit.jsonl', mode: '644' }], ROWS)).toHaveLength(1);
    expect(unlisted([{ path: '.local/share/polypod/logs/audit.jsonl', mode: '600' }], ROWS)).toEqual([]);
  });
});

interface Found {
  readonly path: string;
  readonly mode: string;
}

/** Uses the commands that write files, and returns every file and directory that was in the home directory meanwhile. */
async function filesOfAnExercise(): Promise<readonly Found[]> {
  const fixture = await cliFixture([
    call('bash', { command: 'seq 1 30000' }),
    call('write', { path: 'counted.txt', content: '30000' }),
    ...Array.from({ length: 6 }, () => textAnswer('Yes.')),
    call('bash', { command: 'node -e 1' }),
    textAnswer('Done.'),
  ]);
  const tasks = { name: 'helper', port: 0 };
  const others = { fake: fakeAgent(), gemini: fakeAgent() };
  fixture.configure(withBackends(others, { model: 'anthropic/x', titles: 'model', tasks }));
  writeFileSync(join(fixture.project, 'counted.txt'), '0');
  const byTest = new Set(filesBelow(fixture.home).map(({ path }) => path));
  const all = new Map<string, Found>();
  const listFiles = (): void => {
    for (const found of filesBelow(fixture.home)) if (!byTest.has(found.path)) all.set(found.path, found);
  };
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await fixture.polypod(...args);
    listFiles();
    expect([args, code, stderr]).toEqual([args, 0, stderr]);
    return stdout.trim();
  };
  const inProject = ['-C', fixture.project];

  await run('run', '-q', ...inProject, '-n', 'first', '--mode', 'full-access', 'Count.');
  await run('new', ...inProject, '-n', 'second');
  await run('rm', 'first', 'second');
  await run('keys', 'create', '--owner', 'ada');
  await run('backends', 'fake', 'gemini');
  for (const name of ['fake', 'gemini']) await run('run', '-q', ...inProject, '--backend', name, 'Hello.');
  const chat = await polypod(['chat', ...inProject], { env: fixture.env, input: 'Hello\n/export\n' });
  expect(chat.code).toBe(0);
  listFiles();
  await useRpc({ ...fixture.env }, listFiles);
  await useRpc({ ...fixture.env, PI_CODING_AGENT_DIR: join(fixture.home, 'agent') }, listFiles);
  await repairADamagedSession(fixture, run);

  const daemon = await fixture.serve();
  await run('run', '-q', ...inProject, '-n', 'third', 'Hello.');
  const client = await Client.open(join(fixture.home, '.humanlayer/daemon.sock'));
  await client.call('launchSession', { query: 'Hello', working_dir: fixture.project });
  await run('agent', 'list');
  await answerAlways(fixture, await run('new', ...inProject, '-n', 'asks'));
  listFiles();
  await run('rules', 'list');
  await run('audit', 'verify');
  await run('doctor');
  await run('stop');
  await daemon.finished;
  listFiles();
  return [...all.values()];
}

/** A prompt over `polypod --mode rpc`. */
async function useRpc(env: Readonly<Record<string, string>>, listFiles: () => void): Promise<void> {
  const rpc: Running = start(['--mode', 'rpc', '--no-daemon'], env);
  rpc.child.stdin.write('{"id":"1","type":"prompt","message":"Hello"}\n');
  await rpc.waitForOutput('"agent_end"');
  listFiles();
  rpc.child.stdin.end();
  await rpc.finished;
  listFiles();
}

async function repairADamagedSession(
  { dataDirectory }: CliFixture,
  run: (...args: readonly string[]) => Promise<string>,
): Promise<void> {
  const directory = join(dataDirectory, 'sessions');
  const file = join(directory, readdirSync(directory).find((name) => name.endsWith('.jsonl')) ?? '');
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 4;
  writeFileSync(file, bytes);
  await run('log', 'repair', file);
}

/** Approves a call for good, which records a rule. */
async function answerAlways(fixture: CliFixture, podId: string): Promise<void> {
  const pod = await fixture.pod(podId);
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'Run it.' }] });
  const request = await waitForEvent(pod, isType('approval-request'));
  if (request.type !== 'approval-request') throw new Error('no approval request');
  const { approvalId } = request.approval;
  await pod.handle({ type: 'decide', approvalId, decision: 'approve', remember: 'always' });
  await waitForEvent(pod, isType('run-end'));
}

/** Every file below a directory, with its mode; a symbolic link has none of its own. */
function filesBelow(root: string): readonly Found[] {
  const found: Found[] = [];
  const visit = (directory: string): void => {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      const state = lstatSync(path, { throwIfNoEntry: false });
      if (state === undefined) continue;
      const mode = state.isSymbolicLink() ? 'link' : (state.mode & 0o777).toString(8);
      found.push({ path: relative(root, path), mode });
      if (state.isDirectory()) visit(path);
    }
  };
  visit(root);
  return found;
}

function unlisted(found: readonly Found[], rows: readonly Row[]): readonly string[] {
  return found
    .filter(({ path }) => !DRAFT.test(path))
    .filter(({ path, mode }) => !rows.some((row) => row.pattern.test(path) && row.mode === mode))
    .map(({ path, mode }) => `${path} (${mode})`);
}

/** The rows of the tables whose first cell is a path and whose second cell is a mode. */
function rowsIn(page: string): readonly Row[] {
  return [...page.matchAll(/^\| `([^`]+)` *\| (\d{3}|link) /gm)].map(([, path = '', mode = '']) => ({
    pattern: patternOf(path),
    mode,
  }));
}

/** A name in angle brackets matches a part of one file name. */
function patternOf(path: string): RegExp {
  const withPlaceholders = DIRECTORIES.reduce(
    (text, [name, placeholder]) => text.replace(name, placeholder),
    path,
  );
  const text = withPlaceholders
    .replaceAll('.', '\\.')
    .replaceAll('<id>', '[0-9a-f]{8}-[0-9a-f-]{27}')
    .replaceAll('<n>', '\\d+')
    .replaceAll(/<(?:name|mark|uuid)>/g, '[^/]+');
  return new RegExp(`^${text}$`);
}
