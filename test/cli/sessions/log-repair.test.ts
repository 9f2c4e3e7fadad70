import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../src/base/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';
import { polypod } from '../polypod.ts';

const ADA = { by: 'ada', door: 'test' };

/** A session with a call, an answer and a name, and its file. */
async function savedSession(
  script = [
    call('ls', { path: '.' }),
    textAnswer('Nur zwei: ä, 日本.'),
    textAnswer('Yes.'),
    textAnswer('Still.'),
  ],
) {
  const fixture = await cliFixture(script);
  await fixture.polypod(
    'run',
    '-q',
    '-C',
    fixture.project,
    '-m',
    'anthropic/x',
    '-n',
    'kept',
    'What is here?',
  );
  const directory = join(fixture.dataDirectory, 'sessions');
  const file = join(directory, readdirSync(directory).find((name) => name.endsWith('.jsonl')) ?? '');
  const bytes = readFileSync(file);
  return { ...fixture, directory, file, bytes, lines: bytes.toString().split(/(?<=\n)/) };
}

function flipped(bytes: Buffer, at: number): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[at] = (damaged[at] ?? 0) ^ 4;
  return damaged;
}

/** The findings of `polypod doctor` about the session files. */
async function findings(run: CliFixture['polypod']): Promise<readonly object[]> {
  const all = JSON.parse((await run('doctor', '--json')).stdout) as { check: string }[];
  return all.filter(({ check }) => check === 'sessions');
}

const cwdOf = (bytes: Buffer): string =>
  (JSON.parse(bytes.toString().split('\n')[0] ?? '') as { cwd: string }).cwd;

const copiesIn = (directory: string) => readdirSync(directory).filter((name) => name.includes('.damaged-'));

describe('polypod log repair', () => {
  it('restores a flipped byte, keeps the damaged file, and finds nothing the second time', async () => {
    const { polypod: run, file, directory, bytes } = await savedSession();
    const damaged = flipped(bytes, Math.floor(bytes.length / 2));
    writeFileSync(file, damaged);

    const dry = await run('log', 'repair', '--dry-run', 'kept');
    expect(dry.code).toBe(1);
    expect(dry.stdout).toMatch(
      /: damaged\n {2}restored {2}line \d+: one byte was wrong; the checksum says which\n/,
    );
    expect(dry.stdout).toContain('nothing was changed; without --dry-run the file is repaired\n');
    expect(readFileSync(file)).toEqual(damaged);
    expect(copiesIn(directory)).toEqual([]);

    const { code, stdout } = await run('log', 'repair', 'kept');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /: repaired\n.* nothing is lost\n {2}the damaged file is kept as .*\.damaged-\w+\n$/s,
      ),
    });
    expect(readFileSync(file)).toEqual(bytes);
    expect(copiesIn(directory).map((name) => readFileSync(join(directory, name)))).toEqual([damaged]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run('log', 'repair', 'kept')).toMatchObject({
      code: 0,
      stdout: `${file}: nothing to repair\n`,
    });
    expect(copiesIn(directory)).toHaveLength(1);
  });

  it('shows the losses, for people and as JSON, and leaves a session that can be resumed', async () => {
    const { polypod: run, file, lines, sim } = await savedSession();
    const result = lines.findIndex((line) => line.includes('"role":"toolResult"'));
    const broken = `${lines[result]?.slice(0, 90)}\n`;
    writeFileSync(file, [...lines.slice(0, result), broken, ...lines.slice(result + 1)].join(''));
    const verified = await run('log', 'verify', 'kept');
    expect(verified.code).toBe(1);
    expect(verified.stdout).toContain(
      `${file}:${result + 1}: damaged: not what was written\n  to repair it: polypod log repair ${file}\n`,
    );
    const json = JSON.parse((await run('log', 'repair', '--json', '--dry-run', 'kept')).stdout) as object;
    expect(json).toMatchObject([{ file, outcome: 'would-repair', lost: 1, notes: expect.any(Array) }]);
    const { stdout } = await run('log', 'repair', 'kept');
    expect(stdout).toContain(`lost      line ${result + 1}: a message (91 bytes from byte `);
    expect(stdout).toMatch(
      /changed {3}the result of the call \S+ \(ls\) is lost; a result that says so replaces it/,
    );
    expect(await run('run', '-q', '-r', 'kept', 'Go on')).toMatchObject({
      code: 0,
      stdout: 'Yes.\n',
    });
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('The result of this call is lost');
  });

  it('repairs everything that verify and doctor find, and the session can be resumed', async () => {
    const { polypod: run, file, lines, bytes, directory } = await savedSession();
    const damages: readonly (readonly [string, number, string])[] = [
      ['trailing garbage', 1, `${lines.join('')}\0\0garbage\n`],
      ['truncated', 0, lines.join('').slice(0, -20)],
      ['no header', 1, lines.slice(1).join('')],
      ['empty', 1, ''],
      ['a missing line', 1, lines.filter((_, at) => at !== 4).join('')],
    ];
    for (const [name, code, text] of damages) {
      writeFileSync(file, text);
      expect([name, (await run('log', 'verify', file)).code]).toEqual([name, code]);
      if (text === '')
        expect(await findings(run)).toMatchObject([{ state: 'bad', next: `polypod log repair ${file}` }]);
      const repaired = JSON.parse((await run('log', 'repair', '--json', file)).stdout) as {
        original: string;
      }[];
      expect(readFileSync(repaired[0]?.original ?? '', 'utf8')).toBe(text);
      if (name === 'no header')
        expect(readFileSync(file, 'utf8')).toContain(`"cwd":${JSON.stringify(cwdOf(bytes))}`);
    }
    expect(copiesIn(directory)).toHaveLength(damages.length);
    expect(await findings(run)).toMatchObject([{ state: 'ok' }]);
    expect(await run('run', '-q', '-r', 'kept', 'Go on')).toMatchObject({ code: 0, stdout: 'Yes.\n' });
  });

  it('fails while the session is open', async () => {
    const fixture = await savedSession();
    const daemon = await fixture.serve();
    const id = /([^/]+)\.jsonl$/.exec(fixture.file)?.[1] ?? '';
    await (await fixture.pod(id)).handle({ type: 'configure', set: { archived: false } }, ADA);
    const bytes = readFileSync(fixture.file);
    writeFileSync(fixture.file, flipped(bytes, 400));
    for (const options of [[], ['--dry-run']]) {
      const { code, stderr } = await fixture.polypod('log', 'repair', ...options, 'kept');
      expect(code).toBe(2);
      expect(stderr).toMatch(/is open in process \d+\. Use it there, or end that process\./);
    }
    expect(readFileSync(fixture.file)).toEqual(flipped(bytes, 400));
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect((await fixture.polypod('log', 'repair', 'kept')).code).toBe(0);
  });

  it('reports files that it cannot repair, and missing arguments', async () => {
    const { polypod: run, home, dataDirectory } = await savedSession();
    writeFileSync(join(home, 'notes.txt'), 'no session\n');
    const feeds = join(dataDirectory, 'feeds');
    const feed = join(feeds, readdirSync(feeds)[0] ?? '', '0000000000000001.jsonl');
    for (const [args, sentence] of [
      [['repair', join(home, 'notes.txt')], 'is not a session file: it does not begin with a session header'],
      [['repair', feed], 'a feed needs no repair'],
      [['repair', join(home, 'nowhere.jsonl')], 'there is no file'],
      [['repair', home], 'is not a file: name a session file'],
      [['repair', 'unheard-of'], 'there is no session "unheard-of"'],
      [['repair'], 'the session to repair is missing: polypod log repair SESSION'],
      [['verify', '--dry-run'], '--dry-run belongs to polypod log repair'],
      [['verify', join(home, 'notes.txt')], 'is not a session or feed file'],
    ] as const) {
      const { code, stderr } = await run('log', ...args);
      expect(stderr).toContain(sentence);
      expect(code).toBe(2);
    }
  });
});

describe('a damaged session file', () => {
  it('is changed by no command or door, and all report the line and the repair', async () => {
    const fixture = await savedSession();
    const { file, lines, project, env } = fixture;
    const damaged = Buffer.from(lines.filter((_, at) => at !== 5).join(''));
    writeFileSync(file, damaged);
    const id = /([^/]+)\.jsonl$/.exec(file)?.[1] ?? '';
    const answers = new Map<string, string>();
    const commands: readonly (readonly string[])[] = [
      ['run', '-q', '-r', 'kept', 'Go on'],
      ['chat', '--plain', '--resume', 'kept', 'Go on'],
      ['chat', '--plain', '-C', project, '--continue', 'Go on'],
      ['--mode', 'rpc', '--session', file],
      ['--mode', 'rpc', '--fork', id],
    ];
    for (const command of commands) answers.set(command.join(' '), await outputOf(fixture, command));
    const requests = [
      { id: 's', type: 'switch_session', sessionPath: file },
      { id: 'g', type: 'get_state' },
    ];
    const input = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
    const inProcess = await polypod(['--mode', 'rpc'], { env, input });
    answers.set('switch_session', inProcess.stdout);
    // The door continues with its current session.
    expect(inProcess.stdout).toContain('"id":"g","type":"response","command":"get_state","success":true');

    await fixture.serve();
    for (const command of [
      ...commands,
      ['attach', '--plain', 'kept'],
      ['sessions', 'continue', 'kept', 'Go on'],
    ])
      answers.set(`daemon: ${command.join(' ')}`, await outputOf(fixture, command));
    answers.set('daemon: switch_session', (await polypod(['--mode', 'rpc'], { env, input })).stdout);
    const pod = await fixture.pod(id);
    answers.set('pod', await pod.handle({ type: 'cancel' }, ADA).then(String, messageOf));
    answers.set('hld', await hld(join(fixture.home, '.humanlayer/daemon.sock'), id));

    const wrong = [...answers].filter(
      ([, text]) =>
        !(
          text.includes(`${file} is damaged (line 6: the entry before it, `) &&
          text.includes(`To repair it: polypod log repair ${file}`)
        ) || /bug in Polypod/.test(text),
    );
    expect(wrong).toEqual([]);
    expect(readFileSync(file)).toEqual(damaged);
    expect(readdirSync(fixture.directory)).toEqual([`${id}.jsonl`]);
  });
});

async function outputOf({ env }: CliFixture, command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await polypod(command, { env });
  return code === 0 ? `it went on: ${stdout}${stderr}` : stdout + stderr;
}

/** The answer of the HLD door to a request to continue a session. */
function hld(socket: string, session_id: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const link = connect(socket);
    let text = '';
    link.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (text.includes('\n')) link.end();
    });
    link.on('close', () => resolve(text)).on('error', reject);
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'continueSession',
      params: { session_id, query: 'Go on' },
    };
    link.write(`${JSON.stringify(request)}\n`);
  });
}
