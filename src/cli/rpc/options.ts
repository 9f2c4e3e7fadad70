import { THINKING_LEVELS } from '../../pod/index.ts';
import { nearestMatch, PolypodError, withoutUndefined } from '../../base/index.ts';

/** The command line of `polypod --mode rpc`: the options that hosts of pi and xcsh pass, and our own. */
export interface RpcOptions {
  /** The agent that does the work of a new session. */
  readonly backend?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly apiKey?: string;
  readonly models: readonly string[];
  readonly sessionDir?: string;
  readonly isEphemeral: boolean;
  readonly isContinued: boolean;
  /** A path, an id, or the beginning or end of an id. */
  readonly resume?: string;
  readonly fork?: string;
  /** A text, or the path of a file. */
  readonly systemPrompt?: string;
  readonly appendSystemPrompts: readonly string[];
  readonly tools: ToolSelection;
  readonly hasContextFiles: boolean;
  /** Whether `/NAME` uses the file `commands/NAME.md`. */
  readonly hasPrompts: boolean;
  readonly extensions: readonly string[];
  readonly hasMcp: boolean;
  readonly hasRules: boolean;
  /** Whether commands need approval. */
  readonly isAsking: boolean;
  /** Whether commands run in a sandbox. */
  readonly isSandboxed: boolean;
  /** Connect to nothing outside this machine. */
  readonly isOffline: boolean;
  readonly echoErrors: boolean;
  /** Host the session in this process, even if a daemon is running. */
  readonly isInProcess: boolean;
  readonly isHelpWanted: boolean;
  readonly isVersionWanted: boolean;
  /** Notices about the options for the host program, printed on stderr. */
  readonly notices: readonly string[];
}

/** Which of the agent's tools the model receives. The client's own tools are always included. */
export type ToolSelection = 'all' | 'none' | 'not-built-in' | { readonly only: readonly string[] };

type Option = {
  readonly names: readonly [string, ...string[]];
  readonly help: string;
} & (
  | { readonly takes?: undefined }
  | {
      /** The name of its value in the help. */
      readonly takes: string;
      /** The value is optional. */
      readonly isOptional?: true;
    }
) & {
    /** Why the option is not supported. */
    readonly refused?: string;
  };

const OPTIONS = {
  mode: { names: ['--mode'], takes: 'rpc', help: 'start RPC mode' },
  help: { names: ['--help', '-h'], help: 'print this help' },
  version: { names: ['--version', '-v'], help: 'print the version' },
  provider: { names: ['--provider'], takes: 'NAME', help: 'the provider of the model' },
  model: {
    names: ['--model'],
    takes: 'ID',
    help: 'an id or provider/id; can end with a thinking level, as in id:high',
  },
  models: {
    names: ['--models'],
    takes: 'A,B',
    help: 'the models that cycle_model cycles through, also as patterns: anthropic/*, *sonnet*:high',
  },
  thinking: { names: ['--thinking'], takes: 'LEVEL', help: 'off, minimal, low, medium, high or xhigh' },
  apiKey: {
    names: ['--api-key'],
    takes: 'KEY',
    help: "the key of the model's account; other users of this machine can see it: prefer a variable",
  },
  backend: {
    names: ['--backend'],
    takes: 'NAME',
    help: 'the agent that does the work of a new session; see polypod backends',
  },
  sessionDir: { names: ['--session-dir'], takes: 'DIR', help: 'the directory for session files' },
  noSession: { names: ['--no-session'], help: 'do not store the session' },
  noDaemon: {
    names: ['--no-daemon'],
    help: 'host the session in this process, even if the daemon is running',
  },
  continued: { names: ['--continue', '-c'], help: 'continue the last session of this directory' },
  resume: {
    names: ['--resume', '-r', '--session'],
    takes: 'SESSION',
    isOptional: true,
    help: 'open a session by file, id or a part of its id; without a value, as --continue',
  },
  fork: { names: ['--fork'], takes: 'SESSION', help: 'create a new session from a copy of SESSION' },
  system: {
    names: ['--system-prompt'],
    takes: 'TEXT',
    help: 'replace the system prompt with a text or the content of a file',
  },
  appendSystem: {
    names: ['--append-system-prompt'],
    takes: 'TEXT',
    help: 'append a text or the content of a file to the system prompt; can be repeated',
  },
  tools: { names: ['--tools', '-t'], takes: 'A,B', help: 'offer only these tools to the model' },
  noTools: { names: ['--no-tools', '-nt'], help: 'offer only the tools of the client' },
  noBuiltinTools: {
    names: ['--no-builtin-tools', '-nbt'],
    help: 'offer no built-in tools; tools of extensions, MCP servers and the client remain',
  },
  noContextFiles: {
    names: ['--no-context-files', '-nc'],
    help: 'do not send AGENTS.md and skills to the model',
  },
  noPromptTemplates: {
    names: ['--no-prompt-templates', '-np'],
    help: 'do not expand /NAME to the prompt in commands/NAME.md',
  },
  extension: {
    names: ['--extension', '-e'],
    takes: 'FILE',
    help: 'load an extension; can be repeated',
  },
  noMcp: { names: ['--no-mcp'], help: 'do not use the MCP servers of the configuration' },
  noRules: { names: ['--no-rules'], help: 'do not use the stream rules of the configuration' },
  sandbox: { names: ['--sandbox'], help: 'run commands in a bubblewrap sandbox, in this process' },
  ask: { names: ['--ask'], help: 'require approval for commands and MCP tools' },
  offline: { names: ['--offline'], help: 'connect only to models and MCP servers on this machine' },
  rpcErrors: { names: ['--rpc-errors'], takes: 'echo', help: 'send the id of the command with every error' },
  // These options request what is always the case.
  noExtensions: {
    names: ['--no-extensions', '-ne'],
    help: 'no effect: only extensions named with -e are loaded',
  },
  noSkills: { names: ['--no-skills', '-ns'], help: 'no effect: use --no-context-files' },
  noThemes: { names: ['--no-themes'], help: 'no effect: always the case' },
  noTitle: { names: ['--no-title'], help: 'no effect: always the case' },
  noColor: { names: ['--no-color'], help: 'no effect: always the case' },
  noLsp: { names: ['--no-lsp'], help: 'no effect: always the case' },
  noPty: { names: ['--no-pty'], help: 'no effect: always the case' },
  verbose: { names: ['--verbose'], help: 'no effect: this mode has no screen' },
  theme: {
    names: ['--theme'],
    takes: 'FILE',
    help: 'no effect: this mode has no screen',
  },
  providerSessionId: {
    names: ['--provider-session-id'],
    takes: 'ID',
    help: 'no effect, prints a notice: providers receive no session id',
  },
  // Without an error, these options would have no effect.
  skill: {
    names: ['--skill'],
    takes: 'PATH',
    help: '',
    refused: 'put the skill into .polypod/skills of the project',
  },
  promptTemplate: {
    names: ['--prompt-template'],
    takes: 'PATH',
    help: '',
    refused: 'put the file into .polypod/commands of the project',
  },
  print: {
    names: ['--print', '-p'],
    help: '',
    refused: 'it is not an option of this mode: use polypod run',
  },
  export: {
    names: ['--export'],
    takes: 'FILE',
    help: '',
    refused: 'it is not an option of this mode: send export_html',
  },
  listModels: {
    names: ['--list-models'],
    help: '',
    refused: 'it is not an option of this mode: use polypod models',
  },
} as const satisfies Readonly<Record<string, Option>>;

type Name = keyof typeof OPTIONS;
const BY_NAME: ReadonlyMap<string, Name> = new Map(
  // The compiler does not infer the type of the keys.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  (Object.keys(OPTIONS) as Name[]).flatMap((key) => OPTIONS[key].names.map((name) => [name, key] as const)),
);

/** The text of `polypod --mode rpc --help`. */
export function rpcHelp(): string {
  const rows = Object.values<Option>(OPTIONS)
    .filter(({ refused }) => refused === undefined)
    .map(({ names, takes, help }) => [`${names.join(', ')}${takes === undefined ? '' : ` ${takes}`}`, help]);
  const width = Math.max(...rows.map(([left = '']) => left.length));
  const lines = rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${right}`);
  return `Usage: polypod --mode rpc [options]

Serve one client of the coding-agent protocol of pi, oh-my-pi and xcsh on stdin and stdout. See docs/protocols/rpc.md.

Options:
${lines.join('\n')}
`;
}

/**
 * Parses the command line. `bad-request`: it is invalid. `denied`: it has a file argument, for which those programs exit with 1.
 */
export function readRpcOptions(argv: readonly string[]): RpcOptions {
  const { given, others } = sorted(argv);
  if (others.some((word) => word.startsWith('@')))
    throw new PolypodError('denied', 'Error: @file arguments are not supported in RPC mode');
  const [word] = others;
  if (word !== undefined)
    throw usage(`"${word}" is not an option: messages are sent as a prompt command on stdin`);
  const last = (name: Name): string | undefined => given.get(name)?.at(-1);
  const has = (name: Name): boolean => given.has(name);
  const resume = last('resume');
  const rpcErrors = last('rpcErrors');
  if (rpcErrors !== undefined && rpcErrors !== 'echo')
    throw usage(`--rpc-errors cannot be "${rpcErrors}": the only value is echo`);
  if (has('offline') && has('backend')) throw usage('--offline and --backend exclude each other');
  return {
    ...withoutUndefined({
      backend: last('backend'),
      provider: last('provider'),
      model: last('model'),
      thinking: last('thinking'),
      apiKey: last('apiKey'),
      sessionDir: last('sessionDir'),
      fork: last('fork'),
      systemPrompt: last('system'),
      resume: resume === '' ? undefined : resume,
    }),
    appendSystemPrompts: given.get('appendSystem') ?? [],
    models: listIn(last('models')),
    tools: toolsIn(last('tools'), has),
    hasContextFiles: !has('noContextFiles'),
    hasPrompts: !has('noPromptTemplates'),
    extensions: given.get('extension') ?? [],
    isEphemeral: has('noSession'),
    isInProcess: has('noDaemon'),
    isContinued: has('continued') || resume === '',
    hasMcp: !has('noMcp'),
    hasRules: !has('noRules'),
    isAsking: has('ask'),
    isSandboxed: has('sandbox'),
    isOffline: has('offline'),
    echoErrors: rpcErrors === 'echo',
    isHelpWanted: has('help'),
    isVersionWanted: has('version'),
    notices: noticesOn(last('thinking'), has),
  };
}

/** As in pi, a list of tools overrides the options that exclude tools. */
function toolsIn(list: string | undefined, has: (name: Name) => boolean): ToolSelection {
  if (list !== undefined) return { only: listIn(list) };
  if (has('noTools')) return 'none';
  return has('noBuiltinTools') ? 'not-built-in' : 'all';
}

function noticesOn(thinking: string | undefined, has: (name: Name) => boolean): readonly string[] {
  const isLevel = thinking === undefined || THINKING_LEVELS.some((level) => level === thinking);
  return [
    ...(isLevel ? [] : [`--thinking cannot be "${thinking}", and is ignored: ${THINKING_LEVELS.join(', ')}`]),
    ...(has('providerSessionId')
      ? ['--provider-session-id has no effect: providers are sent no session id']
      : []),
  ];
}

interface Sorted {
  /** The values of each option; an option without a value has empty ones. */
  readonly given: ReadonlyMap<Name, readonly string[]>;
  readonly others: readonly string[];
}

function sorted(argv: readonly string[]): Sorted {
  const given = new Map<Name, string[]>();
  const others: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (!word.startsWith('-')) {
      others.push(word);
      continue;
    }
    const [name, joined] = word.startsWith('--') ? split(word) : [word];
    const key = BY_NAME.get(name);
    if (key === undefined) throw unknownOption(name);
    const option: Option = OPTIONS[key];
    if (option.refused !== undefined) throw usage(`${name} cannot be used: ${option.refused}`);
    if (option.takes === undefined && joined !== undefined) throw usage(`${name} takes no value`);
    const next = argv[at + 1];
    // A text may begin with a dash, such as a list. An optional session may not.
    const isTaken =
      option.takes !== undefined &&
      joined === undefined &&
      next !== undefined &&
      !(option.isOptional === true && next.startsWith('-'));
    if (option.takes !== undefined && joined === undefined && !isTaken && option.isOptional !== true)
      throw usage(`${name} needs a value: ${option.takes}`);
    if (isTaken) at += 1;
    given.set(key, [...(given.get(key) ?? []), joined ?? (isTaken ? next : '')]);
  }
  return { given, others };
}

function unknownOption(name: string): PolypodError {
  const near = nearestMatch(name, BY_NAME.keys());
  return usage(`unknown option ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
}

function usage(problem: string): PolypodError {
  return new PolypodError('bad-request', `${problem} (see: polypod --mode rpc --help)`);
}

function split(word: string): readonly [string, string?] {
  const at = word.indexOf('=');
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
