import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Env, messageOf, objectOf, parseObject, stringOf, systemCodeOf } from '../../base/index.ts';
import type { AgentEvent } from '../agent-event.ts';
import type { AgentDescription, AgentServices, ProbeOptions, ProbeResult } from '../agent-program.ts';
import { connectClaude } from './connection.ts';
import { homeOf, launchEnv } from './launch.ts';
import { isSupported, MIN_VERSION } from './version.ts';

/**
 * Starts Claude Code as for a pod, but with a model of ours that calls a command. Passes if Claude Code asks for permission and does not
 * run the command after a denial.
 */
export async function probeClaude(options: ProbeOptions): Promise<ProbeResult> {
  const { directory, env, signal } = options;
  const place = await mkdtemp(join(directory, 'probe-'));
  const model = await startModel();
  try {
    const cwd = join(place, 'project');
    const home = join(place, 'home');
    const files = join(place, 'files');
    for (const path of [cwd, files]) await mkdir(path, { mode: 0o700 });
    await copySettings(env, join(home, '.claude'));
    const outcome = await runTurn({
      ...options,
      env: probeEnv(env, home, model.url),
      directory: files,
      cwd,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    });
    if (await exists(join(cwd, MARKER)))
      return { status: 'runs-unasked', detail: `Claude Code ran "${COMMAND}" without approval.` };
    if (outcome === 'asked') return { status: 'asks' };
    return { status: 'failed', detail: outcome };
  } catch (thrown) {
    return { status: 'failed', detail: messageOf(thrown) };
  } finally {
    await model.close();
    await rm(place, { recursive: true, force: true });
  }
}

/** Returns `asked`, or why permission was not requested. */
async function runTurn(options: ProbeOptions & { readonly cwd: string }): Promise<string> {
  const { signal } = options;
  let resolve: (outcome: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  let isAsked = false;
  let outcome = 'The turn ended without a request for permission.';
  const handle = (event: AgentEvent): void => {
    if (event.type === 'permission') {
      isAsked = true;
      connection.answer(event.request.requestId, { decision: 'deny', reason: 'This is a check.' });
    } else if (event.type === 'turn-end') {
      if (event.outcome.status === 'failed') outcome = event.outcome.failure.message;
      resolve(isAsked ? 'asked' : outcome);
    }
  };
  const connection = await connectClaude({
    ...options,
    start: { type: 'new' },
    settings: { mode: 'read-only', paths: [] },
    mcpServers: [],
    services: NO_SERVICES,
    onEvents: async (events) => events.forEach(handle),
    onEnd: ({ message, stderr }) => resolve(`Claude Code ended: ${message}. ${stderr}`),
  });
  const stop = (): void => resolve('The check was not done in time, or was cancelled.');
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) stop();
    else connection.prompt([{ type: 'text', text: 'Check.' }]);
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await connection.close();
  }
}

/** No key of the user reaches the model of the probe. */
function probeEnv(env: Env, home: string, url: string): Env {
  const kept = Object.entries(env).filter(([name]) => !/^(?:ANTHROPIC_|CLAUDE_|AWS_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'polypod-probe',
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  };
}

/** The user's settings can change what asks for permission. Others, such as endpoints, must not apply to the probe. */
async function copySettings(env: Env, to: string): Promise<void> {
  const from = env.CLAUDE_CONFIG_DIR ?? join(homeOf(env), '.claude');
  const text = await readFile(join(from, 'settings.json'), 'utf8').catch(() => '{}');
  const { permissions, hooks, sandbox } = parseObject(text) ?? {};
  await mkdir(to, { recursive: true, mode: 0o700 });
  await writeFile(join(to, 'settings.json'), JSON.stringify({ permissions, hooks, sandbox }), {
    mode: 0o600,
  });
}

const NO_SERVICES: AgentServices = {
  readTextFile: () => Promise.reject(new Error('not available')),
  writeTextFile: () => Promise.reject(new Error('not available')),
  runCommand: () => Promise.reject(new Error('not available')),
};

/** A server that answers the first request with a call, and others with a text. */
async function startModel(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  let requests = 0;
  const server = createServer((incoming, response) => {
    incoming.resume();
    const isMessage = incoming.method === 'POST' && /^\/v1\/messages(?:\?|$)/.test(incoming.url ?? '');
    if (!isMessage) {
      response.writeHead(404).end();
      return;
    }
    requests += 1;
    sendAnswer(response, requests === 1);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function sendAnswer(response: ServerResponse, isCall: boolean): void {
  const block = isCall
    ? { type: 'tool_use', id: 'toolu_probe', name: 'Bash', input: {} }
    : { type: 'text', text: '' };
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify({ command: COMMAND }) }
    : { type: 'text_delta', text: 'Done.' };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'msg_probe', type: 'message', role: 'assistant', model: 'probe', content: [], usage };
  const events = [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage,
    },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Asks the program for its version and for the state of its sign-in. */
export async function describeClaude(options: ProbeOptions): Promise<AgentDescription> {
  const version = await run(options, ['--version']);
  if (version.problem !== undefined)
    return { version: undefined, signedIn: 'unknown', problem: version.problem };
  const number = /\d+\.\d+\.\d+/.exec(version.output)?.[0];
  if (number === undefined || !isSupported(number))
    return {
      version: number ?? version.output.trim(),
      signedIn: 'unknown',
      problem: `This version is not supported. Update it to ${MIN_VERSION} or newer with "claude update".`,
    };
  const { loggedIn } = parseObject((await run(options, ['auth', 'status'])).output) ?? {};
  if (loggedIn === true) return { version: number, signedIn: 'yes' };
  if (loggedIn !== false) return { version: number, signedIn: 'unknown' };
  return {
    version: number,
    signedIn: 'no',
    problem: 'Claude Code is not signed in. Run "claude" once and sign in, or set ANTHROPIC_API_KEY.',
  };
}

/** The output also of a command that exits with an error: without a sign-in, `auth status` does. */
function run(
  { command, env, directory, signal }: ProbeOptions,
  args: readonly string[],
): Promise<{ readonly output: string; readonly problem?: string }> {
  const [program, ...first] = command;
  // The settings of a project must not apply.
  const options = { cwd: directory, env: launchEnv(env), timeout: DESCRIBE_MS, signal };
  return new Promise((resolve) => {
    execFile(program, [...first, ...args], options, (error, output) => {
      const isMissing = error !== null && output === '';
      if (!isMissing) resolve({ output });
      else if (systemCodeOf(error) === 'ENOENT') resolve({ output, problem: `${program} is not installed.` });
      else resolve({ output, problem: stringOf(objectOf(error).message) || messageOf(error) });
    });
  });
}

const MARKER = 'polypod-probe';
const COMMAND = `touch ${MARKER}`;
const PROBE_MS = 60_000;
const DESCRIBE_MS = 20_000;
