import { Ajv, type ValidateFunction } from 'ajv';
import { openApi } from '../../src/protocols/tasks/http/openapi.ts';
import { ROUTES } from '../../src/protocols/tasks/http/routes.ts';
import { HttpConnection } from './connections.ts';
import type { Door } from './doors.ts';
import { damaged, encoded, hostileText, type JsonMap, mutated } from './mutate.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

interface Exchange {
  readonly head: string;
  readonly body: string;
}

let target: Target | undefined;

/** Requests on kept connections; what ends a connection comes last. */
export const http: Door = {
  name: 'tasks HTTP',
  open: async (opened) => {
    target = opened;
    return HttpConnection.open(opened.url);
  },
  message: (random, tag) => request(random, tag),
  last: (random, tag) => closing(random, tag),
  // Request ids are the server's own, so the tag is where the answer quotes it.
  probe: (tag) => Buffer.from(get(`/tasks/${tag}-probe/status`, {})),
  isProbed: (text, tag) => text.includes(`${tag}-probe`),
  mayClose: true,
  check: (line) => problem(line as Exchange),
  tagOf: (line) => /(fuzz\w+-probe)/.exec((line as Exchange).body)?.[1],
};

const SUBMIT: JsonMap = {
  sessionId: 's1',
  userPrompt: 'hello',
  taskType: 'chat',
  context: {
    workingDirectory: '/tmp',
    maxTurns: 1,
    budget: 1,
    model: 'm',
    permissionMode: 'read-only',
    files: ['a'],
  },
};
const DECIDE: JsonMap = {
  decision: 'approve',
  comment: 'c',
  updatedArguments: '{}',
  remember: 'once',
  sessionId: 's',
};

const GETS: readonly string[] = [
  ...[
    '/status',
    '/health',
    '/tasks',
    '/sessions',
    '/approvals',
    '/usage',
    '/openapi.json',
    '/metrics',
    '/ws',
    '/',
  ],
  ...[
    '/tasks?limit=10&status=completed',
    '/sessions?limit=5',
    '/tasks/t1',
    '/sessions/s1',
    '/approvals?sessionId=s1',
  ],
  ...['/tasks/none/events?after=1', '/sessions/none/events?after=1.5'],
];

const ODD_PARTS: readonly string[] = [
  ...[
    '..',
    '.',
    '%00',
    '%2e%2e',
    '%2f',
    '%ff%fe',
    '%',
    '%zz',
    '__proto__',
    'constructor',
    '-1',
    '1e999',
    'x'.repeat(3_000),
  ],
  ...[
    '%F0%9F%98%80',
    '%ED%A0%80',
    '',
    ';a=b',
    '0',
    '99999999999999999999',
    '%0d%0aX-Injected:%20yes',
    '+',
    '*',
  ],
];

function request(random: Random, tag: string): Uint8Array {
  const headers: Record<string, string> = {};
  if (random.chance(0.5)) headers['x-request-id'] = `${tag}-${random.below(1_000)}`;
  if (random.chance(0.05)) headers['last-event-id'] = random.pick(ODD_PARTS).slice(0, 500);
  if (random.chance(0.05)) headers['idempotency-key'] = random.pick(['k', 'k'.repeat(300), '\u00e9', '%00']);
  if (random.chance(0.03)) headers.origin = random.pick(['http://evil.example', 'null', 'x', '']);
  if (random.chance(0.02)) headers.accept = '*/*;q=0.00001,'.repeat(50);
  if (random.chance(0.55)) return Buffer.from(get(oddPath(random, random.pick(GETS)), headers, random));
  const isSubmit = random.chance(0.7);
  const path = isSubmit
    ? '/submit_task'
    : random.pick(['/approvals/a1/decide', '/tasks/t1/cancel', '/tasks', '/nowhere']);
  // Whole tasks are rare: each is work for the simulated model.
  const message = isSubmit ? (random.chance(0.005) ? SUBMIT : { ...SUBMIT, taskType: 'none' }) : DECIDE;
  const changed = mutated(message, random, new Set(['taskType']));
  const body = random.chance(0.2) ? damaged(encoded(changed), random) : Buffer.from(encoded(changed));
  return post(path, headers, body, random);
}

function oddPath(random: Random, path: string): string {
  if (random.chance(0.5)) return path;
  const [route = '', query] = path.split('?');
  const parts = route.split('/');
  if (random.chance(0.7)) parts[1 + random.below(parts.length)] = random.pick(ODD_PARTS);
  if (query === undefined && random.chance(0.6)) return parts.join('/') || '/';
  const names = ['after', 'limit', 'status', 'sessionId', '__proto__', 'x'];
  return `${parts.join('/') || '/'}?${random.pick(names)}=${random.pick(ODD_PARTS)}&${random.pick(names)}=${random.pick(ODD_PARTS)}`;
}

function get(path: string, headers: Readonly<Record<string, string>>, random?: Random): string {
  const method = random?.chance(0.06)
    ? random.pick(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'LINK'])
    : 'GET';
  return head(`${method} ${path.startsWith('/') ? path : `/${path}`}`, headers);
}

function post(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  random: Random,
): Uint8Array {
  const type = random.chance(0.04)
    ? random.pick(['text/plain', 'application/xml', '', 'application/json;charset=utf-7'])
    : 'application/json';
  const text = head(`POST ${path}`, {
    ...headers,
    'content-type': type,
    'content-length': String(body.length),
  });
  return Buffer.concat([Buffer.from(text), body]);
}

function head(line: string, headers: Readonly<Record<string, string>>): string {
  const { url = 'http://127.0.0.1:1', key = '' } = target ?? {};
  const all = { host: new URL(url).host, authorization: `Bearer ${key}`, ...headers };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
}

/** Requests that the server can only answer by closing, and such that never end. */
function closing(random: Random, tag: string): Uint8Array {
  switch (random.below(10)) {
    case 0:
      return random.bytes(1 + random.below(2_000));
    case 1:
      return Buffer.from(head('GET /status', { 'x-pad': 'x'.repeat(20_000) }));
    case 2:
      return Buffer.from(
        head('POST /submit_task', { 'content-type': 'application/json', 'content-length': '99999999999' }),
      );
    case 3:
      return Buffer.from(
        `${head('POST /submit_task', { 'content-type': 'application/json', 'content-length': '50' })}{"a":1`,
      );
    case 4:
      return Buffer.from(
        `${head('POST /submit_task', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })}zz\r\n`,
      );
    case 5:
      return Buffer.from(
        head('GET /status', { host: '', 'x-a': 'b' }).replace(
          'HTTP/1.1',
          random.pick(['HTTP/9.9', 'HTTP/1.0', 'FTP/1.1', '']),
        ),
      );
    case 6:
      return Buffer.from(
        head(`GET /ws`, {
          upgrade: random.pick(['websocket', 'h2c', 'x']),
          connection: 'Upgrade',
          'sec-websocket-version': random.pick(['13', '8']),
          'sec-websocket-key': random.pick(['x', 'dGhlIHNhbXBsZSBub25jZQ==']),
        }),
      );
    case 7:
      return Buffer.from(
        head('GET http://evil.example/status', {
          host: random.pick(['evil.example', '127.0.0.1', 'localhost']),
        }),
      );
    case 8:
      return damaged(head('GET /status', { 'x-request-id': tag }), random);
    default:
      return Buffer.from(
        head('CONNECT evil.example:80', {
          'x-h': hostileText(random)
            .replaceAll(/[^\x20-\x7e]/g, '')
            .slice(0, 4_000),
        }),
      );
  }
}

interface Operation {
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>> }
    >
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const DOCUMENT = openApi(ROUTES, '0') as unknown as Document;
const STATUSES: ReadonlySet<string> = new Set([
  ...Object.values(DOCUMENT.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.keys(responses)),
  ),
  ...['101', '204'],
]);
const ajv = new Ajv({ strict: false, validateFormats: false });
const CHECKS = new Map<string, ValidateFunction>(
  Object.entries(DOCUMENT.components.schemas).map(([name, schema]) => [name, ajv.compile(schema)]),
);

/** By the OpenAPI document: the status is one of it, an error is an Error, and a result is one of the replies. */
function problem({ head: text, body }: Exchange): string | undefined {
  const status = /^HTTP\/1\.[01] (\d{3}) /.exec(text)?.[1] ?? '';
  if (!STATUSES.has(status)) return `status ${status} is not in the document: ${text.slice(0, 200)}`;
  if (status.startsWith('5') && status !== '503') return `status ${status}: ${body.slice(0, 300)}`;
  if (/^x-injected/im.test(text)) return 'a header was injected';
  const type = /^content-type: *([^;\r\n]+)/im.exec(text)?.[1] ?? '';
  if (type !== 'application/json') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return `not JSON: ${body.slice(0, 200)}`;
  }
  if (Number(status) >= 400)
    return CHECKS.get('Error')?.(value) === true ? long(body) : `no Error: ${body.slice(0, 200)}`;
  const fits = [...CHECKS].some(([name, check]) => name !== 'Error' && check(value));
  return fits ? undefined : `no reply of the document: ${body.slice(0, 200)}`;
}

function long(body: string): string | undefined {
  return body.length > 20_000 ? `an error of ${body.length} characters` : undefined;
}
