import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { contentText } from '../../src/llm/index.ts';
import {
  type Clock,
  type McpServerSpec,
  McpServers,
  type McpServerStatus,
  type McpHostContext,
  type McpTuning,
  type StdioSpec,
} from '../../src/mcp/index.ts';
import type { ToolOutput, ToolContext } from '../../src/tools/index.ts';

const require = createRequire(import.meta.url);

/** The official server that demonstrates every feature. */
export const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-mcp-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function stdio(args: readonly string[], more: Partial<StdioSpec> = {}): StdioSpec {
  return {
    transport: 'stdio',
    name: 'test',
    command: process.execPath,
    args,
    env: {},
    passEnv: [],
    ...more,
  };
}

/** A scripted server whose code may replace tools and methods. */
export function scripted(code: string, more: Partial<StdioSpec> = {}): StdioSpec {
  const file = join(temporaryDirectory(), 'server.mjs');
  writeFileSync(file, `${SERVER}\n${code}`);
  return stdio([file], more);
}

const SERVER = `
import { spawn } from 'node:child_process';
import { closeSync, existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (text) => ({ content: [{ type: 'text', text }] });
const tool = (name, more) => ({ name, inputSchema: { type: 'object' }, ...more });
let tools = [tool('echo')];
const methods = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'scripted', version: '1.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ params }) => text(JSON.stringify(params.arguments)),
};
createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  const result = await methods[message.method]?.(message);
  if (message.id !== undefined && result !== undefined) send({ id: message.id, result });
});
`;

export interface McpFixture {
  readonly servers: McpServers;
  /** All reported statuses, in order. */
  readonly statuses: readonly McpServerStatus[];
  /** Returns the first matching status from now on, or the current one. */
  readonly until: (matches: (status: McpServerStatus) => boolean) => Promise<McpServerStatus>;
  /** Calls a tool like a worker does. */
  readonly call: (name: string, input?: unknown, options?: Partial<CallOptions>) => Promise<ToolOutput>;
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly update: (text: string) => void;
}

/** Creates servers for one test. */
export function mcpFixture(
  specs: readonly McpServerSpec[],
  tuning: Partial<McpTuning> = {},
  more: Partial<McpHostContext> = {},
): McpFixture {
  const opened = openMcpFixture(specs, temporaryDirectory(), tuning, more);
  onTestFinished(() => opened.servers.close());
  return opened;
}

/** Creates servers that the caller closes. */
export function openMcpFixture(
  specs: readonly McpServerSpec[],
  scratch: string,
  tuning: Partial<McpTuning> = {},
  more: Partial<McpHostContext> = {},
): McpFixture {
  const statuses: McpServerStatus[] = [];
  const waiting = new Set<(status: McpServerStatus) => void>();
  const servers = new McpServers(
    specs,
    {
      env: { PATH: process.env.PATH },
      secretEnv: [],
      cwd: scratch,
      clientVersion: '0.0.0',
      onChange: (status) => {
        statuses.push(status);
        for (const onStatus of waiting) onStatus(status);
      },
      ...more,
    },
    { graceMs: 300, ...tuning },
  );
  return {
    servers,
    statuses,
    until: (matches) =>
      new Promise((resolve) => {
        const onStatus = (status: McpServerStatus): void => {
          if (!matches(status)) return;
          waiting.delete(onStatus);
          resolve(status);
        };
        waiting.add(onStatus);
        for (const status of servers.status()) onStatus(status);
      }),
    call: async (name, input = {}, { signal = new AbortController().signal, update = () => {} } = {}) => {
      const tool = (await servers.tools()).find((candidate) => candidate.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const prepared = tool.prepare(input, scratch);
      if ('invalid' in prepared) throw new Error(prepared.invalid);
      return prepared.run(toolContext(scratch, update), signal);
    },
  };
}

function toolContext(scratch: string, update: (text: string) => void): ToolContext {
  return {
    cwd: scratch,
    env: {},
    scratch,
    resolve: () => Promise.reject(new Error('an MCP tool must not access our files')),
    callId: 'call-1',
    sandbox: undefined,
    update,
  };
}

export function outputText(output: ToolOutput): string {
  return contentText(output.content);
}

/** A clock that stands still until the test advances it. */
export class StoppedClock implements Clock {
  time = 0;
  readonly slept: number[] = [];
  #sleepers: (() => void)[] = [];

  now = (): number => this.time;

  sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    this.slept.push(ms);
    return new Promise((resolve) => {
      this.#sleepers.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  };

  /** Ends all pending sleeps. */
  wake(): void {
    for (const sleeper of this.#sleepers.splice(0)) sleeper();
  }
}

/** Lets a scripted server report a process id. */
export interface PidServer {
  /** Code that reports it. */
  readonly report: (pid: string) => string;
  /** Returns the next reported id. */
  readonly next: () => Promise<number>;
}

export async function pidServer(): Promise<PidServer> {
  const reported: number[] = [];
  const waiting: ((pid: number) => void)[] = [];
  const server = createServer((socket) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      const resolve = waiting.shift();
      if (resolve === undefined) reported.push(Number(text));
      else resolve(Number(text));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    report: (pid) => `connect(${port}, '127.0.0.1').end(String(${pid}));`,
    next: () => {
      const pid = reported.shift();
      return pid === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(pid);
    },
  };
}

/** Returns whether a process runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
