import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { RpcClient } from '@mariozechner/pi-coding-agent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { start, temporaryDirectory } from '../../../cli/polypod.ts';
import { Program } from '../program.ts';

const PI = resolve('node_modules/@mariozechner/pi-coding-agent/dist/cli.js');
const SIM = ['--model', 'sim/offline'];

describe('with PI_CODING_AGENT_DIR set', () => {
  it("sessions are stored where pi looks: pi continues ours, and we continue pi's", async () => {
    const home = temporaryDirectory();
    const env = { HOME: home, PI_CODING_AGENT_DIR: join(home, 'agent') };
    const ours = new Program(SIM, env);
    await ours.run('one [[sim text=first]]');
    const { sessionFile, sessionId } = await ours.get('get_state');
    await ours.end();
    const directory = join(home, 'agent/sessions', `--${home.slice(1).replaceAll('/', '-')}--`);
    expect(dirname(String(sessionFile))).toBe(directory);
    const name = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d-]+Z_${String(sessionId)}\\.jsonl$`);
    expect(readdirSync(directory)).toEqual([expect.stringMatching(name)]);

    const pi = new RpcClient({
      cliPath: PI,
      cwd: home,
      env: { ...env, ANTHROPIC_API_KEY: 'any', PI_OFFLINE: '1' },
      args: ['--continue', '--provider', 'anthropic', '--model', 'claude-sonnet-4-5'],
    });
    await pi.start();
    onTestFinished(() => pi.stop());
    const state = await pi.getState();
    expect(state).toMatchObject({ sessionFile, sessionId, messageCount: 2 });
    await pi.setSessionName('named by pi');
    await pi.newSession();
    await pi.stop();

    const again = new Program([...SIM, '--continue'], env);
    expect(await again.get('get_state')).toMatchObject({
      sessionFile,
      sessionName: 'named by pi',
      messageCount: 2,
    });
    await again.get('new_session');
    await again.run('two [[sim text=second]]');
    await again.get('clone');
    await again.run('three [[sim text=third]]');
    expect(dirname(String((await again.get('get_state')).sessionFile))).toBe(directory);
    expect(readdirSync(directory).filter((file) => file.endsWith('.jsonl'))).toHaveLength(3);
    await again.end();
    const called = new Program([...SIM, '--session', String(sessionId).slice(0, 20)], env);
    expect(await called.get('get_state')).toMatchObject({ sessionFile });
  });

  it('sessions of a daemon are stored there too', async () => {
    const home = temporaryDirectory();
    const env = { HOME: home, POLYPOD_RUNTIME_DIR: join(home, 'run') };
    await start(['serve', '--json', '--offline'], env).waitForOutput('{"pid":');
    const program = new Program([], { ...env, XCSH_CODING_AGENT_DIR: join(home, 'agent') });
    await program.run('one [[sim text=first]]');
    const { sessionFile } = await program.get('get_state');
    // xcsh's name for the directory of the home directory.
    expect(dirname(String(sessionFile))).toBe(join(home, 'agent/sessions/-'));
    expect(readFileSync(String(sessionFile), 'utf8')).toContain('"text":"first"');
    await program.get('new_session');
    expect((await program.end()).code).toBe(0);
    expect(
      readdirSync(join(home, 'agent/sessions/-')).filter((name) => name.endsWith('.jsonl')),
    ).toHaveLength(1);
  });
});

describe('--session', () => {
  it('creates a missing file, and continues an existing one', async () => {
    const home = temporaryDirectory();
    const env = { HOME: home };
    // Without --model: a session with settings is written anyway.
    const first = new Program(['--offline', '--session', 'NEW.jsonl'], env);
    const file = join(home, 'NEW.jsonl');
    expect(await first.get('get_state')).toMatchObject({ sessionFile: file, messageCount: 0 });
    expect(existsSync(file)).toBe(true);
    await first.run('one [[sim text=first]]');
    await first.end();
    const again = new Program([...SIM, '--session', file], env);
    expect(await again.get('get_state')).toMatchObject({ sessionFile: file, messageCount: 2 });
  });

  it.each([
    ['./', 'is a directory: name a session file'],
    ['/dev/null', '/dev/null is not a regular file'],
    ['nobody', 'there is no session "nobody"'],
  ])('refuses %s', async (word, message) => {
    const program = new Program([...SIM, '--session', word]);
    const { code, stderr } = await program.finished;
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});
