import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Setup } from '../../../src/daemon/setup.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { type CliFixture, call, cliFixture, isType, textAnswer, waitForEvent } from '../daemon.ts';
import { polypod, start } from '../polypod.ts';

const ADA = { by: 'ada', door: 'test' };

const prompt = (text: string) => ({ type: 'prompt', content: [{ type: 'text', text }] }) as const;

it('the daemon reloads its configuration when the file changes', async () => {
  const { configure, serve, link } = await cliFixture();
  const daemon = await serve();
  configure('permissions: { mode: read-only }\n');
  await daemon.waitForOutput('configuration reloaded');
  expect(await (await link()).call('configuration')).toMatchObject({ isChanged: false, needsRestart: [] });
});

it('the daemon keeps its configuration when the file becomes invalid, and run prints the line', async () => {
  const fixture = await cliFixture([textAnswer('Hello.')]);
  fixture.configure('permissions: { mode: read-only }\n');
  const daemon = await fixture.serve();
  fixture.configure('permissions:\n  mode: everything\n');
  await daemon.waitForOutput('the configuration was not reloaded');
  const { stderr, code } = await run(fixture);
  expect(stderr).toContain('the daemon uses an older configuration, because it cannot load the file');
  expect(stderr).toContain('config.yaml:2:9: permissions.mode');
  expect(code).toBe(0);
  fixture.configure('permissions: { mode: workspace-write }\n');
  await daemon.waitForOutput('configuration reloaded');
  expect((await fixture.polypod('status')).stderr).not.toContain('older configuration');
});

it('the daemon keeps its configuration when the file is removed', async () => {
  const fixture = await cliFixture();
  fixture.configure('permissions: { mode: read-only }\n');
  const daemon = await fixture.serve();
  rmSync(join(fixture.home, '.config/polypod/config.yaml'));
  // Also if a command asks before the daemon has noticed it.
  expect((await fixture.polypod('status')).code).toBe(0);
  await daemon.waitForOutput('is missing: the configuration stays as it was');
  expect((await fixture.polypod('status')).stderr).toContain('polypod reload applies the defaults');
  const reloaded = await fixture.polypod('reload');
  expect(reloaded).toMatchObject({ code: 0, stdout: 'applies to new runs: permissions\n' });
});

it('the daemon keeps its configuration when the file becomes a link to itself', async () => {
  const fixture = await cliFixture();
  fixture.configure('permissions: { mode: read-only }\n');
  const daemon = await fixture.serve();
  const file = join(fixture.home, '.config/polypod/config.yaml');
  rmSync(file);
  symlinkSync(file, file);
  await daemon.waitForOutput('the configuration was not reloaded');
  const { stdout, stderr, code } = await fixture.polypod('status');
  expect({ code, isReady: stdout.includes('ready') }).toEqual({ code: 0, isReady: true });
  expect(stderr).toContain('cannot load the file: cannot read the configuration: ELOOP');
  expect(JSON.stringify(daemon.output())).not.toContain('bug in Polypod');
});

it('a reload reports changed stream rules', async () => {
  const { configure, env } = await cliFixture();
  const { setup } = await Setup.load({ env, dataPaths: dataPathsFrom(env), offline: true });
  onTestFinished(() => setup.close());
  configure('stream_rules: [{ name: a, content: b, condition: [c] }]\n');
  expect(await setup.reload()).toMatchObject({ applied: [], forNewPods: ['stream_rules'] });
});

it('a default model that was unavailable before does not prevent a reload', async () => {
  const { configure, env } = await cliFixture();
  configure('model: openai/gpt-6.1-sol\n');
  const { setup } = await Setup.load({ env, dataPaths: dataPathsFrom(env) });
  onTestFinished(() => setup.close());
  configure('model: openai/gpt-6.1-sol\npermissions: { mode: read-only }\n');
  expect(await setup.reload()).toMatchObject({
    applied: ['permissions'],
    warnings: [expect.stringContaining('the default model is unavailable: no key for openai')],
  });
  configure('model: anthropic/x\n');
  await setup.reload();
  configure('model: openai/gpt-6.1-sol\npermissions: { mode: full-access }\n');
  await expect(setup.reload()).rejects.toThrow('no key for openai');
  expect(setup.config.permissions.mode).toBeUndefined();
});

it('polypod reload prints what applies and what needs a restart', async () => {
  const fixture = await cliFixture();
  expect(await fixture.polypod('reload')).toMatchObject({ code: 3 });
  await fixture.serve();
  fixture.configure(
    'permissions: { mode: read-only }\nlimits: { runs: 7 }\nmcp_servers: { x: { command: "true" } }\n',
  );
  // The daemon may have reloaded the file by itself; the restart is reported in any case.
  expect((await fixture.polypod('reload')).code).toBe(0);
  expect((await fixture.polypod('status')).stderr).toContain('the daemon applies the changed limits of ');
  fixture.configure('limits: [7]\n');
  const invalid = await fixture.polypod('reload');
  expect(invalid.stderr).toContain('config.yaml:1:9: limits must be a map');
  expect(invalid.code).toBe(2);
});

it('run uses a configuration that was saved a moment ago', async () => {
  const fixture = await cliFixture([textAnswer('Hello.')]);
  await fixture.serve();
  fixture.configure(
    `accounts: { mine: { wire: anthropic, base_url: "${fixture.sim.url}", key: "sk-test-of-mine" } }\n`,
  );
  const answer = await fixture.polypod('run', '-C', fixture.project, '-m', 'mine/x', 'Hi');
  expect(answer).toMatchObject({ code: 0, stdout: 'Hello.\n' });
});

it('a reload does not allow an active run more, and denies what the new file denies', async () => {
  const touch = (file: string) => call('bash', { command: `touch ${file}` });
  const fixture = await cliFixture([touch('one'), touch('two'), touch('three'), textAnswer('Done.')]);
  const daemon = await fixture.serve();
  const id = (await fixture.polypod('new', '-C', fixture.project, '-m', 'anthropic/x')).stdout.trim();
  const agent = await fixture.pod(id);
  await agent.handle(prompt('Make them'), ADA);
  const asked = async (after: number) => {
    const event = await waitForEvent(agent, (one) => one.type === 'approval-request' && one.seq > after);
    if (event.type !== 'approval-request') throw new Error('not asked');
    return event;
  };
  const first = await asked(0);
  fixture.configure(
    'permissions: { mode: full-access, rules: [{ command: touch two, action: auto }, { command: touch three, action: deny }] }\n',
  );
  await daemon.waitForOutput('configuration reloaded');
  await agent.handle({ type: 'decide', approvalId: first.approval.approvalId, decision: 'approve' }, ADA);
  const second = await asked(first.seq);
  expect(second.approval.title).toContain('touch two');
  await agent.handle({ type: 'decide', approvalId: second.approval.approvalId, decision: 'approve' }, ADA);
  await waitForEvent(agent, isType('run-end'));
  expect(readdirSync(fixture.project).toSorted()).toEqual(['one', 'two']);
});

it('says that the daemon lacks a key that the shell has, and what to do', async () => {
  const { env, sim, project, home, configure } = await cliFixture([textAnswer('Hello.')]);
  const { ANTHROPIC_API_KEY: key, ...without } = env;
  const daemon = start(['serve', '--json'], without);
  await daemon.waitForOutput('{"pid":');
  const named = await polypod(['run', '-C', project, '-m', 'anthropic/x', 'Hi'], { env });
  expect(named.stderr).toContain('no key for anthropic');
  expect(named.stderr).toContain('the daemon was started without ANTHROPIC_API_KEY, which this shell has');
  expect(named.stderr).toContain('polypod stop && polypod serve --detach');
  expect(named.code).toBe(2);
  const created = await polypod(['new', '-C', project, '-m', 'anthropic/x'], { env });
  expect(created.stderr).toContain('the daemon was started without ANTHROPIC_API_KEY');
  expect((await polypod(['status'], { env })).stderr).toContain('started without ANTHROPIC_API_KEY');
  const rejected = await polypod(['--mode', 'rpc', '--model', 'anthropic/x'], { env });
  expect(rejected).toMatchObject({ code: 1, stdout: '' });
  expect(rejected.stderr).toMatch(/the daemon was started without ANTHROPIC_API_KEY[^]*no key for anthropic/);
  configure('accounts: { work: { vendor: openai, key: x, headers: { X-Team: { env: TEAM_VALUE } } } }\n');
  const other = await polypod(['status'], { env: { ...without, TEAM_VALUE: 'blue' } });
  expect(other.stderr).toContain('the daemon was started without TEAM_VALUE');
  expect((await polypod(['status'], { env: without })).stderr).toBe('');
  expect(sim.requests).toHaveLength(0);
  expect(readFileSync(join(home, '.local/share/polypod/logs/polypod.log'), 'utf8')).not.toContain(key);
});

async function run({ polypod: command, project }: CliFixture) {
  return command('run', '-C', project, '-m', 'anthropic/x', 'Hi');
}

it('--mode rpc prints notices about the daemon on stderr, and only the protocol on stdout', async () => {
  const { env, configure, home } = await cliFixture();
  const { ANTHROPIC_API_KEY: _, ...without } = env;
  configure('version: 1\n');
  const daemon = start(['serve', '--json'], without);
  await daemon.waitForOutput('{"pid":');
  configure('version: 1\ndurability: none\n');
  const { code, stdout, stderr } = await polypod(['--mode', 'rpc', '--model', 'sim/offline'], { env });
  expect(code).toBe(0);
  for (const line of stdout.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  expect(stderr).toContain('the daemon was started without ANTHROPIC_API_KEY, which this shell has');
  expect(stderr).toContain(
    `the daemon applies the changed durability of ${join(home, '.config/polypod/config.yaml')} after a restart`,
  );
});
