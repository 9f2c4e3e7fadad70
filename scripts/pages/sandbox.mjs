// The fresh home directory in which the commands of a page run, and the ways to run them.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 120_000;
const DONE = { code: 0, output: '' };

/** Commands that need a terminal. Input from a pipe or a file replaces it. */
const INTERACTIVE = /^polypod (?:chat|attach)\b(?!.*(?:<|--plain))/;
/** Commands that run until they are interrupted. One server runs at a time; a follower prints nothing until something happens. */
const SERVER = /^polypod (?:serve(?!.*--detach)|hld|sim|record|replay)\b/;
const FOLLOWER = /^polypod .*(?:--follow|approvals watch)\b/;

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/** Whether a shell can run the text as it is: false while a quote, a loop or a here-document is open. */
export function isComplete(text) {
  if (text.endsWith('\\')) return false;
  const { status, stderr } = spawnSync('bash', ['-n', '-c', text], { encoding: 'utf8' });
  return status === 0 && !stderr.includes('here-document');
}

/** How a command is run. */
export function kindOf(text) {
  const command = text.replace(/^npx --no-install /, '').replace(/\s#.*$/, '');
  if (INTERACTIVE.test(command)) return 'interactive';
  if (FOLLOWER.test(command)) return 'follower';
  return SERVER.test(command) ? 'server' : 'command';
}

/** A fresh home directory with a project, the built program and the addresses of a simulated provider. */
export class Sandbox {
  #directory = mkdtempSync(join(tmpdir(), 'polypod-page-'));
  #project = join(this.#directory, 'home/project');
  #state = join(this.#directory, 'state');
  #env;
  #background = new Map();
  #terminals = [];

  constructor(simUrl) {
    for (const path of ['home/project/node_modules/.bin', 'bin', 'run'])
      mkdirSync(join(this.#directory, path), { recursive: true });
    chmodSync(join(this.#directory, 'run'), 0o700);
    const main = join(ROOT, 'dist/cli/main.js');
    symlinkSync(main, join(this.#directory, 'bin/polypod'));
    symlinkSync(join(ROOT, 'node_modules/.bin/humanlayer'), join(this.#directory, 'bin/humanlayer'));
    symlinkSync(main, join(this.#project, 'node_modules/.bin/polypod'));
    this.#env = {
      HOME: join(this.#directory, 'home'),
      XDG_RUNTIME_DIR: join(this.#directory, 'run'),
      PATH: [join(this.#directory, 'bin'), dirname(process.execPath), process.env.PATH].join(':'),
      USER: 'ada',
      LC_ALL: 'C.UTF-8',
      TERM: 'xterm-256color',
      npm_config_update_notifier: 'false',
      npm_config_offline: 'true',
      GIT_CONFIG_NOSYSTEM: '1',
      ANTHROPIC_BASE_URL: simUrl,
      OPENAI_BASE_URL: `${simUrl}/v1`,
      GOOGLE_GEMINI_BASE_URL: simUrl,
      OLLAMA_HOST: simUrl,
      // Pages that run at the same time cannot all use the default port.
      POLYPOD_AGENT_PORT: '0',
    };
    this.#makeProject();
  }

  /** Writes a file of the project, or of the home directory if the path starts with ~. */
  save(path, text) {
    const target = path.startsWith('~/') ? join(this.#env.HOME, path.slice(2)) : join(this.#project, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode: 0o600 });
  }

  /** Runs a command as a person would, and returns its exit code and output. Servers run until the next one starts or the block ends. */
  async run(text) {
    const kind = kindOf(text);
    if (kind === 'interactive') return this.#inTerminal(text);
    if (kind === 'follower') return this.#start(text, kind);
    if (kind === 'command' && !/polypod serve\b/.test(text)) return this.#inShell(text);
    const stopped = await this.#interrupt('server');
    if (stopped.code !== 0) return stopped;
    return kind === 'server' ? this.#start(text, kind) : this.#inShell(text);
  }

  /** Ends what a block has left running: its terminals with Ctrl-D, its server with Ctrl-C. Returns the first failure. */
  async endBlock() {
    const results = [];
    for (const terminal of this.#terminals.splice(0).toReversed()) results.push(await terminal.close());
    for (const kind of ['follower', 'server']) results.push(await this.#interrupt(kind));
    return results.find(({ code }) => code !== 0) ?? DONE;
  }

  async close() {
    await this.endBlock();
    await this.#inShell('polypod stop');
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** Presses Ctrl-C. Some commands report the interruption, and a command that has just started does not handle it. */
  async #interrupt(kind) {
    const running = this.#background.get(kind);
    this.#background.delete(kind);
    if (running === undefined) return DONE;
    // A server may have been stopped by a later command.
    if (running.child.exitCode === null) process.kill(-running.child.pid, 'SIGINT');
    const { code, output } = await running.ended;
    return { code: code === 130 || code === 'SIGINT' ? 0 : code, output };
  }

  #makeProject() {
    this.save('README.md', '# Greeter\n\nPrints a greeting.\n');
    this.save('greet.js', "const name = 'ada';\nconsole.log('hi', name);\n");
    this.save('package.json', '{ "private": true, "scripts": { "test": "node greet.js" } }\n');
    this.save('.gitignore', 'node_modules\n');
    const git = (...args) =>
      execFileSync('git', ['-c', 'user.name=ada', '-c', 'user.email=ada@example.org', ...args], {
        cwd: this.#project,
        env: this.#env,
        stdio: 'ignore',
      });
    git('init');
    git('add', '.');
    git('commit', '-m', 'Start');
    this.save('greet.js', "const name = 'ada';\nconsole.log('Hello!', name);\n");
  }

  /** Variables and the working directory are kept for the next command. */
  #inShell(text) {
    return finish(
      this.#spawn(
        `set -a; . "$STATE" 2>/dev/null; set +e\n${text}\nresult=$?; cd -P .; { export -p; printf 'cd %q\\n' "$PWD"; } > "$STATE"; exit $result`,
      ),
    );
  }

  #spawn(script) {
    return spawn('bash', ['-c', script], {
      cwd: this.#project,
      env: { ...this.#env, STATE: this.#state },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
  }

  /** Starts a command in the background. A server is ready when it has said so, or has printed its address. */
  async #start(text, kind) {
    const child = this.#spawn(`. "$STATE" 2>/dev/null; exec ${text}`);
    const line = /polypod (?:serve|hld)\b/.test(text) ? /\bready\b/ : /\n/;
    const ready = new Promise((resolve) => {
      if (kind === 'follower') child.once('spawn', resolve);
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (output) => line.test(output) && resolve());
    });
    const ended = finish(child);
    const failed = await Promise.race([ended, ready.then(() => undefined)]);
    if (failed !== undefined) return failed;
    this.#background.set(kind, { child, ended });
    return DONE;
  }

  /** Runs a command in a terminal of its own, and waits until it shows its input line. The terminal stays open. */
  async #inTerminal(text) {
    const terminal = new Terminal(join(this.#directory, `terminal-${this.#terminals.length}`), {
      typed: `. '${this.#state}' 2>/dev/null\n${text}`,
      cwd: this.#project,
      env: this.#env,
    });
    this.#terminals.push(terminal);
    const isReady = await terminal.wait((screen) => screen.includes('type a message'));
    return isReady ? DONE : terminal.result();
  }
}

/** A command in a terminal of tmux. */
class Terminal {
  #directory;
  #options;

  constructor(directory, { typed, cwd, env }) {
    this.#directory = directory;
    this.#options = { cwd, env, encoding: 'utf8' };
    mkdirSync(directory);
    writeFileSync(join(directory, 'typed'), `${typed}\necho $? > '${join(directory, 'code')}'; sleep 1000\n`);
    this.#tmux('new-session', '-d', '-x', '100', '-y', '40', `bash '${join(directory, 'typed')}'`);
  }

  /** Presses Ctrl-D, and resolves when the command has ended. */
  async close() {
    this.#tmux('send-keys', 'C-d');
    await this.wait(() => false);
    const result = this.result();
    this.#tmux('kill-server');
    return result;
  }

  /** Resolves when the screen matches, or with false if the command has ended or the time is over. */
  async wait(matches) {
    for (const deadline = Date.now() + TIMEOUT_MS; this.#code() === undefined && Date.now() < deadline; ) {
      if (matches(this.#screen())) return true;
      await sleep(50);
    }
    return false;
  }

  result() {
    return { code: this.#code(), output: this.#screen() };
  }

  #code() {
    const text = contentOf(join(this.#directory, 'code')).trim();
    return text === '' ? undefined : Number(text);
  }

  #screen() {
    return this.#tmux('capture-pane', '-p').trimEnd();
  }

  #tmux(...args) {
    const socket = join(this.#directory, 'socket');
    return execFileSync('tmux', ['-u', '-S', socket, '-f', '/dev/null', ...args], this.#options);
  }
}

/** Resolves with the exit code, undefined after the time limit, and the output. */
function finish(child) {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      process.kill(-child.pid, 'SIGKILL');
      resolve({ code: undefined, output });
    }, TIMEOUT_MS);
    const end = (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    };
    child.on('close', (code, signal) => end(code ?? signal));
    // A process that the command left in the background keeps its output open.
    child.on('exit', (code, signal) => setTimeout(() => end(code ?? signal), 1_000).unref());
  });
}

function contentOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
