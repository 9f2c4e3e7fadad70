import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AgentRecord } from '../../../src/daemon/index.ts';
import type { Script } from '../../../src/sim/index.ts';
import { type CliFixture, cliFixture } from '../../cli/daemon.ts';
import { type Running, start } from '../../cli/polypod.ts';
import { Client } from './fixture.ts';

/** The built program as an agent over HTTP. */
export interface AgentFixture extends CliFixture {
  readonly keyFile: string;
  /** Starts it in the foreground and waits until it is ready; in the project's directory, on a free port. */
  readonly agent: (...args: readonly string[]) => Promise<Running>;
  /** The same with additional environment variables. */
  readonly agentWith: (env: Readonly<Record<string, string>>, ...args: readonly string[]) => Promise<Running>;
  readonly record: (name?: string) => AgentRecord;
  /** A client with a key; by default the key that the agent has created for its user. */
  readonly client: (key?: string) => Client;
  /** Creates a key with `polypod keys`. */
  readonly newKey: (...args: readonly string[]) => Promise<string>;
}

export async function agentFixture(script: Script = []): Promise<AgentFixture> {
  const fixture = await cliFixture(script);
  const tasks = join(fixture.dataDirectory, 'tasks');
  const keyFile = join(tasks, 'client.key');
  const record = (name = 'polypod'): AgentRecord =>
    JSON.parse(readFileSync(join(tasks, 'agents', `${name}.json`), 'utf8')) as AgentRecord;
  const agentWith: AgentFixture['agentWith'] = async (env, ...args) => {
    const port = args.includes('--port') ? [] : ['--port', '0'];
    const fixed = ['agent', 'start', '--foreground', '--json', '--cwd', fixture.project, ...port];
    const running = start([...fixed, ...args], { ...fixture.env, ...env });
    const end = running.finished.then(({ code, stderr }) => {
      throw new Error(`agent start ended with ${code}: ${stderr}`);
    });
    end.catch(() => {});
    await Promise.race([running.waitForOutput('{"pid":'), end]);
    return running;
  };
  return {
    ...fixture,
    keyFile,
    record,
    agentWith,
    agent: (...args) => agentWith({}, ...args),
    client: (key) => new Client(() => record().url, key ?? readFileSync(keyFile, 'utf8').trim()),
    newKey: async (...args) => {
      const { code, stdout, stderr } = await fixture.polypod('keys', 'create', ...args);
      if (code !== 0) throw new Error(stderr);
      return stdout.trim();
    },
  };
}

/** Kills a background process when the test ends, if it is still running. */
export function endLater(pid: number): void {
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already exited, as expected.
    }
  });
}
