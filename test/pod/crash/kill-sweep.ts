import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import { Host } from '../../../src/pod/index.ts';
import { realFiles } from '../../../src/store/index.ts';
import { compiled } from '../../compiled.ts';
import type { ChildOptions } from './child.ts';
import { type Known, ledgersOf } from './ledger.ts';
import { problemsAfter } from './problems.ts';
import { agentsIn } from './test-agents.ts';

/** The program of `child.ts`, compiled so that a separate process can run it. */
export class Program {
  readonly #compiled = compiled('test/pod/crash/child.ts');

  /** Runs it until it is killed. Returns its output if it reached its end. */
  run(options: ChildOptions): Promise<string> {
    const script = join(this.#compiled.directory, 'test/pod/crash/child.js');
    const child = spawn(process.execPath, [script, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [printed, complaint] = ['', ''];
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    child.stderr.on('data', (chunk) => (complaint += String(chunk)));
    return new Promise((done, fail) => {
      child.on('close', (_, signal) => {
        if (signal === 'SIGKILL') done(printed);
        else fail(new Error(`the process was not killed: ${complaint}`));
      });
    });
  }

  remove(): void {
    this.#compiled.remove();
  }
}

/** The files that a killed process left. */
export interface LeftFiles {
  readonly directory: string;
  readonly problems: readonly string[];
  readonly ids: Readonly<Record<string, string>>;
}

export interface Kill {
  readonly url: string;
  readonly program: Program;
  /** The boundary at which it is killed and, optionally, one of its second life. */
  readonly at: number;
  readonly again?: number;
  /** Checks what is left after all requests. */
  readonly check?: (left: LeftFiles) => void;
}

/** The number of boundaries in an uninterrupted life. */
export async function boundariesOf(url: string, program: Program): Promise<number> {
  return inDirectory(async (directory) =>
    Number(await program.run(optionsIn(directory, url, Number.MAX_SAFE_INTEGER))),
  );
}

/** Kills a process at a boundary, opens what it left in this process, and checks all that was acknowledged. */
export async function problemsOfKill({
  url,
  program,
  at,
  again,
  check = () => {},
}: Kill): Promise<readonly string[]> {
  return inDirectory(async (directory) => {
    const options = optionsIn(directory, url, at);
    await program.run(options);
    const ids = Object.fromEntries(ledgersOf(knowledgeIn(options)).map(({ name, id }) => [name, id]));
    if (again !== undefined) await program.run({ ...options, killAt: again, ids });
    const where = `killed at ${at}${again === undefined ? '' : ` and ${again}`}: `;
    const problems = (await problemsOf(options)).map((problem) => `${where}${problem}`);
    check({ directory: options.directory, problems, ids });
    return problems;
  });
}

async function problemsOf(options: ChildOptions): Promise<readonly string[]> {
  const { url, directory, effectsFile } = options;
  try {
    const gate = () => Promise.resolve();
    const host = await Host.open({ directory, agents: agentsIn(url, { effectsFile, gate }) });
    const reopened = { host, files: realFiles, directory, effectsFile, isLossy: false };
    const problems = await problemsAfter(reopened, knowledgeIn(options));
    await host.shutdown();
    return problems;
  } catch (thrown) {
    return [`it does not open: ${messageOf(thrown)}`];
  }
}

function optionsIn(directory: string, url: string, killAt: number): ChildOptions {
  const cwd = join(directory, 'work');
  mkdirSync(cwd);
  const effectsFile = join(directory, 'effects');
  writeFileSync(effectsFile, '');
  return {
    url,
    directory: join(directory, 'data'),
    cwd,
    effectsFile,
    ledger: join(directory, 'ledger'),
    killAt,
  };
}

function knowledgeIn({ ledger }: ChildOptions): readonly Known[] {
  if (!existsSync(ledger)) return [];
  const lines = readFileSync(ledger, 'utf8').split('\n').slice(0, -1);
  return lines.map((line): Known => JSON.parse(line));
}

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-kill-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
