import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { survivorsOf, token } from '../../tools/survivors.ts';
import { call, cliFixture, type CliFixture, textAnswer } from '../daemon.ts';
import { start } from '../polypod.ts';

const FULL = 'permissions: { mode: full-access, isolate_commands: off }\n';
const background = (mark: string) =>
  call('bash', {
    command: `(setsid sleep ${mark} > /dev/null 2>&1 &); sleep ${mark}`,
    background: true,
  });

/** The id of the only session. */
async function sessionOf(fixture: CliFixture): Promise<string> {
  const [session] = JSON.parse((await fixture.polypod('ls', '--json')).stdout) as { id: string }[];
  return session?.id ?? '';
}

describe('a background command', () => {
  it('of polypod run without a daemon ends with the program', async () => {
    const mark = token();
    const fixture = await cliFixture([background(mark), textAnswer('Started.')]);
    fixture.configure(FULL);
    const { code, stdout } = await fixture.polypod('run', '--model', 'anthropic/x', 'Go');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Started.\n' });
    expect(survivorsOf(mark)).toEqual([]);
    expect(readdirSync(join(fixture.dataDirectory, 'commands'))).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)(
    'of --mode rpc ends with %s, and its calls are events',
    async (signal) => {
      const mark = token();
      const fixture = await cliFixture([background(mark), textAnswer('Started.')]);
      fixture.configure(FULL);
      const rpc = start(['--mode', 'rpc', '--no-session', '--model', 'anthropic/x'], fixture.env);
      rpc.child.stdin.write('{"type":"prompt","id":"1","message":"Go"}\n');
      await rpc.waitForOutput('"type":"agent_end"');
      const { stdout } = rpc.output();
      expect(stdout).toMatch(/"type":"tool_execution_start".*"background":true/);
      expect(stdout).toMatch(/"type":"tool_execution_end".*running in the background as b/);
      expect(survivorsOf(mark)).not.toEqual([]);
      rpc.child.kill(signal);
      await rpc.finished;
      expect(survivorsOf(mark)).toEqual([]);
    },
  );

  it('of a daemon survives the client, and ends with the daemon, which informs the model later', async () => {
    const mark = token();
    const fixture = await cliFixture([background(mark), textAnswer('Started.'), textAnswer('Back.')]);
    fixture.configure(FULL);
    const daemon = await fixture.serve();
    const { stdout } = await fixture.polypod('run', '--model', 'anthropic/x', 'Go');
    expect(stdout).toBe('Started.\n');
    expect(survivorsOf(mark)).not.toEqual([]);
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect(survivorsOf(mark)).toEqual([]);
    await fixture.polypod('run', '--resume', await sessionOf(fixture), 'And now?');
    expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toMatch(
      /\[background command b\w+ \(.*\): ended because the session was closed after /,
    );
  });

  it('of a killed daemon is ended at the next start, and the model is informed', async () => {
    const mark = token();
    const fixture = await cliFixture([background(mark), textAnswer('Started.'), textAnswer('Back.')]);
    fixture.configure(FULL);
    const daemon = await fixture.serve();
    await fixture.polypod('run', '--model', 'anthropic/x', 'Go');
    daemon.child.kill('SIGKILL');
    await daemon.finished;
    expect(survivorsOf(mark)).not.toEqual([]);
    await fixture.serve();
    expect(survivorsOf(mark)).toEqual([]);
    await fixture.polypod('run', '--resume', await sessionOf(fixture), 'And now?');
    const request = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    expect(request).toMatch(/\[background command b\w+ \(.*\): The process that hosts this agent was killed/);
    expect(request).toContain(`sleep ${mark}`);
    expect(readdirSync(join(fixture.dataDirectory, 'commands'))).toEqual([]);
  });

  it('is refused beyond the configured number, and ends after the configured time', async () => {
    const [one, two] = [token(), token()];
    const fixture = await cliFixture([
      background(one),
      background(two),
      call('bash_output', { wait: 60, id: 'unknown' }),
      textAnswer('Done.'),
    ]);
    fixture.configure(`${FULL}limits: { background: { running: 1, time: 2s } }\n`);
    await fixture.serve();
    await fixture.polypod('run', '--model', 'anthropic/x', 'Go');
    const request = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    expect(request).toContain('it is ended after 2 seconds');
    expect(request).toContain('The limit of 1 background command at the same time is reached');
    expect(survivorsOf(two)).toEqual([]);
    await expect.poll(() => survivorsOf(one)).toEqual([]);
  });
});
