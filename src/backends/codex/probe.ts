import { access, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  arrayOf,
  type Env,
  type JsonObject,
  messageOf,
  objectOf,
  onAbort,
  PolypodError,
  stringOf,
  tryParse,
} from '../../base/index.ts';
import type { AgentEvent } from '../agent-event.ts';
import type { AgentDescription, AgentServices, ProbeOptions, ProbeResult } from '../agent-program.ts';
import { connect } from './connection.ts';
import { CodexServer } from './rpc.ts';

/** Describes the installed program: it is started and asked, and no thread is opened. */
export async function describe(options: ProbeOptions): Promise<AgentDescription> {
  let server: CodexServer | undefined;
  try {
    server = await CodexServer.start({ ...options, onFrames: async () => {}, onEnd: () => {} });
    const [, version] = /\/(\d+\.\d+\.\d+\S*)/.exec(stringOf(server.hello.userAgent)) ?? [];
    const { account, requiresOpenaiAuth } = await server.request('account/read', {});
    const isSignedIn = account !== null && account !== undefined;
    // If the user has configured another provider, it has its own key.
    const signedIn = isSignedIn ? 'yes' : requiresOpenaiAuth === false ? 'unknown' : 'no';
    if (signedIn === 'no') return { version, signedIn, problem: 'No user is signed in. Run "codex login".' };
    const problem = await rulesProblem(join(stringOf(server.hello.codexHome), 'rules'));
    return { version, signedIn, ...(problem === undefined ? {} : { problem }) };
  } catch (thrown) {
    return { version: undefined, signedIn: 'unknown', problem: messageOf(thrown) };
  } finally {
    await server?.close(0);
  }
}

function codexHome({ CODEX_HOME, HOME = homedir() }: Env): string {
  return CODEX_HOME ?? join(HOME, '.codex');
}

/** Codex runs commands that the user has allowed for ever in Codex itself, and does not ask us. */
async function rulesProblem(directory: string): Promise<string | undefined> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((one) => one.endsWith('.rules'))) {
    const text = await readFile(join(directory, name), 'utf8').catch(() => '');
    const [, ...rules] = text.replaceAll(/^\s*#.*$/gm, '').split(/\bprefix_rule\s*\(/);
    if (rules.some((rule) => !/\bdecision\s*=\s*["'](?:prompt|forbidden)["']/.test(rule)))
      return `Codex runs commands without asking if a rule in ${join(directory, name)} allows them. Remove these rules, or set CODEX_HOME to a directory without them.`;
  }
  return undefined;
}

/**
 * Lets a model of our own on the loopback interface call a command, with a configuration directory of its own and the arguments that
 * are used otherwise. The command must not run before it is approved.
 */
export async function probe(options: ProbeOptions): Promise<ProbeResult> {
  // The configuration of the check has no rules, so those of the user are read.
  const unasked = await rulesProblem(join(codexHome(options.env), 'rules'));
  if (unasked !== undefined) return { status: 'runs-unasked', detail: unasked };
  const directory = await mkdtemp(join(options.directory, 'probe-'));
  const model = await startModel();
  try {
    return await runProbe(options, directory, model.url);
  } catch (thrown) {
    return { status: 'failed', detail: messageOf(thrown) };
  } finally {
    model.close();
    // Codex may still be writing its files.
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function runProbe(options: ProbeOptions, directory: string, url: string): Promise<ProbeResult> {
  const cwd = join(directory, 'project');
  const home = join(directory, 'home');
  await mkdir(cwd);
  await mkdir(home);
  let finish: (event: AgentEvent | Error) => void = () => {};
  const finished = new Promise<AgentEvent | Error>((resolve) => {
    finish = resolve;
  });
  const connection = await connect(
    {
      ...options,
      env: { ...options.env, CODEX_HOME: home, [KEY_VARIABLE]: 'none' },
      cwd,
      trustProject: false,
      start: { type: 'new' },
      settings: { mode: 'read-only', paths: [], model: 'polypod-probe' },
      mcpServers: [],
      services: NO_SERVICES,
      onEvents: async (events) => {
        const event = events.find(({ type }) => type === 'permission' || type === 'turn-end');
        if (event !== undefined) finish(event);
      },
      onEnd: ({ message, stderr }) => finish(new Error(`Codex has ended: ${message}\n${stderr}`)),
    },
    providerArgs(url),
  );
  const release = onAbort(options.signal, () => finish(new Error('the check was cancelled')));
  try {
    const timer = setTimeout(() => finish(new Error('Codex did nothing for 30 seconds')), LIMIT_MS);
    connection.prompt([{ type: 'text', text: 'Create the file.' }]);
    const event = await finished;
    clearTimeout(timer);
    if (await exists(join(cwd, FILE)))
      return { status: 'runs-unasked', detail: 'It ran a command without asking.' };
    if (event instanceof Error) return { status: 'failed', detail: event.message };
    if (event.type === 'permission') return { status: 'asks' };
    return { status: 'failed', detail: `It ended the turn without a call: ${JSON.stringify(event)}` };
  } finally {
    release();
    await connection.close();
  }
}

function providerArgs(url: string): readonly string[] {
  const provider = 'model_providers.polypod_probe';
  const values = [
    'model_provider="polypod_probe"',
    `${provider}.name="probe"`,
    `${provider}.base_url="${url}"`,
    `${provider}.wire_api="responses"`,
    `${provider}.env_key="${KEY_VARIABLE}"`,
  ];
  return values.flatMap((value) => ['-c', value]);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

/** Answers with a call of the command tool that the request offers, and with text after the call has returned. */
async function startModel(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer(
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port is available');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += String(piece);
  const { tools: offered, input } = objectOf(tryParse(body));
  const tools = arrayOf(offered).map((tool) => stringOf(objectOf(tool).name));
  const hasReturned = arrayOf(input).some((item) => objectOf(item).type === 'function_call_output');
  const name = Object.keys(TOOLS).find((known) => tools.includes(known));
  if (name === undefined) {
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"error":{"message":"no known tool"}}');
    return;
  }
  const call = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name,
    arguments: JSON.stringify(TOOLS[name]),
  };
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Done.' }],
  };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item: hasReturned ? message : call },
    { type: 'response.completed', response: { id: 'resp_1', usage } },
  ] satisfies JsonObject[])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

const FILE = 'probe';
/** The command tools of Codex, with arguments. */
const TOOLS: Readonly<Record<string, JsonObject>> = {
  exec_command: { cmd: `touch ${FILE}` },
  shell_command: { command: `touch ${FILE}` },
  shell: { command: ['touch', FILE] },
};
const KEY_VARIABLE = 'CODEX_PROBE_KEY';
const LIMIT_MS = 30_000;

const refuse = async (): Promise<never> => {
  throw new PolypodError('denied', 'not available');
};
const NO_SERVICES: AgentServices = { readTextFile: refuse, writeTextFile: refuse, runCommand: refuse };
