import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { sealRecords } from '../../../src/store/index.ts';
import { call, textAnswer, cliFixture } from '../daemon.ts';
import { start } from '../polypod.ts';

interface Listed {
  readonly id: string;
  readonly name?: string;
  readonly state: string;
  readonly cwd: string;
  readonly model?: string;
  readonly firstPrompt?: string;
}

const listed = (stdout: string) => JSON.parse(stdout) as readonly Listed[];

/** Rows as the catalogue stores them; the last one was changed last. */
function catalogueOf(
  dataDirectory: string,
  count: number,
  row: (at: number) => object = () => ({}),
): readonly string[] {
  mkdirSync(dataDirectory, { recursive: true });
  const ids = Array.from(
    { length: count },
    (_, at) => `01a1de9a-${(0x1000 + at).toString(16)}-7000-8000-${String(at).padStart(12, '0')}`,
  );
  const rows = ids.map((id, at) => ({
    ...{
      id,
      file: `sessions/${id}.jsonl`,
      cwd: `/projects/${at % 7}`,
      state: 'idle',
      archived: false,
      queued: 0,
    },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: new Date(1.7e12 + at * 1000).toISOString() },
    ...{ approvals: [], tasks: [], firstPrompt: `Task number ${at}` },
    totals: {
      turns: 1,
      toolCalls: 0,
      inputTokens: 1,
      outputTokens: 1,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      cost: at / 100,
    },
    ...row(at),
  }));
  const records = [{ type: 'catalogue', version: 1 }, ...rows.map((one) => ({ type: 'row', row: one }))];
  writeFileSync(
    join(dataDirectory, 'catalogue.jsonl'),
    sealRecords(records.map((record) => JSON.stringify(record))),
  );
  return ids;
}

describe('polypod new, ls and rm', () => {
  it.each(['without a daemon', 'with a daemon'])('create, list and remove sessions %s', async (how) => {
    const { serve, polypod: run, project, dataDirectory } = await cliFixture();
    if (how === 'with a daemon') await serve();
    const made = await run(
      'new',
      '-C',
      project,
      '-n',
      'tea pot',
      '-m',
      'anthropic/claude-x',
      '--mode',
      'read-only',
    );
    expect(made).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    const id = made.stdout.trim();
    const other = (JSON.parse((await run('new', '--json')).stdout) as { id: string }).id;
    const rows = listed((await run('ls', '--json')).stdout);
    expect(rows.map((row) => row.id).toSorted()).toEqual([id, other].toSorted());
    expect(rows.find((row) => row.id === id)).toMatchObject({
      name: 'tea pot',
      state: 'idle',
      cwd: project,
      model: 'anthropic/claude-x',
    });
    expect((await run('ls')).stdout).toMatch(/^id +name +state +age +cost +asked +directory +about\n/);
    expect((await run('ls')).stdout).toContain('tea pot  idle');

    expect(await run('rm', 'tea bot')).toMatchObject({
      code: 2,
      stderr: 'polypod rm: there is no session "tea bot"; did you mean tea pot?\n',
    });
    expect(await run('rm', 'tea pot', other)).toMatchObject({
      code: 0,
      stderr: `polypod: moved ${id} to the trash\npolypod: moved ${other} to the trash\n`,
    });
    expect(await run('ls', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
    expect((await run('ls')).stderr).toContain('no sessions; polypod run starts one');
    const trash = readdirSync(join(dataDirectory, 'trash'));
    expect(trash.map((name) => name.replace(/^\d+-/, '')).toSorted()).toEqual([id, other].toSorted());
  });

  it('accept the short id that ls shows and a unique id prefix, and reject an ambiguous one', async () => {
    const { polypod: run } = await cliFixture();
    const first = (await run('new')).stdout.trim();
    const second = (await run('new')).stdout.trim();
    expect(await run('rm', first.slice(0, 3))).toMatchObject({
      code: 2,
      stderr: `polypod rm: "${first.slice(0, 3)}" matches 2 sessions: ${second}, ${first}. Use more characters of the id.\n`,
    });
    const [, shown = ''] = (await run('ls')).stdout.split('\n');
    const [short = ''] = shown.split(' ');
    expect(short).toBe(second.slice(-8));
    expect((await run('sessions', 'show', first.slice(0, 20))).stdout).toContain(first);
    expect((await run('sessions', 'show', first.slice(-8))).stdout).toContain(first);
    expect((await run('rm', short)).code).toBe(0);
    expect(listed((await run('ls', '--json')).stdout).map(({ id }) => id)).toEqual([first]);
  });

  it('do not remove a session that another process has open', async () => {
    const { env, polypod: run, project } = await cliFixture([call('bash', { command: 'sleep 60' })]);
    const running = start(
      ['run', '-C', project, '-m', 'anthropic/x', '--mode', 'full-access', '-n', 'busy', 'Go'],
      env,
    );
    await running.waitForOutput('sleep 60');
    const { code, stderr } = await run('rm', 'busy');
    expect(code).toBe(2);
    expect(stderr).toContain(`is in use by process ${running.child.pid}: end it there first`);
    expect(listed((await run('ls', '--json')).stdout)).toMatchObject([{ name: 'busy', state: 'running' }]);
    running.child.kill('SIGKILL');
    await running.finished;
    expect(listed((await run('ls', '--json')).stdout)).toMatchObject([
      { name: 'busy', state: 'interrupted' },
    ]);
    expect((await run('ls')).stdout).toContain('interrupted');
  });

  it('list a thousand sessions, each once, most recently changed first, and find one of them', async () => {
    const { polypod: run, dataDirectory } = await cliFixture();
    const ids = catalogueOf(dataDirectory, 1000, (at) => ({
      archived: at % 10 === 0,
      ...(at === 77 ? { name: '日本語の名前' } : {}),
    }));
    const all = listed((await run('ls', '--all', '--json')).stdout);
    expect(all.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(listed((await run('ls', '--json')).stdout)).toHaveLength(900);
    expect((await run('ls')).stdout.trimEnd().split('\n')).toHaveLength(901);
    expect(listed((await run('ls', '--json', '--limit', '3')).stdout).map(({ id }) => id)).toEqual(
      ids.slice(-3).toReversed(),
    );
    expect(listed((await run('ls', '--json', '--search', 'NUMBER 998')).stdout)).toMatchObject([
      { firstPrompt: 'Task number 998' },
    ]);
    expect(listed((await run('ls', '--json', '-s', '日本語')).stdout)).toMatchObject([{ id: ids[77] }]);
  });

  it('reject a catalogue of a newer version and do not change it', async () => {
    const { polypod: run, dataDirectory } = await cliFixture();
    mkdirSync(dataDirectory, { recursive: true });
    const file = join(dataDirectory, 'catalogue.jsonl');
    writeFileSync(file, sealRecords([JSON.stringify({ type: 'catalogue', version: 2 })]));
    const before = readFileSync(file);
    expect(await run('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('update polypod') });
    expect(readFileSync(file)).toEqual(before);
  });
});

describe('polypod logs', () => {
  it('prints the events of a pod by number, and follows them', async () => {
    const { env, polypod: run, project } = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await run('run', '-q', '-C', project, '-m', 'anthropic/x', '-n', 'talker', 'First');
    const all = (await run('logs', '--json', 'talker')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; type: string });
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1));
    expect(all.map(({ type }) => type)).toContain('run-end');
    const last = all.length;
    expect((await run('logs', 'talker', '-n', '2')).stdout.trimEnd().split('\n')).toHaveLength(2);
    expect((await run('logs', 'talker')).stdout).toMatch(/\n +\d+ {2}run-end {12}finished\n/);

    const following = start(['logs', '-f', '--json', '--after', String(last), 'talker'], env);
    await run('run', '-q', '--resume', 'talker', 'Second');
    await following.waitForOutput('"run-end"');
    const more = following
      .output()
      .stdout.trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(more).toEqual(more.map((_, at) => last + 1 + at));
    following.child.kill('SIGINT');
    expect((await following.finished).code).toBe(0);
  });

  it('prints the log of the daemon, formatted or as JSON, and follows it', async () => {
    const { env, serve, polypod: run } = await cliFixture();
    expect((await run('logs')).stderr).toContain('no daemon has logged anything');
    const daemon = await serve();
    const following = start(['logs', '-f'], env);
    await following.waitForOutput('ready');
    daemon.child.kill('SIGHUP');
    await following.waitForOutput('configuration reloaded');
    const [line = ''] = (await run('logs', '--json', '-n', '1')).stdout.split('\n');
    expect(JSON.parse(line)).toMatchObject({ level: 'info', message: 'configuration reloaded' });
  });
});

describe('polypod log verify', () => {
  it('finds damaged lines, and counts lines that cannot be verified', async () => {
    const { polypod: run, project, dataDirectory } = await cliFixture([textAnswer('One.')]);
    await run('run', '-q', '-C', project, '-m', 'anthropic/x', '-n', 'kept', 'First');
    const good = await run('log', 'verify');
    expect(good).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^2 files: \d+ lines verified, 0 cannot be verified, 0 are damaged\n$/),
    });

    const [name = ''] = readdirSync(join(dataDirectory, 'sessions'));
    const file = join(dataDirectory, 'sessions', name);
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, lines.map((line, at) => (at === 2 ? line.replace('"', "'") : line)).join('\n'));
    appendFileSync(file, '{"type":"custom","id":"foreign","parentId":null}\n');
    const bad = await run('log', 'verify', 'kept');
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain(`${file}:3: damaged: not what was written\n`);
    expect(bad.stdout).toContain('1 cannot be verified, 1 is damaged');
    const json = JSON.parse((await run('log', 'verify', '--json', file)).stdout) as object;
    expect(json).toMatchObject({
      files: 1,
      unverified: 1,
      damaged: 1,
      bad: [{ file, line: 3, status: 'corrupt' }],
    });
  });

  it('an unfinished last line is the result of a crash, not damage', async () => {
    const { polypod: run, project, dataDirectory } = await cliFixture([textAnswer('One.')]);
    await run('run', '-q', '-C', project, '-m', 'anthropic/x', 'First');
    const [name = ''] = readdirSync(join(dataDirectory, 'sessions'));
    const file = join(dataDirectory, 'sessions', name);
    truncateSync(file, readFileSync(file).length - 5);
    const { code, stdout } = await run('log', 'verify', file);
    expect(code).toBe(0);
    expect(stdout).toContain('unfinished: truncated when the session is opened next');
  });

  it('explains its actions', async () => {
    const { polypod: run } = await cliFixture();
    expect(await run('log', 'check')).toMatchObject({
      code: 2,
      stderr:
        'polypod log: unknown action "check": use polypod log verify or polypod log repair; polypod logs shows events\n',
    });
  });
});

describe('polypod doctor', () => {
  it('reports no problem on a sound installation, and never prints a key', async () => {
    const { polypod: run, env } = await cliFixture();
    const { code, stdout } = await run('doctor');
    expect(code).toBe(0);
    expect(stdout).toContain('providers: a key is available for anthropic');
    expect(stdout).not.toContain(env.ANTHROPIC_API_KEY);
    const findings = JSON.parse((await run('doctor', '--json')).stdout) as { check: string; state: string }[];
    expect(findings.map(({ check }) => check)).toEqual([
      'configuration',
      'models',
      'providers',
      'data directory',
      'disk',
      'daemon',
      'locks',
      'catalogue',
      'sessions',
      'sandbox',
      'commands',
      'limits',
      'environment',
      'audit log',
    ]);
    // Without a working bubblewrap, commands are not isolated, and the output says so.
    const others = findings.filter(({ check }) => check !== 'commands' && check !== 'sandbox');
    expect(others.every(({ state }) => state === 'ok')).toBe(true);
  });

  it('reports an invalid configuration and a missing key', async () => {
    const { configure, polypod: run } = await cliFixture();
    configure('accounts: { work: { vendor: groq, key_env: NOWHERE } }\n');
    const { code, stdout } = await run('doctor');
    expect(code).toBe(0);
    expect(stdout).toContain('warning  providers: no key for the account work\n          next: ');
    configure('modle: x\n');
    const bad = await run('doctor');
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(
      /bad {6}configuration: .*config\.yaml:1:1: modle is not a key: did you mean "model"\?\n {10}next: correct /,
    );
  });

  it('rebuilds the catalogue from the session files', async () => {
    const { polypod: run, project, dataDirectory } = await cliFixture([textAnswer('One.')]);
    await run('run', '-q', '-C', project, '-m', 'anthropic/x', '-n', 'kept', 'First words');
    rmSync(join(dataDirectory, 'catalogue.jsonl'));
    const bad = await run('doctor');
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain('catalogue: 1 session files are not in it');
    expect(bad.stdout).toContain('next: polypod doctor --rebuild');
    const rebuilt = await run('doctor', '--rebuild');
    expect(rebuilt).toMatchObject({ code: 0, stderr: 'polypod: the catalogue has 1 sessions now\n' });
    expect(listed((await run('ls', '--json')).stdout)).toMatchObject([
      { name: 'kept', firstPrompt: 'First words' },
    ]);
  });
});

describe('polypod completion', () => {
  it.each(['bash', 'zsh', 'fish'])('%s knows every command and option', async (shell) => {
    const { polypod: run } = await cliFixture();
    const { code, stdout } = await run('completion', shell);
    expect(code).toBe(0);
    for (const word of [
      'serve',
      'doctor',
      'ls',
      'run',
      'completion',
      'data-dir',
      'workspace-write',
      'verify',
    ])
      expect(stdout).toContain(word);
  });

  it('completes commands, options, choices and sessions in bash', async () => {
    const { polypod: run, home, env } = await cliFixture();
    await run('new', '-n', 'teapot');
    const script = join(home, 'completion.bash');
    writeFileSync(script, (await run('completion', 'bash')).stdout);
    const bin = join(home, 'bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'polypod'),
      `#!/bin/sh\nexec "${process.execPath}" "${join(process.cwd(), 'dist/cli/main.js')}" "$@"\n`,
      { mode: 0o755 },
    );
    const complete = (...words: readonly string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `source ${script}; COMP_WORDS=(polypod ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _polypod; printf '%s\\n' "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8', env: { ...env, PATH: `${bin}:${process.env.PATH}` } },
      )
        .trim()
        .split('\n');
    expect(complete('ser')).toEqual(['serve']);
    expect(complete('serve', '--det')).toEqual(['--detach']);
    expect(complete('run', '--mode', 'full')).toEqual(['full-access']);
    expect(complete('rm', 'tea')).toEqual(['teapot']);
    expect(complete('run', '--resume', 'tea')).toEqual(['teapot']);
    expect(complete('chat', '-r', 'tea')).toEqual(['teapot']);
    expect(complete('ask', '-m', 'anthropic/claude-opus-5-')).toEqual(['anthropic/claude-opus-5-5']);
    expect(complete('run', '--backend', 'claude')).toEqual(['claude', 'claude-acp']);
    expect(complete('backends', 'open')).toEqual(['opencode']);
    expect(complete('mcp', 'st')).toEqual(['status']);
    expect(complete('sessions', 'sh')).toEqual(['show']);
    expect(complete('sessions', 'show', 'sh')).toEqual(['']);
    expect(complete('sessions', 'show', 'tea')).toEqual(['teapot']);
    const [, key = ''] = (await run('keys', 'create', '--owner', 'ci')).stdout.split('_');
    expect(complete('keys', 'rev')).toEqual(['revoke']);
    expect(complete('keys', 'revoke', key.slice(0, 4))).toEqual([key]);
    expect(complete('keys', 'list', key.slice(0, 4))).toEqual(['']);
    expect(complete('keys', 'revoke', 'rev')).toEqual(['']);
    await run('new', '-n', 'kitchen table');
    await run('new', '-n', "it's $(touch pwned)`touch pwned`");
    expect(complete('rm', 'kit')).toEqual([String.raw`kitchen\ table`]);
    expect(complete('rm', String.raw`kitchen\ t`)).toEqual([String.raw`kitchen\ table`]);
    expect(complete('rm', '"kitchen t')).toEqual(['kitchen table']);
    expect(complete('rename', 'kit')).toEqual([String.raw`kitchen\ table`]);
    expect(complete('rm', 'it')).toEqual([String.raw`it\'s\ \$\(touch\ pwned\)\`touch\ pwned\``]);
    expect(complete('rm', '"it')).toEqual(['']);
    expect(existsSync('pwned')).toBe(false);
    await run('rm', '-y', 'kitchen table');
    expect(complete('trash', 'restore', 'kit')).toEqual([String.raw`kitchen\ table`]);
    // A name that two sessions share is not completed.
    const sameName = (await run('new', '-n', 'teapot')).stdout.trim();
    expect(complete('rm', 'tea')).toEqual(['']);
    expect(complete('rm', sameName)).toEqual([sameName]);
  });

  it('requires a shell', async () => {
    const { polypod: run } = await cliFixture();
    expect(await run('completion')).toMatchObject({
      code: 2,
      stderr: 'polypod completion: the shell is missing: polypod completion bash|zsh|fish\n',
    });
  });
});

describe('every command', () => {
  it.each(Object.entries(COMMANDS))('%s has help with an example', async (name, { load }) => {
    const { help } = await load();
    expect(help).toContain(`Usage: polypod ${name} `);
    expect(help).toContain('\nExamples:\n');
  });

  it.each(['serve', 'status', 'stop', 'ls', 'new', 'rm', 'logs', 'log', 'doctor'])(
    '%s shows its help, and says what it does not know',
    async (name) => {
      const { polypod: run } = await cliFixture();
      const help = await run(name, '--help');
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain(`Usage: polypod ${name} `);
      expect(help.stdout).toContain('Examples:');
      expect(help.stdout).toContain('--data-dir DIR');
      expect(await run(name, '--data-dri', 'x')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('unknown option --data-dri; did you mean --data-dir?'),
      });
    },
  );

  it('creates no files in an empty home directory', async () => {
    const { polypod: run, dataDirectory } = await cliFixture();
    for (const args of [['ls'], ['status'], ['stop'], ['logs'], ['log', 'verify']]) await run(...args);
    expect(existsSync(dataDirectory)).toBe(false);
  });
});
