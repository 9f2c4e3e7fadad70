import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import type { Tool, ToolOutput, ToolContext } from '../../src/tools/index.ts';

/** A directory with files, and everything that a call needs to work there. */
export interface ToolFixture {
  readonly directory: string;
  readonly context: ToolContext;
  /** The updates that the call sent. */
  readonly updates: string[];
  path(name: string): string;
  text(name: string): string;
  /** Runs a tool like the worker. */
  call(tool: Tool, input: unknown, signal?: AbortSignal): Promise<ToolOutput>;
}

/** Removed when the test ends. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'polypod-tools-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Creates the files; a name that ends with / is a directory. */
export function toolFixture(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  changes: Partial<ToolContext> = {},
): ToolFixture {
  const directory = temporaryDirectory();
  addFiles(directory, files);
  const updates: string[] = [];
  const context: ToolContext = {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '', HOME: directory },
    scratch: temporaryDirectory(),
    resolve: resolveInside(directory),
    callId: 'call-1',
    sandbox: undefined,
    update: (text) => updates.push(text),
    ...changes,
  };
  return {
    directory,
    context,
    updates,
    path: (name) => join(directory, name),
    text: (name) => readFileSync(join(directory, name), 'utf8'),
    call: (tool, input, signal) => callTool(tool, input, context, signal),
  };
}

export function addFiles(directory: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(path, content);
  }
}

export function makePipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
}

export async function callTool(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  signal = new AbortController().signal,
): Promise<ToolOutput> {
  const prepared = tool.prepare(input, context.cwd);
  if ('invalid' in prepared) throw new Error(prepared.invalid);
  return await prepared.run(context, signal);
}

/** Returns the message for invalid arguments; undefined if they are valid. */
export function invalidText(tool: Tool, input: unknown): string | undefined {
  const prepared = tool.prepare(input, '/');
  return 'invalid' in prepared ? prepared.invalid : undefined;
}

export function outputText(output: ToolOutput): string {
  return output.content.map((part) => (part.type === 'text' ? part.text : `<${part.mediaType}>`)).join('\n');
}

/** Allows all paths inside a directory by their real location, and no others. */
export function resolveInside(directory: string): ToolContext['resolve'] {
  return async (path) => {
    const real = await realLocation(path);
    if (real === directory || real.startsWith(`${directory}/`)) return real;
    throw new PolypodError('denied', `${path} is outside the directory`);
  };
}

/** Returns the real location of a path, also of a missing one. */
async function realLocation(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return join(await realLocation(dirname(path)), basename(path));
  }
}
