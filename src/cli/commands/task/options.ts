import type { Values } from '../../args/options.ts';
import { DATA_DIR } from '../../args/data-dir.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';

const TYPES = ['chat', 'command_execution', 'file_operation', 'complex_task'] as const;
const STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;

/** The options of all actions; which of them takes which is in ACTIONS. */
export const OPTIONS = {
  type: { type: 'choice', short: 't', choices: TYPES, help: 'what kind of task (default: complex_task)' },
  session: {
    type: 'text',
    short: 's',
    value: 'NAME',
    help: 'the session: its tasks run in order and know of each other (default: a new one)',
  },
  model: { type: 'text', short: 'm', value: 'PROVIDER/ID', help: 'which model' },
  cwd: { type: 'text', short: 'C', value: 'DIR', help: 'where the agent works, on its own machine' },
  mode: { type: 'choice', choices: PERMISSION_MODES, help: 'what it may do unasked' },
  'allow-path': { type: 'texts', value: 'PATH', help: 'a path beside the directory; may be repeated' },
  file: {
    type: 'texts',
    short: 'f',
    value: 'PATH',
    help: 'a file that the task is about; may be repeated',
  },
  'max-turns': { type: 'number', value: 'N', min: 1, help: 'stop after so many questions to the model' },
  budget: { type: 'number', value: 'USD', min: 0, help: 'stop when it has cost so much' },
  'idempotency-key': {
    type: 'text',
    value: 'KEY',
    help: 'the same task under the same key is submitted once',
  },
  wait: { type: 'flag', short: 'w', help: 'wait for the end and print the result' },
  watch: { type: 'flag', help: 'show what happens until the end' },
  after: { type: 'text', value: 'ID', help: 'watch: only events after this one' },
  poll: { type: 'flag', help: 'ask for the status again and again in place of a stream' },
  'retry-for': {
    type: 'number',
    value: 'SECONDS',
    min: 0,
    help: 'how long the agent may be away while it is watched (default: 120)',
  },
  status: { type: 'choice', choices: STATUSES, help: 'list: only those' },
  limit: { type: 'number', short: 'n', value: 'N', min: 1, max: 1000, help: 'list: at most so many' },
  comment: { type: 'text', value: 'TEXT', help: 'approve, deny: why; the model reads it' },
  json: { type: 'flag', help: 'print JSON' },
  quiet: { type: 'flag', short: 'q', help: 'only the result' },
  agent: { type: 'text', short: 'a', value: 'NAME', help: 'an agent on this machine, by its name' },
  url: { type: 'text', value: 'URL', help: 'where the agent is (default: POLYPOD_URL, or the one here)' },
  'key-file': {
    type: 'text',
    value: 'FILE',
    help: 'a file with the key (default: POLYPOD_API_KEY, or POLYPOD_API_KEY_FILE)',
  },
  ca: {
    type: 'text',
    value: 'FILE',
    help: 'the certificate to trust, as PEM (default: POLYPOD_CA, or as usual)',
  },
  cert: {
    type: 'text',
    value: 'FILE',
    help: 'the certificate to show to an agent that wants one, as PEM (default: POLYPOD_CERT)',
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

/** What can be done with tasks, and with which options. */
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
