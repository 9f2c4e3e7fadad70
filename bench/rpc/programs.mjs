import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratch } from '../floor/processes.mjs';

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** How each program is started, with the model of a provider on loopback. */
export const PROGRAMS = { polypod, pi };

function polypod(provider) {
  const home = scratch();
  return {
    args: [path('dist/cli/main.js'), '--mode', 'rpc', '--model', 'anthropic/claude-opus-5-5'],
    cwd: home,
    env: { HOME: home, ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: provider },
    end: '"type":"agent_settled"',
  };
}

function pi(provider) {
  const home = scratch();
  const model = {
    id: 'floor',
    name: 'floor',
    reasoning: false,
    input: ['text'],
    contextWindow: 200_000,
    maxTokens: 8192,
  };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const providers = {
    bench: { baseUrl: provider, api: 'anthropic-messages', apiKey: 'any', models: [{ ...model, cost }] },
  };
  mkdirSync(join(home, 'agent'));
  writeFileSync(join(home, 'agent/models.json'), JSON.stringify({ providers }));
  return {
    args: [
      path('node_modules/@mariozechner/pi-coding-agent/dist/cli.js'),
      ...['--mode', 'rpc', '--provider', 'bench', '--model', 'floor'],
    ],
    cwd: home,
    env: { HOME: home, PI_CODING_AGENT_DIR: join(home, 'agent'), PI_OFFLINE: '1' },
    end: '"type":"agent_end"',
  };
}

/** The searched words can be split between two chunks. */
const LONGEST_WORDS = 64;

/** A program in RPC mode. Its output is read, but only its last words are examined. */
export class RpcProgram {
  bytes = 0;
  #child;
  #end;
  #tail = '';
  #look = () => {};

  constructor({ args, cwd, env, end }) {
    this.#end = end;
    this.#child = spawn(process.execPath, args, {
      cwd,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child.stdout.on('data', (chunk) => {
      this.bytes += chunk.length;
      // The last line can be long and end with the complete answer; its type is at its start.
      this.#tail += chunk.toString('latin1');
      this.#look();
      this.#tail = this.#tail.slice(-LONGEST_WORDS);
    });
    const kill = () => this.end();
    process.on('exit', kill);
    this.#child.on('close', () => process.off('exit', kill));
  }

  async ask(type, fields = {}) {
    this.send({ id: type, type, ...fields });
    await this.waitForOutput(`"command":"${type}"`);
  }

  async prompt(message) {
    this.send({ type: 'prompt', message });
    await this.waitForOutput(this.#end);
  }

  end() {
    this.#child.kill('SIGKILL');
  }

  /** The CPU time of the process so far, in microseconds; the resolution is 10 ms. */
  get cpuUs() {
    const [, rest] = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ');
    const fields = rest.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  }

  send(frame) {
    this.#tail = '';
    this.#child.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  /** Resolves when the words have arrived since the last frame was sent. */
  waitForOutput(words) {
    return new Promise((resolve, reject) => {
      this.#child.on('close', (code) => reject(new Error(`the program has ended with ${code}`)));
      this.#look = () => {
        if (!this.#tail.includes(words)) return;
        this.#look = () => {};
        resolve();
      };
      this.#look();
    });
  }
}
