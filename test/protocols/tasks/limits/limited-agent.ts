import { readFileSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SimAnswer } from '../../../../src/sim/index.ts';
import { SocketClient } from '../../../wire/web-socket-client.ts';
import { type AgentFixture, agentFixture } from '../binary.ts';

/** The program's live memory after a garbage collection, and its processor time. */
export interface Usage {
  readonly live: number;
  readonly cpuMs: number;
}

/** The built program as an agent, with limits chosen by the test. */
export interface LimitedAgent {
  readonly fixture: AgentFixture;
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly usage: () => Promise<Usage>;
  /** An open WebSocket with the agent's key. */
  readonly socket: () => Promise<SocketClient>;
  /** A request with the agent's key, also over TLS. */
  readonly get: (path: string) => Promise<{ readonly status: number }>;
  /** Stops it as a user would. */
  readonly stop: () => Promise<void>;
}

export interface LimitedAgentOptions {
  readonly script?: readonly SimAnswer[];
  /** Writes the files that the configuration refers to, in its directory. */
  readonly prepare?: (directory: string) => void;
  readonly logLevel?: string;
}

/** Starts it with this agent-config.yaml. */
export async function limitedAgent(
  yaml: string,
  { script = [], prepare = () => {}, logLevel = 'info' }: LimitedAgentOptions = {},
): Promise<LimitedAgent> {
  const fixture = await agentFixture(script);
  prepare(fixture.home);
  const config = join(fixture.home, 'agent-config.yaml');
  writeFileSync(config, yaml, { mode: 0o600 });
  const heapFile = join(fixture.home, 'heap.json');
  const probe = pathToFileURL(resolve('test/protocols/tasks/limits/heap-probe.mjs')).href;
  const running = await fixture.agentWith(
    { NODE_OPTIONS: `--import=${probe}`, HEAP_FILE: heapFile },
    '--config',
    config,
    '--log-level',
    logLevel,
  );
  const { url, pid } = fixture.record();
  const key = readFileSync(fixture.keyFile, 'utf8').trim();
  let asked = 0;
  const usage = async (): Promise<Usage> => {
    asked += 1;
    process.kill(pid, 'SIGUSR2');
    for (;;) {
      const read = readUsage(heapFile);
      if (read?.count === asked) return read;
      if (running.child.exitCode !== null) throw new Error(`the agent ended: ${running.output().stderr}`);
      await new Promise((settle) => {
        setTimeout(settle, 10);
      });
    }
  };
  return {
    fixture,
    url,
    port: Number(new URL(url).port),
    key,
    usage,
    get: (path) =>
      new Promise((settle, reject) => {
        const options = { headers: { 'x-api-key': key }, rejectUnauthorized: false };
        const send = url.startsWith('https:') ? requestHttps : requestHttp;
        const sent = send(new URL(path, url), options, (response) => {
          response.resume();
          settle({ status: response.statusCode ?? 0 });
        });
        sent.on('error', reject);
        sent.end();
      }),
    stop: async () => {
      running.child.kill('SIGTERM');
      await running.finished;
    },
    socket: async () => {
      const client = new SocketClient(url, { Authorization: `Bearer ${key}` });
      await client.upgraded();
      return client;
    },
  };
}

function readUsage(file: string): (Usage & { readonly count: number }) | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Usage & { readonly count: number };
  } catch {
    // Not written yet, or not completely.
    return undefined;
  }
}

export const MEGABYTE = 1024 * 1024;
