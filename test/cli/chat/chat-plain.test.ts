import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calling, newHome } from './chat-fixture.ts';
import { survivorsOf, token } from '../../tools/survivors.ts';
import { polypod, start } from '../polypod.ts';

const lines = (...texts: readonly string[]) => texts.map((text) => `${text}\n`).join('');

function chat(input: string, ...args: readonly string[]) {
  const home = newHome();
  return polypod(['chat', '--offline', ...args, '--cwd', home.project], { env: home.env, input });
}

describe('polypod chat without a terminal', () => {
  it('sends each line when the previous one is done, and prints plain text', async () => {
    const { code, stdout, stderr } = await chat(
      lines("one [[sim text='**First** answer']]", '', '/mode read-only', "two [[sim text='Second']]"),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(
      lines(
        "❯ one [[sim text='**First** answer']]",
        '',
        '**First** answer',
        '',
        '· the mode is now read-only',
        '',
        "❯ two [[sim text='Second']]",
        '',
        'Second',
      ),
    );
  });

  it('makes the same call for every prompt that requests it: the loop guard counts within one run', async () => {
    const again = calling('ls', { path: '.' }, 'listed');
    const { code, stdout } = await chat(lines(again, again, again, again, again));
    expect(code).toBe(0);
    expect(stdout).not.toContain('Not run');
    expect(stdout.match(/✓/g)).toHaveLength(5);
  });

  it('takes the first prompt from the command line', async () => {
    const { code, stdout } = await chat('', 'hello [[sim text=there]]');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '❯ hello [[sim text=there]]\n\nthere\n' });
  });

  it('/tools lists the tools that the model receives, with what each does', async () => {
    const { code, stdout } = await chat(lines('/tools'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ *read +Reads a text file\b/m);
    for (const name of ['bash_output', 'subagent', 'todo', 'write'])
      expect(stdout).toMatch(new RegExp(`^\\W*${name} +\\S`, 'm'));
  });

  it('/commands lists and ends the background commands of the agent', async () => {
    const mark = token();
    const begin = calling('bash', { command: `sleep ${mark}`, background: true }, 'begun');
    const { code, stdout, stderr } = await chat(
      lines('/mode full-access', begin, '/commands', '/commands end', '/commands end all', 'hello'),
    );
    expect(code).toBe(2);
    expect(stdout).toMatch(new RegExp(`\\bb\\w+ +\\d+ s  sleep ${mark}\\n`));
    expect(stdout).toContain('/commands end ID ends one of them');
    expect(`${stdout}${stderr}`).toContain('the command is missing, as in /commands end ID');
    expect(stdout).toMatch(
      new RegExp(`background command b\\w+ \\(sleep ${mark}\\): ended by the user after`),
    );
    expect(survivorsOf(mark)).toEqual([]);
  });

  it('/undo names the background commands that go on', async () => {
    const mark = token();
    const begin = calling('bash', { command: `sleep ${mark}`, background: true }, 'begun');
    const { stdout } = await chat(lines('/mode full-access', begin, '/undo yes', '/commands end all'));
    expect(stdout).toContain('1 background command still running: /commands lists and ends them');
    expect(survivorsOf(mark)).toEqual([]);
  });

  it('p approves a call for all later sessions of the directory', async () => {
    const home = newHome();
    const make = calling('bash', { command: 'touch made.txt' }, 'after');
    const run = (input: string, cwd = home.project) =>
      polypod(['chat', '--offline', '--cwd', cwd], { env: home.env, input });
    expect((await run(lines(make, 'p'))).stdout).toContain(
      'approved, always in this project: bash touch made.txt',
    );
    const again = await run(lines(make));
    expect(again.code).toBe(0);
    expect(again.stdout).not.toContain('wants to run');
    const elsewhere = await run(lines(make), join(home.project, '..'));
    expect(elsewhere.stdout).toContain('wants to run');
    expect((await polypod(['rules', 'list'], { env: home.env })).stdout).toContain('touch made.txt');
  });

  it('reads the answer to an approval from the next line', async () => {
    const home = newHome();
    const make = (name: string) => calling('bash', { command: `node -e 0 > ${name}` }, `after ${name}`);
    const { code, stdout } = await polypod(['chat', '--offline', '--cwd', home.project], {
      env: home.env,
      input: lines(make('yes.txt'), 'perhaps', 'y', make('no.txt'), 'n leave it'),
    });
    expect(code).toBe(0);
    expect(stdout).toContain('· answer with y, a (always), p (in this project), or n and what to do instead');
    expect(stdout).toContain('· approved: bash node -e 0 > yes.txt\n');
    expect(stdout).toContain('· denied: bash node -e 0 > no.txt (leave it)\n');
    expect(stdout).toContain('after no.txt');
    expect(readdirSync(home.project)).toEqual(['yes.txt']);
  });

  it('denies calls that no one can approve, without the name of the user, and reports it in the exit code', async () => {
    const { code, stdout } = await chat(lines(calling('bash', { command: 'node -e 0' }, 'I could not')));
    expect(code).toBe(2);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      '· a chat without a person denied through terminal: bash node -e 0 (Nobody can be asked in this chat: find another way',
    );
    expect(stdout).not.toContain('ada denied');
    expect(stdout).toContain('I could not');
  });

  it('leaves approvals of an earlier run pending if it has no answer', async () => {
    const home = newHome();
    const args = ['chat', '--offline', '--cwd', home.project];
    const first = start([...args, '--name', 'kept'], home.env);
    first.child.stdin.write(lines(calling('bash', { command: 'node -e 0 > made.txt' }, 'done at last')));
    await first.waitForOutput('? bash wants to run');
    first.child.kill('SIGKILL');
    await first.finished;
    const resume = (input: string) =>
      polypod(['chat', '--offline', '--resume', 'kept'], { env: home.env, input });
    const left = await resume('');
    expect(left.code).toBe(2);
    expect(left.stdout).toContain('no one can answer here: the approval stays pending');
    const answered = await resume('y\n');
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining('done at last') });
    expect(readdirSync(home.project)).toEqual(['made.txt']);
  });

  it.each([
    ['the provider refuses the key', 'x [[sim fault=401]]', 2],
    ['the provider does not know what it was asked', 'x [[sim fault=404]]', 2],
    ['a command does not exist', '/modle a/b', 2],
  ])('the exit code reports the outcome when %s', async (_, input, expected) => {
    const { code, stdout } = await chat(lines(input, 'fine [[sim text=fine]]'));
    expect(code).toBe(expected);
    expect(stdout).toMatch(/^✗ /m);
    expect(stdout).toContain('\nfine\n');
  });

  it('suggests the closest command', async () => {
    expect((await chat('/modle\n')).stdout).toBe('✗ there is no command /modle; did you mean /model?\n');
  });

  it('is cancelled by an interrupt', async () => {
    const home = newHome();
    const { child, waitForOutput, finished } = start(['chat', '--offline', '--cwd', home.project], home.env);
    child.stdin.write('talk [[sim deltas=5000 delay=10]]\n');
    await waitForOutput('❯ talk');
    child.kill('SIGINT');
    expect((await finished).code).toBe(130);
  });

  it('runs a shell command of the user, lists sessions, exports, and forks', async () => {
    const home = newHome();
    const { code, stdout } = await polypod(['chat', '--offline', '--cwd', home.project], {
      env: home.env,
      input: lines(
        'hi [[sim text=ho]]',
        '!echo $((6 * 7))',
        '/name first',
        '/export out.md',
        '/export out.md',
        '/fork',
        '/sessions',
        '/cost',
      ),
    });
    // An existing file is not overwritten: the command fails.
    expect(code).toBe(2);
    expect(stdout).toContain('✓ ! echo $((6 * 7))');
    expect(stdout).toContain('  42\n');
    expect(stdout).toContain(`out.md already exists: choose another file`);
    expect(stdout.match(/hi \[\[sim text=ho\]\]/g)?.length).toBeGreaterThanOrEqual(4);
    expect(stdout).toContain('1 turn, 0 calls');
    expect(existsSync(join(home.project, 'out.md'))).toBe(true);
  });

  it('resumes an earlier session, and stores nothing with --no-session', async () => {
    const home = newHome();
    const run = (input: string, ...args: readonly string[]) =>
      polypod(['chat', '--offline', ...args], { env: home.env, input });
    await run('secret [[sim text=no]]\n', '--no-session');
    expect((await run('', '--continue')).stderr).toContain('there is no session in');
    await run('remember [[sim text=kept]]\n', '--name', 'herons');
    for (const option of [['--continue'], ['--resume', 'herons']]) {
      const stdout = '❯ remember [[sim text=kept]]\n\nkept\n';
      expect(await run('', ...option)).toEqual({ code: 0, stdout, stderr: '' });
    }
    expect(await run('', '--resume')).toMatchObject({
      code: 2,
      stderr: 'polypod chat: cannot ask for the session without a terminal: pass it as --resume ID\n',
    });
    expect((await run('', '--resume', 'heron')).stderr).toContain('did you mean herons?');
  });

  it.each([
    [['--offline', '--model', 'x'], '--offline and --model exclude each other'],
    [['--resume', 'x', '--continue'], '--resume and --continue exclude each other'],
    [['--continue', '--no-session'], '--continue and --no-session exclude each other'],
    [['--continue', '--name', 'x'], '--name is for a new session: leave out --continue'],
    [['--allow-path', '/not/there'], 'cannot allow /not/there'],
    [['--mcp-config', '/not/there'], 'cannot read the MCP servers'],
  ])('refuses %j', async (args, reason) => {
    const { code, stderr } = await polypod(['chat', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });

  it('reports an MCP server that fails, also late', async () => {
    const home = newHome();
    const file = join(home.home, 'servers.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { broken: { command: '/not/there' } } }));
    const { code, stdout } = await polypod(
      ['chat', '--offline', '--mcp-config', file, '--cwd', home.project, 'hi [[sim text=ho]]'],
      { env: home.env },
    );
    expect(code).toBe(0);
    expect(stdout).toContain('! MCP server broken failed');
    expect(stdout).toContain('\nho\n');
  });

  it('sends a referenced image', async () => {
    const home = newHome();
    writeFileSync(join(home.project, 'dot.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
    const { stdout } = await polypod(['chat', '--offline', '--cwd', home.project], {
      env: home.env,
      input: 'see @dot.png and @none.png [[sim text=seen]]\n',
    });
    expect(stdout).toContain('· with 1 image\n');
  });
});
