import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { newHome } from './chat/chat-fixture.ts';
import { cliFixture } from './daemon.ts';
import { polypod } from './polypod.ts';

/** Every error is one sentence that starts with the command, without a stack trace. */
const SENTENCE = /^polypod(?: \w+)?: [^\n]+\n$/;

describe('wrong input is answered with one sentence and the next step', () => {
  it.each([
    [['attach', 'nosuch'], 'there is no session "nosuch"; polypod ls --all lists them'],
    [['rm', 'nosuch'], 'there is no session "nosuch"; polypod ls --all lists them'],
    [['logs', 'nosuch'], 'there is no session "nosuch"; polypod ls --all lists them'],
    [['run', '--offline', '--resume', 'nosuch', 'Go'], 'there is no session "nosuch"'],
    [['chat', '--offline', '--resume', 'nosuch'], 'there is no session "nosuch"'],
    [
      ['run', '--mode', 'wild', 'Go'],
      '--mode cannot be "wild": one of read-only, workspace-write, full-access',
    ],
    [['run', '--modle', 'x', 'Go'], 'unknown option --modle; did you mean --model?'],
    [['--mode', 'bogus'], '--mode without a command can only be rpc: polypod --mode rpc'],
    [['--model', 'x', 'run', 'Go'], '--model must follow the command: polypod COMMAND --model'],
    [
      ['task', 'bogus'],
      'there is no polypod task bogus: use submit, status, watch, cancel, list, approve or deny',
    ],
    [['new', '--name', 'x\u001b[31mred\ny'], 'without line breaks and control characters'],
    [
      ['keys', 'create', '--owner', 'o\u001b[31m\nx'],
      '--owner must be a name of at most 200 characters, without line',
    ],
    [['sevre'], 'there is no command "sevre"; did you mean serve?'],
    [['new', '--model', 'nosuch/thing'], 'no account is called "nosuch": there are anthropic, openai'],
    [['new', '--cwd', '/nowhere'], 'cannot work in /nowhere: there is no such directory'],
    [['status', 'nosuch'], 'status takes no argument, not "nosuch"'],
    [['stop', 'nosuch'], 'stop takes no argument, not "nosuch"'],
    [['doctor', 'nosuch'], 'doctor takes no argument, not "nosuch"'],
    [['log', 'verfy'], 'unknown action "verfy": use polypod log verify'],
    [['log', 'verify', '/etc/passwd'], '/etc/passwd is not a session or feed file'],
    [['completion', 'tcsh'], 'there is no completion for tcsh: polypod completion bash|zsh|fish'],
    [['approvals', 'list', '-m', 'why'], 'list takes no --comment; approve and deny do'],
    [['agent', 'stop', '--port', '1'], 'agent stop takes no --port; agent start does'],
    [['agent', 'list', '--no-auth'], 'agent list takes no --no-auth; agent start does'],
    [['keys', 'list', '--owner', 'ada'], '--owner is for keys create'],
    [['keys', 'revoke', 'x', '--directory', '.'], '--directory is for keys create'],
    [['attach', '/nowhere/x.sock'], 'no process listens on /nowhere/x.sock'],
  ])('%j', async (args, sentence) => {
    const { code, stdout, stderr } = await polypod(args, { env: newHome().env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).toMatch(SENTENCE);
  });

  it.each([
    ['modle: x\n', 'config.yaml:1:1: modle is not a key: did you mean "model"?'],
    [
      'version: 1\nlimits: { pods: many }\n',
      'config.yaml:2:17: limits.pods must be a whole number from 1 on',
    ],
    ['log: [\n', 'config.yaml:2:1: '],
  ])('a configuration with %j', async (text, sentence) => {
    const fixture = await cliFixture();
    fixture.configure(text);
    for (const args of [['serve'], ['run', '--offline', 'Go'], ['chat', '--offline']]) {
      const { code, stderr } = await fixture.polypod(...args);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) });
      expect(stderr).toMatch(SENTENCE);
    }
  });

  it('also by the daemon, and the command exits', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const { stdout: id } = await fixture.polypod('new', '--name', 'mine');
    const refused = await fixture.polypod('new', '--model', 'nosuch/thing');
    expect({ code: refused.code, stderr: refused.stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(SENTENCE),
    });
    expect(refused.stderr).toContain('no account is called "nosuch"');
    const odd = await fixture.polypod('new', '--name', 'x\u001b[31mred\ny');
    expect({ code: odd.code, stderr: odd.stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(SENTENCE),
    });
    expect((await fixture.polypod('ls', '--json')).stdout).not.toContain('red');
    expect((await fixture.polypod('stop', 'mine')).code).toBe(2);
    expect((await fixture.polypod('status')).code).toBe(0);
    expect((await fixture.polypod('rm', id.trim())).code).toBe(0);
  });

  it('if the home directory is read-only', async () => {
    const { home, env } = newHome();
    const file = join(home, 'file');
    writeFileSync(file, '');
    for (const args of [['new'], ['run', '--offline', 'Go'], ['serve']]) {
      const { code, stderr } = await polypod(args, { env: { ...env, XDG_DATA_HOME: file } });
      expect(code).toBe(2);
      expect(stderr).toContain(
        'a part of the path is a file. Put that right, or name another with --data-dir.',
      );
    }
  });
});
