import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratch } from '../floor/processes.mjs';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** How Polypod is started, with the model of a provider on loopback. */
export function polypod(provider) {
  const home = scratch();
  return {
    command: [process.execPath, MAIN, ...['acp', '--no-daemon', '--model', 'anthropic/claude-opus-5-5']],
    cwd: home,
    env: { HOME: home, ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: provider },
  };
}

/** The same through a daemon that is ready: the program only relays, and the daemon hosts the session. */
export async function polypodWithDaemon(provider) {
  const home = scratch();
  const env = { HOME: home, ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: provider };
  const daemon = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: home,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  process.on('exit', () => daemon.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    const look = (chunk) => chunk.includes('ready') && resolve();
    daemon.stdout.on('data', look);
    daemon.stderr.on('data', look);
    daemon.on('close', (code) => reject(new Error(`the daemon has ended with ${code}`)));
  });
  return { command: [process.execPath, MAIN, 'acp'], cwd: home, env, hostPid: daemon.pid };
}

/** Other agents that speak the protocol. Each is installed in its own directory below one that the person names. */
export const PEERS = {
  'claude-agent-acp': {
    packages: { acp: '@agentclientprotocol/claude-agent-acp@0.99.0', node22: 'node@22.23.3' },
    start: (root, provider) => {
      const home = scratch();
      return {
        command: [
          join(root, 'node22/node_modules/.bin/node'),
          join(root, 'acp/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js'),
        ],
        cwd: home,
        env: {
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, 'claude'),
          ANTHROPIC_BASE_URL: provider,
          ANTHROPIC_API_KEY: 'any',
          ANTHROPIC_MODEL: 'claude-opus-5-5',
          IS_SANDBOX: '1',
          MAX_THINKING_TOKENS: '0',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
          DISABLE_TELEMETRY: '1',
        },
      };
    },
  },
  opencode: {
    packages: { opencode: 'opencode-ai@1.18.33' },
    start: (root, provider) => {
      const home = scratch();
      const models = { floor: { name: 'floor', limit: { context: 200_000, output: 8192 }, tool_call: true } };
      const options = { baseURL: `${provider}/v1`, apiKey: 'any' };
      const file = join(home, 'opencode.json');
      writeFileSync(
        file,
        JSON.stringify({
          model: 'bench/floor',
          small_model: 'bench/floor',
          autoupdate: false,
          share: 'disabled',
          provider: { bench: { npm: '@ai-sdk/anthropic', name: 'bench', options, models } },
        }),
      );
      return {
        command: [join(root, 'opencode/node_modules/opencode-ai/bin/opencode.exe'), 'acp'],
        cwd: home,
        env: {
          HOME: home,
          OPENCODE_CONFIG: file,
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
          OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        },
      };
    },
  },
  gemini: {
    packages: { gemini: '@google/gemini-cli@0.61.0' },
    start: (root, provider) => {
      const home = scratch();
      mkdirSync(join(home, '.gemini'));
      writeFileSync(
        join(home, '.gemini/settings.json'),
        JSON.stringify({
          security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        }),
      );
      return {
        command: [
          process.execPath,
          join(root, 'gemini/node_modules/.bin/gemini'),
          ...['--acp', '-m', 'gemini-2.5-flash', '--skip-trust'],
        ],
        cwd: home,
        env: {
          HOME: home,
          GEMINI_API_KEY: 'any',
          GOOGLE_GEMINI_BASE_URL: provider,
          GEMINI_CLI_NO_RELAUNCH: 'true',
        },
        auth: 'gemini-api-key',
      };
    },
  },
};

/** The peers whose packages are in the directory. */
export function installedPeers(root) {
  return Object.keys(PEERS).filter((name) =>
    Object.keys(PEERS[name].packages).every((directory) => existsSync(join(root, directory, 'node_modules'))),
  );
}

/** Installs the missing peers from npm. */
export async function installPeers(root) {
  for (const { packages } of Object.values(PEERS))
    for (const [name, version] of Object.entries(packages)) {
      const directory = join(root, name);
      if (existsSync(join(directory, 'node_modules'))) continue;
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'package.json'), '{"private":true}');
      console.error(`installing ${version}`);
      await new Promise((resolve) =>
        spawn('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', version], {
          cwd: directory,
          stdio: ['ignore', 'ignore', 'inherit'],
        }).on('close', resolve),
      );
    }
}

/** The searched words can be split between two chunks. */
const LONGEST_WORDS = 64;

function cpuUsOf(pid) {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** An agent process and its only client. The output is read, but only searched for a few words. */
export class Agent {
  bytes = 0;
  #child;
  #auth;
  #tail = '';
  #look = () => {};
  #id = 0;
  #hasEnded;
  #hostPid;

  constructor({ command: [program, ...args], cwd, env, auth, hostPid }) {
    this.#auth = auth;
    this.#hostPid = hostPid;
    this.cwd = cwd;
    this.#child = spawn(program, args, {
      cwd,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
      // Some agents start further processes, which end with the group.
      detached: true,
    });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.on('data', (chunk) => {
      this.bytes += chunk.length;
      this.#tail += chunk.toString('latin1');
      this.#look();
      this.#tail = this.#tail.slice(-LONGEST_WORDS);
    });
    const kill = () => this.end();
    process.on('exit', kill);
    this.#hasEnded = new Promise((_, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (code) => {
        process.off('exit', kill);
        reject(new Error(`${program} has ended with ${code}`));
      });
    });
    this.#hasEnded.catch(() => {});
  }

  async initialize() {
    await this.request('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'bench', version: '1.0.0' },
    });
    if (this.#auth !== undefined) await this.request('authenticate', { methodId: this.#auth });
  }

  async open() {
    const found = this.#find(/"sessionId":"([^"]+)"/);
    this.#send('session/new', { cwd: this.cwd, mcpServers: [] });
    return (await found)[1];
  }

  /** Sends a prompt; resolves with the first words of the answer, or at its end. */
  async prompt(sessionId, text, until = '"stopReason"') {
    const found = this.#find(until);
    this.#send('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    await found;
  }

  async request(method, params) {
    const id = this.#send(method, params);
    await this.#find(new RegExp(`"id":${id}[,}]`));
  }

  end() {
    const { pid = 0 } = this.#child;
    try {
      // 0 would be the group of this process.
      if (pid > 0) process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  /** The CPU time of the process, and of the one that hosts its sessions, so far, in microseconds; the resolution is 10 ms. */
  get cpuUs() {
    return cpuUsOf(this.#child.pid) + (this.#hostPid === undefined ? 0 : cpuUsOf(this.#hostPid));
  }

  #send(method, params) {
    const id = ++this.#id;
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  }

  /** Resolves when the output since now contains the words. */
  #find(words) {
    this.#tail = '';
    const found = new Promise((resolve) => {
      this.#look = () => {
        const match = typeof words === 'string' ? this.#tail.includes(words) : words.exec(this.#tail);
        if (!match) return;
        this.#look = () => {};
        resolve(match);
      };
    });
    return Promise.race([found, this.#hasEnded]);
  }
}
