import { PolypodError } from '../base/index.ts';

/** What `polypod --mode rpc` is told: all that hosts of pi and xcsh pass, and what is our own. */
export interface RpcOptions {
  readonly provider?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly apiKey?: string;
  readonly models: readonly string[];
  readonly sessionDir?: string;
  readonly isFleeting: boolean;
  readonly isContinued: boolean;
  /** A path, an id, or the beginning of one. */
  readonly resume?: string;
  readonly fork?: string;
  readonly system?: string;
  readonly appendSystem?: string;
  readonly tools?: readonly string[];
  readonly extensions: readonly string[];
  readonly hasMcp: boolean;
  readonly hasRules: boolean;
  /** Whether commands are asked about. */
  readonly isAsking: boolean;
  readonly isOffline: boolean;
  readonly echoErrors: boolean;
  /** Not in the daemon, even if one is up. */
  readonly isHere: boolean;
}

/** Options that take a value, by every name they have. */
const VALUES = {
  '--mode': 'mode',
  '--provider': 'provider',
  '--model': 'model',
  '--models': 'models',
  '--thinking': 'thinking',
  '--api-key': 'apiKey',
  '--session-dir': 'sessionDir',
  '--resume': 'resume',
  '-r': 'resume',
  '--session': 'resume',
  '--fork': 'fork',
  '--system-prompt': 'system',
  '--append-system-prompt': 'appendSystem',
  '--provider-session-id': 'providerSessionId',
  '--tools': 'tools',
  '--extension': 'extension',
  '-e': 'extension',
  '--rpc-errors': 'rpcErrors',
} as const;
type ValueName = (typeof VALUES)[keyof typeof VALUES];

/** Whether a command line asks for this mode: options may stand in any order, but no command before them. */
export function isRpcMode(argv: readonly string[]): boolean {
  const at = argv.findIndex(
    (word, index) => word === '--mode=rpc' || (word === '--mode' && argv[index + 1] === 'rpc'),
  );
  return at >= 0 && argv[0]?.startsWith('-') === true;
}

/** Reads the command line as those programs do: an option that nobody knows is passed over, and a file is refused. */
export function readRpcOptions(argv: readonly string[]): RpcOptions {
  const { values, flags, others } = sorted(argv);
  if (others.some((word) => word.startsWith('@')))
    throw new PolypodError('bad-request', 'Error: @file arguments are not supported in RPC mode');
  const last = (name: ValueName): string | undefined => values.get(name)?.at(-1);
  const resume = last('resume');
  const some = {
    provider: last('provider'),
    model: last('model'),
    thinking: last('thinking'),
    apiKey: last('apiKey'),
  };
  const more = {
    sessionDir: last('sessionDir'),
    fork: last('fork'),
    system: last('system'),
    appendSystem: last('appendSystem'),
  };
  const tools = flags.has('--no-tools')
    ? []
    : last('tools') === undefined
      ? undefined
      : listIn(last('tools'));
  return {
    ...present({ ...some, ...more }),
    ...(resume === undefined || resume === '' ? {} : { resume }),
    ...(tools === undefined ? {} : { tools }),
    models: listIn(last('models')),
    extensions: flags.has('--no-extensions') ? [] : (values.get('extension') ?? []),
    isFleeting: flags.has('--no-session'),
    isHere: flags.has('--no-daemon'),
    isContinued: flags.has('--continue') || flags.has('-c') || resume === '',
    hasMcp: !flags.has('--no-mcp'),
    hasRules: !flags.has('--no-rules'),
    isAsking: flags.has('--ask'),
    isOffline: flags.has('--offline'),
    echoErrors: last('rpcErrors') === 'echo',
  };
}

interface Sorted {
  readonly values: ReadonlyMap<ValueName, readonly string[]>;
  readonly flags: ReadonlySet<string>;
  readonly others: readonly string[];
}

function sorted(argv: readonly string[]): Sorted {
  const values = new Map<ValueName, string[]>();
  const flags = new Set<string>();
  const others: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    const [option, joined] = word.startsWith('--') ? split(word) : [word];
    if (!isValueOption(option)) {
      if (word.startsWith('-')) flags.add(word);
      else others.push(word);
      continue;
    }
    const next = argv[at + 1];
    // A session may be left out; a text may begin with a dash, as a list of points does.
    const isTaken =
      joined === undefined && next !== undefined && !(VALUES[option] === 'resume' && next.startsWith('-'));
    const value = joined ?? (isTaken ? next : '');
    if (isTaken) at += 1;
    values.set(VALUES[option], [...(values.get(VALUES[option]) ?? []), value]);
  }
  return { values, flags, others };
}

function split(word: string): readonly [string, string?] {
  const at = word.indexOf('=');
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function isValueOption(option: string): option is keyof typeof VALUES {
  return Object.hasOwn(VALUES, option);
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  // What is left has the values that it had, but for those that were undefined.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
