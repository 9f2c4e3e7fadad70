import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { MAIN, start, temporaryDirectory } from '../../cli/polypod.ts';

const PAGE = 'docs/protocols/acp.md';
const TEXT = readFileSync(PAGE, 'utf8');

const TRANSCRIPTS = [...TEXT.matchAll(/<!-- transcript: (\S+) -->\n```jsonl\n([\s\S]*?)```/g)].map(
  ([, name = '', text = '']) => ({ name, lines: text.trimEnd().split('\n') }),
);
const [START] = TRANSCRIPTS;

/** Transcripts that show only a part of the output: other lines may come between theirs. */
const EXCERPTS = ['cancel', 'load', 'other-client'];

describe(PAGE, () => {
  it('has transcripts of the start, a prompt, permissions, diffs, cancel, load and another client', () => {
    expect(TRANSCRIPTS.map(({ name }) => name)).toEqual([
      'start',
      'prompt',
      'permission',
      'diff',
      'cancel',
      'load',
      'other-client',
    ]);
  });

  it.each(TRANSCRIPTS)('$name matches the output of the program', async ({ name, lines }) => {
    // Another client needs a daemon, on which all find the session.
    const editor = await Editor.open({ withDaemon: name === 'other-client' });
    if (name !== 'start') await editor.replay(START?.lines ?? []);
    await editor.replay(lines, EXCERPTS.includes(name));
  });

  it('lists the methods of the door', async () => {
    const documented = [...TEXT.matchAll(/^\| `((?:session\/)?[a-z_]+)` +\| /gm)].map(([, method]) => method);
    const source = readFileSync('src/protocols/acp/link/connection.ts', 'utf8');
    const [, table = ''] = /#methods[^{]*\{([^}]*)\}/.exec(source) ?? [];
    const known = [...table.matchAll(/^\s+'?([\w/]+)'?: \(/gm)].map(([, method]) => method);
    expect(known.length).toBeGreaterThan(9);
    expect(documented.filter((method) => known.includes(method))).toEqual(known);
  });

  it('lists the updates of the door', () => {
    const source = readFileSync('src/protocols/acp/wire.ts', 'utf8');
    const known = [...source.matchAll(/readonly sessionUpdate: ([^;]+);/g)].flatMap(([, names = '']) =>
      names.split(' | ').map((name) => name.replaceAll("'", '')),
    );
    expect(known.length).toBeGreaterThan(11);
    expect(known.filter((name) => !TEXT.includes(`\`${name}\``))).toEqual([]);
  });
});

/** The editor of the transcripts. Names that begin with `$` are bound to what they first match. */
class Editor {
  readonly #running: ReturnType<typeof start>;
  readonly #names: Map<string, string>;
  #next = 0;

  static async open({ withDaemon }: { readonly withDaemon: boolean }): Promise<Editor> {
    const home = temporaryDirectory();
    const cwd = join(home, 'project');
    mkdirSync(cwd);
    if (withDaemon) {
      const daemon = start(['serve', '--offline'], { HOME: home });
      onTestFinished(() => void daemon.child.kill('SIGTERM'));
      await daemon.waitForOutput('ready pid=');
    }
    return new Editor(home, start(withDaemon ? ['acp'] : ['acp', '--offline'], { HOME: home }), cwd);
  }

  private constructor(
    readonly home: string,
    running: ReturnType<typeof start>,
    cwd: string,
  ) {
    this.#running = running;
    this.#names = new Map([['$cwd', cwd]]);
  }

  async replay(lines: readonly string[], isExcerpt = false): Promise<void> {
    for (const line of lines) {
      const text = line.slice(2);
      if (line.startsWith('→')) this.#send(this.#filled(text));
      else if (line.startsWith('$')) await this.#command(text);
      else await this.#expect({ jsonrpc: '2.0', ...objectOf(JSON.parse(text)) }, isExcerpt);
    }
  }

  #send(message: string): void {
    const frame = { jsonrpc: '2.0', ...objectOf(JSON.parse(message)) };
    this.#running.child.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  /** Runs a command of another client on the same daemon. */
  async #command(line: string): Promise<void> {
    const [, ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    );
    const run = async (...words: string[]): Promise<string> => {
      const env = { PATH: process.env.PATH, HOME: this.home };
      return (await promisify(execFile)(process.execPath, [MAIN, ...words], { env })).stdout;
    };
    const [approval] = arrayOf(JSON.parse(await run('approvals', 'list', '--json'))).map(objectOf);
    this.#names.set('$approval', stringOf(approval?.approvalId ?? approval?.id));
    await run(...args.map((word) => this.#filled(word)));
  }

  /** Waits for the next message; in an excerpt, for the next one that matches. */
  async #expect(wanted: JsonObject, isExcerpt: boolean): Promise<void> {
    if (isExcerpt) {
      await expect.poll(() => this.#received().some((line) => this.#matches(line, wanted))).toBe(true);
      return;
    }
    await expect.poll(() => this.#received().length).toBeGreaterThan(this.#next);
    const next = this.#received()[this.#next];
    this.#next += 1;
    if (!this.#matches(next, wanted)) expect(next).toEqual(JSON.parse(this.#filled(JSON.stringify(wanted))));
  }

  #received(): readonly JsonObject[] {
    const lines = this.#running.output().stdout.split('\n').slice(0, -1);
    return lines.map((line) => objectOf(JSON.parse(line)));
  }

  #filled(text: string): string {
    return text.replaceAll(/\$[a-z]+/g, (name) => this.#names.get(name) ?? name);
  }

  /** Compares messages, except for what the page leaves open. */
  #matches(actual: unknown, wanted: unknown): boolean {
    if (wanted === '…') return actual !== undefined;
    if (typeof wanted === 'string') {
      if (wanted.startsWith('$') && !this.#names.has(wanted) && /^\$[a-z]+$/.test(wanted))
        this.#names.set(wanted, stringOf(actual));
      return actual === this.#filled(wanted);
    }
    if (Array.isArray(wanted))
      return (
        Array.isArray(actual) &&
        actual.length === wanted.length &&
        wanted.every((part, at) => this.#matches(actual[at], part))
      );
    if (!isObject(wanted)) return actual === wanted;
    if (!isObject(actual)) return false;
    const { '…': rest, ...named } = wanted;
    const isComplete = rest !== undefined || Object.keys(actual).length === Object.keys(named).length;
    return isComplete && Object.entries(named).every(([key, value]) => this.#matches(actual[key], value));
  }
}
