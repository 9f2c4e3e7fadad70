import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, generatedText, startSim } from '../../src/sim/index.ts';
import { MAIN, polypod, start, temporaryDirectory } from './polypod.ts';

const call = (name: string, args: object): Answer => ({ parts: [{ toolCall: { name, arguments: args } }] });
const says = (text: string): Answer => ({ parts: [{ text }] });

/** A project, and a model that does what the script says. */
async function project(script: readonly Answer[], files: Readonly<Record<string, string>> = {}) {
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
        says('Fixed.'),
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

  it('tells the model about the project, and sends no key to its tools', async () => {
    const { run, sim } = await project([call('bash', { command: 'env' }), says('Seen.')], {
      'AGENTS.md': 'Use tabs.',
    });
    const { code } = await run('--mode', 'full-access', 'Look around');
    expect(code).toBe(0);
    const [first, second] = sim.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('Use tabs.');
    expect(second).toContain('PATH=');
    expect(second).not.toContain('sk-test');
  });

  it('headless: what needs permission is denied, the model is told, and the exit code says so', async () => {
    const { run, directory, sim } = await project([
      call('bash', { command: 'touch made' }),
      says('I may not.'),
    ]);
    const { code, stdout, stderr } = await run('--headless', 'Make a file');
    expect({ code, stdout }).toEqual({ code: 2, stdout: 'I may not.\n' });
    expect(stderr).toContain('✗ denied:');
    expect(stderr).toContain(
      '1 call was denied because nobody could be asked; allow more with --mode or with rules',
    );
    expect(existsSync(join(directory, 'made'))).toBe(false);
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('Nobody can be asked in this run');
  });

  it('rules in the configuration decide, and read-only mode writes nothing', async () => {
    const answers = [call('bash', { command: 'touch made' }), says('Done.')];
    const { run, home, directory } = await project([
      ...answers,
      call('write', { path: 'x', content: 'x' }),
      says('No.'),
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

  it('never leaves its directory unasked', async () => {
    const { run, home } = await project([
      call('write', { path: '../outside.txt', content: 'x' }),
      says('Ok.'),
    ]);
    expect((await run('Escape')).code).toBe(2);
    expect(existsSync(join(home, 'outside.txt'))).toBe(false);
  });

  it('shows no tracked secret without asking, and follows no link out of the project', async () => {
    const { run, directory, home, sim } = await project([
      call('bash', { command: 'git diff HEAD' }),
      says('No.'),
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
    const { run } = await project([many, says('Done.')]);
    const { code, stderr } = await run('-q', 'Look hard');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('prints the event stream as JSON lines', async () => {
    const { run } = await project([call('ls', {}), says('Empty.')]);
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
    const { run, home } = await project([call('mcp__greeter__hello', { name: 'Ada' }), says('Said.')]);
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
      /stopped: the run has taken the one turn it may take/,
    ],
    ['a wrong key', [], [{ ...says('x'), fault: { kind: '401' } } as Answer], 2, /check the key/],
    [
      'a prompt that does not fit',
      [],
      [{ ...says('x'), fault: { kind: 'context-too-long' } } as Answer],
      3,
      /shorten the prompt/,
    ],
  ])('exits honestly: %s', async (_title, options, script, expected, sentence) => {
    const { run } = await project(script);
    const { code, stderr } = await run(...options, 'Go');
    expect(stderr).toMatch(sentence);
    expect(code).toBe(expected);
  });

  it('Ctrl-C while a command runs ends the command and the run', async () => {
    const command = 'sleep 300 & echo "pid $!" > pid; wait';
    const { directory, env } = await project([call('bash', { command }), says('x')]);
    const running = start(['run', '-C', directory, '-m', 'anthropic/x', '--mode', 'full-access', 'Go'], env);
    running.child.stdin.end();
    while (
      !existsSync(join(directory, 'pid')) ||
      !readFileSync(join(directory, 'pid'), 'utf8').includes('\n')
    ) {
      await new Promise((settle) => setImmediate(settle));
    }
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8').replace('pid ', ''));
    expect(isAlive(pid)).toBe(false);
  });

  it.each([
    [['run', '-C', 'nowhere', 'Go'], 'cannot work in nowhere'],
    [
      ['run', '--mode', 'godlike', 'Go'],
      '--mode cannot be "godlike": one of read-only, workspace-write, full-access',
    ],
    [['run', '--max-turns', '0', 'Go'], '--max-turns takes a number from 1, not "0"'],
    [['run', '--mcp-config', 'nowhere.json', '--offline', 'Go'], 'cannot read the MCP servers'],
    [['mcp'], 'say list or status'],
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

const hasScript = (() => {
  try {
    execFileSync('script', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasScript)('polypod run on a terminal', () => {
  it('asks, obeys the answer, and remembers "always"', async () => {
    const touch = (name: string) => call('bash', { command: `touch ${name}` });
    const { directory, env } = await project([
      touch('one'),
      touch('one'),
      touch('two'),
      says('日本語 สวัสดี 👋'),
    ]);
    const line = [process.execPath, MAIN, 'run', '-C', directory, '-m', 'anthropic/x', 'Go'].join(' ');
    const running = terminal(line, env);
    await running.hear('Allow it? [y]es, [n]o, [a]lways');
    running.type('a\n');
    await running.hear('touch two');
    await running.hear('Allow it?', 2);
    running.type('n\n');
    await running.hear('What should it do instead?');
    running.type('nothing\n');
    await running.hear('日本語 สวัสดี 👋');
    await running.finished;
    expect(existsSync(join(directory, 'one'))).toBe(true);
    expect(existsSync(join(directory, 'two'))).toBe(false);
    expect(running.seen()).toContain('4 turns · 3 calls');
  });

  it('shows a status line while it works, and leaves none behind', async () => {
    const slow: Answer = { parts: [{ text: generatedText(60) }], pace: { delayMs: 60, chunkSize: 8 } };
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
    await running.hear('tokens · sleep 0.5');
    await running.finished;
    expect(running.seen()).toMatch(/2 turns · 1 call/);
  });
});

/** A process that has ended and waits to be collected by its parent is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** A real pseudo-terminal of 80 columns, from util-linux. */
function terminal(line: string, env: Readonly<Record<string, string>>) {
  const child = spawn('script', ['-qefc', `stty cols 80 rows 24; ${line}`, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text;
  });
  const finished = new Promise((settle) => child.on('close', settle));
  return {
    finished,
    seen: () => seen,
    type: (text: string) => void child.stdin.write(text),
    async hear(text: string, times = 1) {
      while (seen.split(text).length - 1 < times) await new Promise((settle) => setImmediate(settle));
    },
  };
}

/** The smallest MCP server there is: one tool, over standard streams. */
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
