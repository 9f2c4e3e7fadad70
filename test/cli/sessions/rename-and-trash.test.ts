import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, cliFixture, isType, textAnswer, waitForEvent } from '../daemon.ts';
import { start } from '../polypod.ts';

const MODEL = ['-m', 'anthropic/x'];

describe('polypod rename', () => {
  it('renames a session without a daemon, and the name can contain spaces', async () => {
    const { polypod: run } = await cliFixture();
    const id = (await run('new', '-n', 'draft')).stdout.trim();
    expect(await run('rename', 'draft', 'second draft')).toMatchObject({
      code: 0,
      stderr: `polypod: renamed ${id} to second draft\n`,
    });
    expect((await run('ls')).stdout).toContain('second draft');
    expect(await run('rename', '--json', id.slice(0, 13), 'third')).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ id, name: 'third' })}\n`,
    });
  });

  it('lets the daemon rename a session, with an event for its watchers and a new link of its socket', async () => {
    const { polypod: run, serve, pod, home } = await cliFixture();
    await serve();
    const id = (await run('new', '-n', 'draft')).stdout.trim();
    expect((await run('rename', 'draft', 'final')).code).toBe(0);
    const renamed = await waitForEvent(
      await pod(id),
      (event) => event.type === 'settings' && event.settings.name === 'final',
    );
    expect(renamed).toMatchObject({ by: 'ada', door: 'control' });
    const pods = join(home, '.local/share/polypod/run/pods');
    while (!existsSync(join(pods, 'final.sock'))) await new Promise((settle) => setImmediate(settle));
    expect(readdirSync(pods)).not.toContain('draft.sock');
  });

  it('lets another process rename the session that it has open', async () => {
    const { polypod: run, env, project } = await cliFixture([call('bash', { command: 'sleep 60' })]);
    const running = start(
      ['run', '-C', project, ...MODEL, '--mode', 'full-access', '--json', '-n', 'here', 'Go'],
      env,
    );
    await running.waitForOutput('"type":"tool-start"');
    // The control socket is opened while the run starts; the run does not wait for it.
    while ((await run('rename', 'here', 'there')).code !== 0);
    await running.waitForOutput('"name":"there"');
    running.child.kill('SIGINT');
    await running.finished;
  });

  it.each([
    [[], 'the session or the new name is missing: polypod rename ID NEW-NAME'],
    [['one'], 'the session or the new name is missing'],
    [['nobody', 'x'], 'there is no session "nobody"'],
    [['one', ' '], 'the new name is empty'],
    [['one', 'two'], 'the name "two" is used by the session'],
    [['one', 'a', 'b'], 'quote a name with spaces: polypod rename one "a b"'],
    [['one', 'a\nb'], 'without line breaks'],
  ])('rejects %j with the next step', async (args, sentence) => {
    const { polypod: run } = await cliFixture();
    await run('new', '-n', 'one');
    await run('new', '-n', 'two');
    const { code, stderr } = await run('rename', ...args);
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
  });
});

describe('polypod trash', () => {
  it.each(['with', 'without'])(
    'lists a removed session and restores its conversation, %s a daemon',
    async (how) => {
      const answers = [textAnswer('Hello Ada.'), textAnswer('You are Ada.')];
      const { polypod: run, serve, project, sim } = await cliFixture(answers);
      if (how === 'with') await serve();
      await run('run', '-C', project, ...MODEL, '-n', 'ada', 'I am Ada');
      const [row] = JSON.parse((await run('ls', '--json')).stdout) as { id: string }[];
      const id = row?.id ?? '';
      await run('rm', '-y', 'ada');
      expect((await run('ls')).stdout).toBe('');
      const listed = await run('trash');
      expect(listed.stdout).toMatch(/id +name +removed +deleted after +directory +about\n/);
      expect(listed.stdout).toMatch(/ada .*I am Ada\n$/);
      expect(JSON.parse((await run('trash', 'list', '--json')).stdout)).toMatchObject([{ id, name: 'ada' }]);
      expect(await run('trash', 'restore', 'ada')).toMatchObject({
        code: 0,
        stderr: `polypod: restored ${id}  ada\n`,
      });
      expect(await run('trash')).toMatchObject({ code: 0, stdout: '', stderr: 'the trash is empty\n' });
      expect(await run('run', '-q', '--resume', 'ada', 'Who am I?')).toMatchObject({
        code: 0,
        stdout: 'You are Ada.\n',
      });
      expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('I am Ada');
    },
  );

  it('refuses to restore a session whose name is in use, with the next step, and changes nothing', async () => {
    const { polypod: run, serve } = await cliFixture();
    const old = (await run('new', '-n', 'plan')).stdout.trim();
    await run('rm', '-y', 'plan');
    const other = (await run('new', '-n', 'plan')).stdout.trim();
    const refusal = {
      code: 2,
      stderr: `polypod trash: the name "plan" is used by the session ${other}: rename that one first: polypod rename ${other} NEW-NAME\n`,
    };
    expect(await run('trash', 'restore', old)).toMatchObject(refusal);
    await serve();
    expect(await run('trash', 'restore', old)).toMatchObject(refusal);
    await run('rename', other, 'second plan');
    expect((await run('trash', 'restore', old)).code).toBe(0);
    expect((await run('sessions', 'show', 'plan')).stdout).toContain(old);
  });

  it('makes a restored session visible to the clients of the daemon', async () => {
    const { polypod: run, serve, pod, home } = await cliFixture();
    await serve();
    const id = (await run('new', '-n', 'plan')).stdout.trim();
    await run('rm', '-y', 'plan');
    const socket = join(home, '.local/share/polypod/run/pods/plan.sock');
    while (existsSync(socket)) await new Promise((settle) => setImmediate(settle));
    await run('trash', 'restore', 'plan');
    while (!existsSync(socket)) await new Promise((settle) => setImmediate(settle));
    await waitForEvent(await pod(id), isType('settings'));
  });

  it.each([
    [['restore'], 'the session is missing: polypod trash restore ID'],
    [['restore', 'x'], 'the trash is empty: there is nothing to restore'],
    [['empty'], 'trash cannot "empty": polypod trash list, or polypod trash restore ID'],
  ])('rejects %j, and creates no files', async (args, sentence) => {
    const { polypod: run, dataDirectory } = await cliFixture();
    const { code, stderr } = await run('trash', ...args);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
    expect((await run('trash')).stderr).toBe('the trash is empty\n');
    expect(existsSync(dataDirectory)).toBe(false);
  });
});
