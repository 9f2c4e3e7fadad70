import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startSim } from '../src/sim/index.ts';
import { cliFixture } from './cli/daemon.ts';
import { temporaryDirectory } from './cli/polypod.ts';

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'GLOSSARY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'bench/RESULTS.md',
]
  .concat(readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)))
  .filter((path) => path.endsWith('.md'));

describe('the pages', () => {
  it.each(PAGES)('%s has no dead link', (page) => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
      ([, link]) => link ?? '',
    );
    expect(links.filter((link) => !existsSync(join(dirname(page), link)))).toEqual([]);
  });

  it('show events as the tests have them', () => {
    const shown = blocksIn('docs/llm.md').filter(({ name }) => name.includes('/'));
    expect(shown.length).toBeGreaterThan(1);
    for (const { name, code } of shown)
      expect(code).toBe(readFileSync(`test/llm/fixtures/${name}.events`, 'utf8'));
  });

  it('name, for every promise of the threat model, a test that exists', () => {
    const promises = [
      ...readFileSync('docs/threat-model.md', 'utf8').matchAll(/^\| (.+?) +\| `(test\/\S+)`: (.+?) +\|$/gm),
    ];
    expect(promises.length).toBeGreaterThan(50);
    const missing = promises.filter(([, , file = '', title = '']) => !titlesIn(file).includes(title));
    expect(missing.map(([row]) => row)).toEqual([]);
  });

  it('define only exported names in the glossary, each once', () => {
    const rows = readFileSync('GLOSSARY.md', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|'));
    const names = rows.flatMap((row) => [...row.matchAll(/`([A-Z][a-z]\w*)`/g)].map(([, name]) => name));
    const source = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(join('src', path), 'utf8'))
      .join('\n');
    const exported = [...source.matchAll(/^export (?:class|interface|type) (\w+)/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !exported.includes(name))).toEqual([]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('name every decision', () => {
    const index = readFileSync('docs/decisions/README.md', 'utf8');
    for (const page of readdirSync('docs/decisions'))
      if (page !== 'README.md') expect(index).toContain(`(${page})`);
  });
});

describe('the examples run', () => {
  it('README: a program streams an answer', async () => {
    const sim = await startSim({
      script: [{ parts: [{ text: 'Hello!' }, { toolCall: { name: 'ls', arguments: {} } }] }],
    });
    const output = await run(blockNamed('README.md', 'readme-stream'), { BASE_URL: sim.url, KEY: 'any' });
    await sim.close();
    expect(output).toMatch(/^Hello!\[/);
    expect(output).toContain("name: 'ls'");
  });

  it('worker: a program runs an agent', async () => {
    const output = await run(blockNamed('docs/worker.md', 'worker-run').replaceAll(' as const', ''), {});
    expect(output).toMatch(/^ls: done\n(?:read: done\n)?finished \d\n$/);
  });

  it('pod: a program hosts a pod and watches its run', async () => {
    const output = await run(blockNamed('docs/pod.md', 'pod-host'), { HOME: temporaryDirectory() });
    expect(output).toMatch(/^\d+: ls done\n(?:.*\n)*first is idle\n$/);
  });

  it('pod: a program gives its agent a tool, which the policy allows', async () => {
    const output = await run(blockNamed('docs/pod.md', 'pod-tool'), { HOME: temporaryDirectory() });
    expect(output).toBe('done Oslo: sunny\n');
  });

  it('Pod Protocol: a program opens a pod of the daemon by its name', async () => {
    const { env, serve, polypod } = await cliFixture([{ parts: [{ text: 'Paris.' }] }]);
    await serve();
    await polypod('new', '-n', 'demo', '-m', 'anthropic/x');
    expect(await run(blockNamed('docs/protocols/pod.md', 'pod-client'), env)).toBe('Paris.');
    await polypod('stop');
  });

  it('Pod Protocol: a program registers a function as a client of its pod', async () => {
    const program = blockNamed('docs/protocols/pod.md', 'pod-listener');
    const output = await run(program, { HOME: temporaryDirectory() });
    expect(output.length).toBeGreaterThan(20);
  });

  it('simulator: a script answers', async () => {
    expect(await run(blockNamed('docs/simulator.md', 'simulator-script'), {})).toBe('ls\n');
  });
});

interface Block {
  readonly name: string;
  readonly code: string;
}

function blocksIn(page: string): readonly Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/<!-- tested: (\S+) -->\n```\w+\n([\s\S]*?)```/g)].map(
    ([, name = '', code = '']) => ({ name, code }),
  );
}

function blockNamed(page: string, wanted: string): string {
  return blocksIn(page).find(({ name }) => name === wanted)?.code ?? '';
}

/** Runs code as a program of its own that has Polypod installed. */
async function run(code: string, env: Readonly<Record<string, string>>): Promise<string> {
  const directory = withPolypod();
  writeFileSync(join(directory, 'example.mjs'), code);
  const options = { cwd: directory, env: { PATH: process.env.PATH, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, ['example.mjs'], options);
  return stdout;
}

function withPolypod(): string {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(resolve('.'), join(directory, 'node_modules/polypod'));
  return directory;
}

/** The source of a test file, on one line and without the quotes' escapes: a title may be any part of it. */
function titlesIn(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').replaceAll("\\'", "'") : '';
}
