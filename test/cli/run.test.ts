import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SimAnswer, generatedText, startSim } from '../../src/sim/index.ts';
import { survivorsOf, token } from '../tools/survivors.ts';
import { call, waitForEvent, isType, textAnswer, cliFixture } from './daemon.ts';
import { killAndWait, MAIN, polypod, start, temporaryDirectory } from './polypod.ts';

/** A project, and a model that follows the script. */
async function project(script: readonly SimAnswer[], files: Readonly<Record<string, string>> = {}) {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const directory = join(home, 'project');
  mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const env = { HOME: home, ANTHROPIC_BASE_URL: sim.url, ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij' };
  const run = (...args: readonly string[]) =>
    polypod(['run', '-C', directory, '-m', 'anthropic/claude-x', ...args], { env });
  return { sim, home, directory, env, run };
}

describe('polypod run', () => {
  it('works on a directory offline, with the simulated model', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'README.md'), '# Teapot\n\nShort and stout.\n');
    const { code, stdout, stderr } = await polypod(['run', 'What is this?'], { env: { HOME: home } });
    expect(code).toBe(0);
    expect(stdout).toContain('titled "Teapot". It begins: Short and stout.');
    expect(stderr).toMatch(/● ls \.\n {2}✓ .*\n● read README\.md\n {2}✓/);
  });

  it('reads, edits and writes files, and shows what changed', async () => {
    const { run, directory } = await project(
      [
        call('read', { path: 'a.txt' }),
        call('edit', { path: 'a.txt', old: 'wrold', new: 'world' }),
        call('write', { path: 'deep/b.txt', content: 'new\n' }),
        textAnswer('Fixed.'),
      ],
      { 'a.txt': 'hello wrold\n' },
    );
    const { code, stdout, stderr } = await run('Fix the typo');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Fixed.\n' });
    expect(readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('hello world\n');
    expect(readFileSync(join(directory, 'deep/b.txt'), 'utf8')).toBe('new\n');
    expect(stderr).toContain('-hello wrold');
    expect(stderr).toContain('+hello world');
  });

  it('sends project information to the model, and no key to its tools', async () => {
    const { run, sim } = await project([call('bash', { command: 'env' }), textAnswer('Seen.')], {
      'AGENTS.md': 'Use tabs.',
    });
    const { code } = await run('--mode', 'full-access', 'Look around');
    expect(code).toBe(0);
    const [first, second] = sim.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('Use tabs.');
    expect(second).toContain('PATH=');
    expect(second).not.toContain('sk-test');
  });

  it('headless: denies calls that need approval, reports it to the model and in the exit code', async () => {
    const { run, directory, sim } = await project([
      call('bash', { command: 'touch made' }),
      textAnswer('I may not.'),
    ]);
    const { code, stdout, stderr } = await run('--headless', 'Make a file');
    expect({ code, stdout }).toEqual({ code: 2, stdout: 'I may not.\n' });
    expect(stderr).toContain('✗ denied:');
    expect(stderr).toContain(
      '1 call was denied because no one could be asked; allow more with --mode or with rules',
    );
    expect(existsSync(join(directory, 'made'))).toBe(false);
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('Nobody can be asked in this run');
  });

  it('rules in the configuration decide, and read-only mode writes nothing', async () => {
    const answers = [call('bash', { command: 'touch made' }), textAnswer('Done.')];
    const { run, home, directory } = await project([
      ...answers,
      call('write', { path: 'x', content: 'x' }),
      textAnswer('No.'),
    ]);
    mkdirSync(join(home, '.config/polypod'), { recursive: true });
    const rules = 'permissions:\n  rules:\n    - { command: touch made, action: auto }\n';
    writeFileSync(join(home, '.config/polypod/config.yaml'), `version: 1\n${rules}`);
    expect((await run('Make a file')).code).toBe(0);
    expect(existsSync(join(directory, 'made'))).toBe(true);
    const { stderr } = await run('--mode', 'read-only', 'Make another');
    expect(stderr).toContain('denied');
    expect(existsSync(join(directory, 'x'))).toBe(false);
  });

  it('never leaves its directory without approval', async () => {
    const { run, home } = await project([
      call('write', { path: '../outside.txt', content: 'x' }),
      textAnswer('Ok.'),
    ]);
    expect((await run('Escape')).code).toBe(2);
    expect(existsSync(join(home, 'outside.txt'))).toBe(false);
  });

  it('shows no tracked secret without approval, and follows no link out of the project', async () => {
    const { run, directory, home, sim } = await project([
      call('bash', { command: 'git diff HEAD' }),
      textAnswer('No.'),
    ]);
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
        cwd: directory,
      });
    git('init', '-q');
    writeFileSync(join(directory, '.env'), 'KEY=first-secret\n');
    git('add', '-f', '.env');
    git('commit', '-qm', 'x');
    writeFileSync(join(directory, '.env'), 'KEY=second-secret\n');
    writeFileSync(join(home, 'credentials'), 'stolen');
    symlinkSync(join(home, 'credentials'), join(directory, 'AGENTS.md'));
    expect((await run('Look')).code).toBe(2);
    const sent = sim.requests.map(({ body }) => JSON.stringify(body)).join('');
    expect(sent).not.toMatch(/first-secret|second-secret|stolen/);
  });

  it('runs many calls at once without a warning', async () => {
    const many = {
      parts: Array.from({ length: 15 }, (_, at) => ({
        toolCall: { name: 'ls', arguments: { path: '.', limit: at + 1 } },
      })),
    };
    const { run } = await project([many, textAnswer('Done.')]);
    const { code, stderr } = await run('-q', 'Look hard');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('prints the event stream as JSON lines', async () => {
    const { run } = await project([call('ls', {}), textAnswer('Empty.')]);
    const { code, stdout } = await run('--json', 'Look');
    expect(code).toBe(0);
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types.filter((type) => /^(?:run|turn|tool|llm)-/.test(type))).toEqual([
      ...['run-start', 'turn-start', 'llm-end', 'tool-start', 'tool-end', 'turn-end'],
      ...['turn-start', 'llm-end', 'turn-end', 'run-end'],
    ]);
  });

  it('uses the tools of an MCP server', async () => {
    const { run, home } = await project([call('mcp__greeter__hello', { name: 'Ada' }), textAnswer('Said.')]);
    const server = join(home, 'server.mjs');
    writeFileSync(server, GREETER);
    const config = join(home, 'mcp.json');
    writeFileSync(
      config,
      JSON.stringify({ mcpServers: { greeter: { command: process.execPath, args: [server] } } }),
    );
    const { code, stderr } = await run('--mode', 'full-access', '--mcp-config', config, 'Greet');
    expect(stderr).toContain('✓');
    expect(code).toBe(0);
  });

  it.each([
    [
      'a bound',
      ['--max-turns', '1'],
      [call('ls', {})],
      1,
      /stopped: the run has reached its limit of 1 turn; continue it with polypod run --resume \S+ "Go on"/,
    ],
    ['a wrong key', [], [{ ...textAnswer('x'), fault: { kind: '401' } } as SimAnswer], 2, /check the key/],
    [
      'a prompt that does not fit',
      [],
      [{ ...textAnswer('x'), fault: { kind: 'context-too-long' } } as SimAnswer],
      4,
      /shorten the prompt/,
    ],
  ])('exits with the code of the outcome: %s', async (_title, options, script, expected, sentence) => {
    const { run } = await project(script);
    const { code, stderr } = await run(...options, 'Go');
    expect(stderr).toMatch(sentence);
    expect(code).toBe(expected);
  });

  it('Ctrl-C ends a running command and the run', async () => {
    const mark = token();
    const command = `sleep ${mark} & echo begun > begun; wait`;
    const { directory, env } = await project([call('bash', { command }), textAnswer('x')]);
    const running = start(['run', '-C', directory, '-m', 'anthropic/x', '--mode', 'full-access', 'Go'], env);
    running.child.stdin.end();
    await expect.poll(() => existsSync(join(directory, 'begun'))).toBe(true);
    expect(survivorsOf(mark)).not.toEqual([]);
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
    expect(survivorsOf(mark)).toEqual([]);
  });

  it.each([
    [['run', '-C', 'nowhere', 'Go'], 'cannot work in nowhere'],
    [
      ['run', '--mode', 'godlike', 'Go'],
      '--mode cannot be "godlike": one of read-only, workspace-write, full-access',
    ],
    [['run', '--max-turns', '0', 'Go'], '--max-turns takes a number from 1, not "0"'],
    [['run', '--mcp-config', 'nowhere.json', '--offline', 'Go'], 'cannot read the MCP servers'],
    [['mcp'], 'the action must be list, status or serve'],
    [['run', '--allow-path', '/nonexistent', '--offline', 'Go'], 'cannot allow /nonexistent'],
  ])('%j is refused clearly', async (args, sentence) => {
    const { code, stdout, stderr } = await polypod(args);
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('mcp list and status show the servers', async () => {
    const home = temporaryDirectory();
    const server = join(home, 'server.mjs');
    writeFileSync(server, GREETER);
    const config = join(home, 'config.yaml');
    const servers = `  greeter: { command: ${process.execPath}, args: [${server}] }\n`;
    writeFileSync(config, `version: 1\nmcp_servers:\n${servers}`);
    const env = { HOME: home, POLYPOD_CONFIG: config };
    expect((await polypod(['mcp', 'list'], { env })).stdout).toContain('greeter  stdio');
    const status = await polypod(['mcp', 'status'], { env });
    expect(status.stdout).toMatch(/greeter {2}ready {2}1 tools\n {2}mcp__greeter__hello/);
    expect(status.code).toBe(0);
    expect((await polypod(['mcp', 'list'])).stdout).toContain('No MCP server is configured');
  });
});

describe('the session of a run', () => {
  it('is named on stderr, is listed, and can be resumed', async () => {
    const {
      polypod: run,
      sim,
      project,
    } = await cliFixture([textAnswer('Ada it is.'), textAnswer('You are Ada.')]);
    const first = await run('run', '-C', project, '-m', 'anthropic/x', '-n', 'names', 'I am Ada');
    const [, id = ''] = /^polypod: session ([0-9a-f-]{36})\n/.exec(first.stderr) ?? [];
    expect(id).not.toBe('');
    const second = await run('run', '--resume', id.slice(0, 13), '--mode', 'read-only', 'Who am I?');
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 0, stdout: 'You are Ada.\n' });
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toMatch(/I am Ada.*Ada it is\..*Who am I\?/);
    const rows = JSON.parse((await run('ls', '--json')).stdout) as object[];
    expect(rows).toMatchObject([
      { id, name: 'names', firstPrompt: 'I am Ada', lastText: 'You are Ada.', totals: { turns: 2 } },
    ]);
    expect((await run('log', 'verify')).code).toBe(0);
  });

  it('is not stored with --no-session', async () => {
    const { polypod: run, project, dataDirectory } = await cliFixture([call('ls', {}), textAnswer('Gone.')]);
    const { code, stdout, stderr } = await run(
      'run',
      '--no-session',
      '-C',
      project,
      '-m',
      'anthropic/x',
      'Hi',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Gone.\n' });
    expect(stderr).not.toContain('session');
    expect(existsSync(dataDirectory)).toBe(false);
  });

  it.each([
    [['--resume', 'nobody'], 'there is no session "nobody"'],
    [['--resume', 'x', '--no-session'], '--resume and --no-session exclude each other'],
    [['--resume', 'x', '-C', '.'], 'a session always continues in its own directory: omit --cwd'],
    [['--resume', 'x', '--name', 'y'], '--name is for a new session: leave out --resume'],
  ])('%j is refused', async (options, sentence) => {
    const { polypod: run } = await cliFixture();
    const { code, stdout, stderr } = await run('run', ...options, 'Go');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('can be attached to while it runs in its own process', async () => {
    const { env, home, project } = await cliFixture([call('bash', { command: 'sleep 60' })]);
    const running = start(
      ['run', '-C', project, '-m', 'anthropic/x', '--mode', 'full-access', '-n', 'here', 'Go'],
      env,
    );
    await running.waitForOutput('sleep 60');
    const path = join(home, '.local/share/polypod/run/pods/here.sock');
    // The socket is opened while the run starts; the run does not wait for it.
    while (!existsSync(path)) await new Promise((settle) => setImmediate(settle));
    const socket = connect(path);
    socket.write('{"method":"cancel"}\n');
    const { code, stderr } = await running.finished;
    expect(code).toBe(130);
    expect(stderr).toContain(
      'polypod run: the run was cancelled by client; resume it with polypod run --resume ',
    );
    socket.destroy();
  });
});

/** A run in the daemon, during a call. */
async function interrupted() {
  const { env, serve, project } = await cliFixture([call('bash', { command: 'sleep 300' })]);
  const daemon = await serve();
  const running = start(['run', '-C', project, '-m', 'anthropic/x', '--mode', 'full-access', 'Go'], env);
  await running.waitForOutput('sleep 300');
  return { daemon, running, serve };
}

describe('polypod run with a running daemon', () => {
  it('runs its agent in the daemon, with the same output and exit code', async () => {
    const script = [call('read', { path: 'a.txt' }), textAnswer('Read.')];
    const { serve, polypod: run, project, link } = await cliFixture([...script, ...script]);
    writeFileSync(join(project, 'a.txt'), 'hello\n');
    const without = await run('run', '-C', project, '-m', 'anthropic/x', 'Look');
    await serve();
    const through = await run('run', '-C', project, '-m', 'anthropic/x', 'Look');
    const plain = (text: string) => text.replaceAll(/session [0-9a-f-]+/g, 'session');
    expect({ ...through, stderr: plain(through.stderr) }).toEqual({
      ...without,
      stderr: plain(without.stderr),
    });
    expect(await (await link()).call('status')).toMatchObject({ pods: { live: 1 }, sessions: 2 });
  });

  it('denies calls that no one can approve, and explains provider errors', async () => {
    const {
      serve,
      polypod: run,
      project,
      sim,
    } = await cliFixture([
      call('bash', { command: 'touch made' }),
      textAnswer('I may not.'),
      { ...textAnswer('x'), fault: { kind: '401' } },
    ]);
    await serve();
    const denied = await run('run', '-C', project, '-m', 'anthropic/x', 'Make a file');
    expect({ code: denied.code, stdout: denied.stdout }).toEqual({ code: 2, stdout: 'I may not.\n' });
    expect(denied.stderr).toContain('1 call was denied because no one could be asked');
    const read = JSON.stringify(sim.requests.at(-1)?.body);
    expect(read).toContain('a run without a person denied this call');
    expect(read).not.toContain('ada denied');
    const refused = await run('run', '-C', project, '-m', 'anthropic/x', 'Go');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/check the key: it comes from ANTHROPIC_API_KEY/);
  });

  it('reports that the daemon was stopped during the run', async () => {
    const fixture = await cliFixture([call('bash', { command: 'sleep 300' })]);
    fixture.configure('version: 1\nshutdown_grace: 0s\n');
    await fixture.serve();
    const running = start(
      ['run', '-C', fixture.project, '-m', 'anthropic/x', '--mode', 'full-access', 'Go'],
      fixture.env,
    );
    await running.waitForOutput('sleep 300');
    expect((await fixture.polypod('stop')).code).toBe(0);
    const { code, stderr } = await running.finished;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /polypod run: the daemon was stopped during the run; resume it with polypod run --resume \S+\n$/,
    );
  });

  it('Ctrl-C cancels the run in the daemon', async () => {
    const {
      env,
      serve,
      polypod: run,
      project,
      pod,
    } = await cliFixture([call('bash', { command: 'sleep 300' })]);
    await serve();
    const running = start(
      ['run', '-C', project, '-m', 'anthropic/x', '--mode', 'full-access', '-n', 'long', 'Go'],
      env,
    );
    await running.waitForOutput('sleep 300');
    running.child.kill('SIGINT');
    const { code, stderr } = await running.finished;
    expect(code).toBe(130);
    expect(stderr).toMatch(/polypod run: interrupted; resume it with polypod run --resume \S+\n$/);
    const end = await waitForEvent(await pod('long'), isType('run-end'));
    expect(end).toMatchObject({ outcome: { status: 'cancelled' } });
    expect((await run('status')).stdout).toContain('runs    0 of');
  });

  it('exits with the next step if the daemon ends during the run and does not restart', async () => {
    const { daemon, running } = await interrupted();
    daemon.child.kill('SIGKILL');
    const { code, stderr } = await running.finished;
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /the daemon has ended, and the run with it: start it with polypod serve, then resume with polypod run --resume [0-9a-f-]{36}/,
    );
  });

  it('resumes by event number when the daemon restarts, and reports how the run ended', async () => {
    const { daemon, running, serve } = await interrupted();
    daemon.child.kill('SIGKILL');
    await running.waitForOutput('the connection to the daemon is lost');
    await serve();
    const { code, stderr } = await running.finished;
    expect(code).toBe(3);
    expect(stderr).toContain('polypod: reconnected');
    expect(stderr).toContain('the daemon ended, during the run');
    expect(stderr.match(/sleep 300/g)).toHaveLength(1);
  });

  it('exits on Ctrl-C while the daemon is unreachable', async () => {
    const { daemon, running } = await interrupted();
    daemon.child.kill('SIGKILL');
    await running.waitForOutput('the connection to the daemon is lost');
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
  });

  it('--offline, --sandbox and --no-session also work with a running daemon', async () => {
    const { serve, polypod: run, project, link } = await cliFixture();
    await serve();
    const offline = await run('run', '-C', project, '--offline', '-q', 'Hello');
    expect(offline.stdout).toContain('I am a simulated model');
    expect((await run('run', '-C', project, '--offline', '-q', '--no-session', 'Hello')).code).toBe(0);
    expect(await (await link()).call('status')).toMatchObject({ sessions: 1 });
  });
});

const hasScript = (() => {
  try {
    execFileSync('script', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasScript)('polypod run on a terminal', () => {
  it('asks, follows the answer, and remembers "always"', async () => {
    const touch = (name: string) => call('bash', { command: `touch ${name}` });
    const { directory, env } = await project([
      touch('one'),
      touch('one'),
      touch('two'),
      textAnswer('日本語 สวัสดี 👋'),
    ]);
    const line = [process.execPath, MAIN, 'run', '-C', directory, '-m', 'anthropic/x', 'Go'].join(' ');
    const running = terminal(line, env);
    await running.waitForOutput('Allow it? [y]es, [n]o, [a]lways');
    running.type('a\n');
    await running.waitForOutput('touch two');
    await running.waitForOutput('Allow it?', 2);
    running.type('n\n');
    await running.waitForOutput('What should it do instead?');
    running.type('nothing\n');
    await running.waitForOutput('日本語 สวัสดี 👋');
    await running.finished;
    expect(existsSync(join(directory, 'one'))).toBe(true);
    expect(existsSync(join(directory, 'two'))).toBe(false);
    expect(running.seen()).toContain('4 turns · 3 calls');
  });

  it('closes a question that another client of the daemon has answered', async () => {
    const { env, serve, project, pod } = await cliFixture([
      call('bash', { command: 'touch made' }),
      textAnswer('Made.'),
    ]);
    await serve();
    const line = [
      process.execPath,
      MAIN,
      'run',
      '-C',
      project,
      '-m',
      'anthropic/x',
      '-n',
      'asker',
      'Go',
    ].join(' ');
    const running = terminal(line, env);
    await running.waitForOutput('Allow it?');
    const agent = await pod('asker');
    const approvalRequest = await waitForEvent(agent, isType('approval-request'));
    if (approvalRequest.type !== 'approval-request') throw new Error('not asked');
    const { approvalId } = approvalRequest.approval;
    await agent.handle({ type: 'decide', approvalId, decision: 'approve' }, { by: 'bob', door: 'test' });
    await running.waitForOutput('Made.');
    await running.finished;
    expect(existsSync(join(project, 'made'))).toBe(true);
  });

  it('shows a status line while it works, and clears it at the end', async () => {
    const slow: SimAnswer = { parts: [{ text: generatedText(60) }], pace: { delayMs: 60, chunkSize: 8 } };
    const { directory, env } = await project([call('bash', { command: 'sleep 0.5' }), slow]);
    const line = [
      process.execPath,
      MAIN,
      'run',
      '-C',
      directory,
      '-m',
      'anthropic/x',
      '--mode',
      'full-access',
      'Go',
    ].join(' ');
    const running = terminal(line, env);
    await running.waitForOutput('tokens · sleep 0.5');
    await running.finished;
    expect(running.seen()).toMatch(/2 turns · 1 call/);
  });
});

/** A zombie process does not count as running. */
/** A real pseudo-terminal of 80 columns, from util-linux. */
function terminal(line: string, env: Readonly<Record<string, string>>) {
  const child = spawn('script', ['-qefc', `stty cols 80 rows 24; ${line}`, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
  });
  onTestFinished(() => killAndWait(child));
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text;
  });
  const finished = new Promise((settle) => child.on('close', settle));
  return {
    finished,
    seen: () => seen,
    type: (text: string) => void child.stdin.write(text),
    async waitForOutput(text: string, times = 1) {
      while (seen.split(text).length - 1 < times) await new Promise((settle) => setImmediate(settle));
    },
  };
}

/** A minimal MCP server: one tool, over stdio. */
const GREETER = `
import { createInterface } from 'node:readline';
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'greeter', version: '1' } } });
  if (method === 'tools/list') say({ id, result: { tools: [{ name: 'hello', description: 'Says hello.', inputSchema: { type: 'object', properties: { name: { type: 'string' } } } }] } });
  if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: 'Hello, ' + params.arguments.name }] } });
});
`;
