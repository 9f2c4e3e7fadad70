import type { Values } from '../../options.ts';
import { DATA_DIR } from '../../args/data-dir.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';

const TYPES = ['chat', 'command_execution', 'file_operation', 'complex_task'] as const;
const STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;

/** The options of all actions; ACTIONS lists which action takes which. */
export const OPTIONS = {
  type: { type: 'choice', short: 't', choices: TYPES, help: 'the task type (default: complex_task)' },
  session: {
    type: 'text',
    short: 's',
    value: 'NAME',
    help: 'the session; its tasks run in order and share a conversation (default: a new one)',
  },
  model: { type: 'text', short: 'm', value: 'PROVIDER/ID', help: 'the model' },
  cwd: { type: 'text', short: 'C', value: 'DIR', help: 'the working directory, on the machine of the agent' },
  mode: { type: 'choice', choices: PERMISSION_MODES, help: 'the permission mode' },
  'allow-path': {
    type: 'texts',
    value: 'PATH',
    help: 'an additional path that the agent can use; can be repeated',
  },
  file: {
    type: 'texts',
    short: 'f',
    value: 'PATH',
    help: 'a file of the task; can be repeated',
  },
  'max-turns': { type: 'number', value: 'N', min: 1, help: 'stop after N turns' },
  budget: { type: 'number', value: 'USD', min: 0, help: 'stop when the cost reaches this amount' },
  'idempotency-key': {
    type: 'text',
    value: 'KEY',
    help: 'submit the task only once for this key',
  },
  wait: { type: 'flag', short: 'w', help: 'wait until the task has ended and print the result' },
  watch: { type: 'flag', help: 'print events until the task has ended' },
  after: { type: 'text', value: 'ID', help: 'watch: print only events after this one' },
  poll: { type: 'flag', help: 'poll the status instead of streaming events' },
  'retry-for': {
    type: 'number',
    value: 'SECONDS',
    min: 0,
    help: 'how long to retry while the agent is unreachable (default: 120)',
  },
  status: { type: 'choice', choices: STATUSES, help: 'list: only tasks with this status' },
  limit: { type: 'number', short: 'n', value: 'N', min: 1, max: 1000, help: 'list: at most N tasks' },
  comment: { type: 'text', value: 'TEXT', help: 'approve, deny: the reason, which is sent to the model' },
  json: { type: 'flag', help: 'print JSON' },
  quiet: { type: 'flag', short: 'q', help: 'print only the result' },
  agent: { type: 'text', short: 'a', value: 'NAME', help: 'the name of an agent on this machine' },
  url: {
    type: 'text',
    value: 'URL',
    help: 'the address of the agent (default: POLYPOD_URL, or the agent on this machine)',
  },
  'key-file': {
    type: 'text',
    value: 'FILE',
    help: 'a file that contains the API key (default: POLYPOD_API_KEY, or POLYPOD_API_KEY_FILE)',
  },
  ca: {
    type: 'text',
    value: 'FILE',
    help: 'the certificate to trust, as PEM (default: POLYPOD_CA, or the system authorities)',
  },
  cert: {
    type: 'text',
    value: 'FILE',
    help: 'the client certificate, as PEM (default: POLYPOD_CERT)',
  },
  key: {
    type: 'text',
    value: 'FILE',
    help: 'the private key of --cert, as PEM (default: POLYPOD_CERT_KEY); for an API key see --key-file',
  },
  ...DATA_DIR,
  insecure: { type: 'flag', help: 'send the key over http:// to another machine' },
} as const;

export type TaskValues = Values<typeof OPTIONS>;
type OptionName = keyof TaskValues;

const CONNECTION: readonly OptionName[] = [
  ...(['json', 'agent', 'url', 'key-file', 'ca', 'cert', 'key', 'insecure', 'data-dir'] as const),
];
const FOLLOWING: readonly OptionName[] = ['poll', 'retry-for', 'quiet'];
const CONTEXT = [
  'session',
  'type',
  'model',
  'cwd',
  'mode',
  'allow-path',
  'file',
  'max-turns',
  'budget',
] as const;

/** The actions and their options. */
export const ACTIONS = {
  submit: [...CONNECTION, ...FOLLOWING, ...CONTEXT, 'idempotency-key', 'wait', 'watch'],
  status: CONNECTION,
  watch: [...CONNECTION, ...FOLLOWING, 'after', 'wait'],
  cancel: CONNECTION,
  list: [...CONNECTION, 'session', 'status', 'limit'],
  approve: [...CONNECTION, 'comment'],
  deny: [...CONNECTION, 'comment'],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type Action = keyof typeof ACTIONS;
