import { readMessage } from '../../src/base/index.ts';
import { callProblem } from '../protocols/acp/frame-log.ts';
import { type Check, errorMessageProblem } from './answers.ts';
import { LineConnection } from './connections.ts';
import type { Door } from './doors.ts';
import { encoded, type JsonMap, payload } from './mutate.ts';

interface AcpTemplate {
  readonly message: JsonMap;
  /** Its session is replaced by an unknown one nearly always: it starts a run, ends the session, or creates one. */
  readonly acts?: boolean;
  /** Keys that keep their values, so that the message is refused however it is mutated. */
  readonly fixed?: readonly string[];
}

const request = (method: string, params: JsonMap): JsonMap => ({ jsonrpc: '2.0', method, params });
const SESSION = '$pod';
const prompt = [{ type: 'text', text: 'hello' }];
const server = { name: 's', command: '/no/such/command', args: ['a'], env: [{ name: 'A', value: 'b' }] };

const TEMPLATES: readonly AcpTemplate[] = [
  {
    message: request('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false }, terminal: false, session: { notices: {} } },
      clientInfo: { name: 'fuzz', version: '1' },
    }),
  },
  { message: request('authenticate', { methodId: 'setup' }) },
  { message: request('session/list', { cwd: '/tmp' }) },
  { message: request('session/list', { cursor: '2030-01-01T00:00:00Z s1' }) },
  { message: request('session/new', { cwd: '/tmp', mcpServers: [] }), acts: true },
  {
    message: request('session/new', {
      cwd: '/no/such/directory',
      mcpServers: [server, { type: 'http', name: 'h', url: 'http://127.0.0.1:9', headers: [] }],
      additionalDirectories: ['/tmp'],
    }),
    fixed: ['cwd'],
  },
  { message: request('session/load', { sessionId: SESSION, cwd: '$cwd', mcpServers: [] }), acts: true },
  { message: request('session/load', { sessionId: 's1', cwd: '/tmp', mcpServers: [server] }) },
  { message: request('session/resume', { sessionId: SESSION, cwd: '/', mcpServers: [] }), fixed: ['cwd'] },
  { message: request('session/prompt', { sessionId: SESSION, prompt }), acts: true },
  {
    message: request('session/prompt', {
      sessionId: SESSION,
      prompt: [
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        ...prompt,
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
        { type: 'resource_link', uri: 'file:///tmp/a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///tmp/b', text: 'b' } },
      ],
    }),
    fixed: ['type', 'prompt'],
  },
  { message: request('session/prompt', { sessionId: 's1', prompt }) },
  { message: request('session/cancel', { sessionId: SESSION }) },
  { message: request('session/close', { sessionId: SESSION }), acts: true },
  { message: request('session/delete', { sessionId: 's1' }) },
  { message: request('session/set_mode', { sessionId: SESSION, modeId: 'read-only' }) },
  {
    message: request('session/set_config_option', {
      sessionId: SESSION,
      configId: 'thinking',
      value: 'low',
    }),
  },
  {
    message: request('session/set_config_option', {
      sessionId: SESSION,
      configId: 'model',
      value: 'no/such',
    }),
  },
  { message: request('$/cancel_request', { requestId: 'r1' }) },
  { message: request('session/update', { sessionId: SESSION, update: {} }) },
  { message: request('_extension', {}) },
  { message: request('__proto__', {}) },
  { message: { jsonrpc: '2.0', result: { outcome: { outcome: 'selected', optionId: 'allow-once' } } } },
  { message: { jsonrpc: '2.0', error: { code: -32603, message: 'no', data: {} } } },
];

/** The Agent Client Protocol, over the socket to which `polypod acp` forwards bytes. */
export const acp: Door = {
  name: 'acp',
  open: async ({ acp: path, project }, { id }) => {
    const connection = await LineConnection.unix(path);
    const received = (matches: (line: Line) => boolean): Promise<Line> =>
      new Promise((resolve, reject) => {
        connection.onClose = () => reject(new Error('the connection was closed'));
        connection.onMessage = (text) => {
          const line = JSON.parse(text) as Line;
          if (matches(line)) resolve(line);
        };
      });
    const send = (line: JsonMap): Promise<void> =>
      connection.send(connection.frame(Buffer.from(encoded(line))));
    const greeting = received(({ open }) => open === true);
    await send({ by: 'fuzz', setup: { command: 'polypod', args: [] } });
    await greeting;
    const loaded = received((line) => line.id === 'load');
    await send({
      ...request('initialize', {
        protocolVersion: 1,
        clientCapabilities: { session: { notices: {}, compaction: {} } },
      }),
      id: 'initialize',
    });
    await send({
      ...request('session/load', { sessionId: id, cwd: project, mcpServers: [] }),
      id: 'load',
    });
    const { error } = await loaded;
    if (error === undefined) return connection;
    connection.destroy();
    throw new Error(`session/load: ${JSON.stringify(error)}`);
  },
  message: (random, tag, { id, project }) => {
    const template = random.pick(TEMPLATES);
    const isBroken = template.acts === true && !random.chance(0.02);
    const text = encoded(template.message)
      .replaceAll(`"${SESSION}"`, JSON.stringify(isBroken ? 'none' : id))
      .replaceAll('"$cwd"', JSON.stringify(isBroken ? '/no/such/directory' : project));
    const message = JSON.parse(text) as JsonMap;
    // A new session has no session to replace: its directory does not exist.
    if (isBroken && message.method === 'session/new')
      return payload(
        random,
        { ...message, params: { cwd: '/no/such/directory' }, id: `${tag}-n` },
        new Set(['cwd']),
      );
    const isAnswer = message.method === undefined;
    const withId = isAnswer
      ? { ...message, id: random.below(20) }
      : { ...message, ...(random.chance(0.8) && { id: `${tag}-${random.below(100_000)}` }) };
    return payload(random, withId, new Set(isBroken ? ['sessionId', 'cwd'] : (template.fixed ?? [])));
  },
  last: (random, tag, { id, project }) =>
    payload(
      random,
      {
        ...random.pick([
          request('session/load', { sessionId: id, cwd: project, mcpServers: [] }),
          request('session/prompt', { sessionId: id, prompt }),
          request('session/new', { cwd: project, mcpServers: [] }),
        ]),
        id: `${tag}-last`,
      },
      new Set(['mcpServers']),
    ),
  probe: (tag) =>
    Buffer.from(encoded({ ...request('session/list', { cwd: '/no/such' }), id: `${tag}-probe` })),
  isProbed: (line, tag) => line.includes(`"id":"${tag}-probe"`),
  check: (line) => acpLine(line),
  tagOf: (line) => (line as Line).id,
  answers: { isAnswer: (line) => isMap(line) && 'id' in line && line.method === undefined, due: answersDue },
};

type Line = { readonly [key: string]: unknown };

function isMap(value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const CODES: ReadonlySet<unknown> = new Set([
  ...[-32700, -32600, -32601, -32602, -32603],
  ...[-32000, -32002, -32800],
]);

const acpLine: Check = (line) => {
  if (!isMap(line) || line.jsonrpc !== '2.0') return 'not JSON-RPC 2.0';
  if (typeof line.method === 'string') return callProblem(line.method, line.params);
  if (!('id' in line)) return 'no id';
  if ('result' in line === 'error' in line) return 'neither result nor error, or both';
  if (!('error' in line)) return isMap(line.result) ? undefined : 'the result is no object';
  const { error } = line;
  if (!isMap(error) || !CODES.has(error.code)) return `unknown code in ${JSON.stringify(error)}`;
  return typeof error.message === 'string'
    ? errorMessageProblem(error.message)
    : 'an error without a message';
};

/**
 * The number of answers to these bytes: one for each request and each line that is not a message; none for notifications and
 * answers. A prompt is answered at the end of its run, which may be queued behind those of other clients.
 */
function answersDue(bytes: Uint8Array): { readonly least: number; readonly most: number } {
  let [least, prompts] = [0, 0];
  for (const line of Buffer.from(bytes).toString('utf8').split('\n')) {
    if (line.trim() === '') continue;
    const read = readMessage(line);
    const value = 'value' in read ? read.value : undefined;
    if (!isMap(value) || value.jsonrpc !== '2.0') least += 1;
    else if (!['string', 'number', 'undefined'].includes(typeof value.id) && value.id !== null) least += 1;
    else if (value.method === 'session/prompt' && value.id !== undefined) prompts += 1;
    else if (typeof value.method === 'string') least += value.id === undefined ? 0 : 1;
    else if (!('result' in value) && !('error' in value)) least += 1;
  }
  return { least, most: least + prompts };
}
