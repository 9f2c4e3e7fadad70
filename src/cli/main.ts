#!/usr/bin/env node
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  asPolypodError,
  cacheDirectoryFrom,
  type ErrorCode,
  nearestMatch,
  PolypodError,
  systemCodeOf,
} from '../base/index.ts';
import { EXIT, type ExitCode, type CommandContext } from './command.ts';
import { COMMANDS } from './commands.ts';
import { isRpcMode } from './rpc/is-rpc-mode.ts';
import { exposeVariables, takeEnvironment } from './secret-environment.ts';
import { sanitizeText } from '../terminal/index.ts';
import { version } from './version.ts';

const EXIT_CODES: Readonly<Record<ErrorCode, ExitCode>> = {
  'bad-request': EXIT.usage,
  'unknown-method': EXIT.usage,
  'not-found': EXIT.usage,
  conflict: EXIT.usage,
  denied: EXIT.usage,
  overloaded: EXIT.broken,
  unreachable: EXIT.broken,
  'provider-failed': EXIT.broken,
  'tool-failed': EXIT.failed,
  internal: EXIT.broken,
};

/** The commands that load much code: those that host agents. */
const CACHED: ReadonlySet<string> = new Set(['acp', 'chat', 'run', 'serve']);

const interruption = new AbortController();

const context: CommandContext = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: takeEnvironment(process.env),
  exposeVariables: (env) => exposeVariables(process.env, env),
  home: homedir(),
  signal: interruption.signal,
  onHangUp: (callback) => {
    process.off('SIGHUP', interrupt);
    process.on('SIGHUP', callback);
  },
  onUncaught: (callback) =>
    // Also called for unhandled rejections.
    void process.on('uncaughtException', (thrown) => {
      if (!callback(thrown)) process.exit(complain(thrown, process.argv[2]));
    }),
};

// The official packages for Amazon Bedrock would print on Node 20 that their later versions need Node 22. Our versions are fixed.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

// A closed terminal sends SIGHUP: no command of an agent may outlive its host, whichever signal ends it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const) process.on(signal, interrupt);

function interrupt(): void {
  // The first signal requests a clean end, the second exits at once.
  if (interruption.signal.aborted) process.exit(EXIT.interrupted);
  interruption.abort();
}

// A reader that closes the pipe early (`| head`) is not an error.
process.stdout.on('error', (error) => process.exit(systemCodeOf(error) === 'EPIPE' ? EXIT.ok : EXIT.broken));

// The exit code of a process that runs out of work before its command has ended.
process.exitCode = EXIT.broken;
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main([name, ...argv]: readonly string[]): Promise<ExitCode> {
  try {
    if (process.platform === 'win32')
      throw new PolypodError('bad-request', 'Polypod needs Unix: run it in WSL2');
    if (isRpcMode(process.argv.slice(2))) {
      await cacheCode('rpc');
      const { rpc } = await import('./rpc/rpc.ts');
      // The client may keep stdin open: the process exits as soon as the code is known.
      process.exit(await rpc(process.argv.slice(2), context));
    }
    return await dispatch(name ?? 'help', argv);
  } catch (thrown) {
    return complain(thrown, name);
  }
}

/** Saves the time to compile the code of a command again. The variable is that of Node.js. */
async function cacheCode(command: string): Promise<void> {
  if (context.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  // A help text needs none of the code, and writes nothing.
  if (process.argv.includes('--help') || process.argv.includes('-h')) return;
  const { cacheCode: cache } = await import('./code-cache.ts');
  cache(join(cacheDirectoryFrom(context.env), 'code'), command);
}

async function dispatch(name: string, argv: readonly string[]): Promise<ExitCode> {
  if (name === '--version' || name === '-V' || name === 'version') return print(`${version()}\n`);
  if (name === '--help' || name === '-h' || name === 'help') return help(argv[0]);
  if (CACHED.has(name)) await cacheCode(name);
  const command = await commandNamed(name);
  const end = argv.indexOf('--');
  // `-h` may be a word of a prompt: it requests help only where no prompt is possible.
  const asksForHelp = argv[0] === '-h' || argv.slice(0, end < 0 ? undefined : end).includes('--help');
  return asksForHelp ? print(command.help) : command.run(argv, context);
}

async function help(name: string | undefined): Promise<ExitCode> {
  return print(name === undefined ? overview() : (await commandNamed(name)).help);
}

async function commandNamed(name: string) {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry !== undefined) return entry.load();
  if (name.startsWith('-')) throw new PolypodError('bad-request', strayOption(name));
  const near = nearestMatch(name, Object.keys(COMMANDS));
  const hint = near === undefined ? 'polypod --help lists them all' : `did you mean ${near}?`;
  throw new PolypodError('bad-request', `there is no command "${name}"; ${hint}`);
}

/** Only three options are valid without a command. */
function strayOption(name: string): string {
  const [option = name] = name.split('=');
  return option === '--mode'
    ? '--mode without a command can only be rpc: polypod --mode rpc; a permission mode follows a command: polypod run --mode read-only'
    : `${option} must follow the command: polypod COMMAND ${option}; polypod --help lists the commands`;
}

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`);
  return `Polypod ${version()}: one agent runtime, every control plane.

Usage: polypod COMMAND [OPTIONS]

Commands:
${rows.join('\n')}

  Run "polypod COMMAND --help" for the options of a command, "polypod --mode rpc --help" for those of RPC mode, and
  "polypod --version" for the version.

Next steps:
  polypod ask "What can you do?"              send one prompt to a model
  polypod chat                                work with an agent in this directory
  polypod run "What does this project do?"    let an agent do one task
  polypod accounts add                        set up an account of a provider
  polypod config init                         write a commented config.yaml, for permissions and more
  polypod doctor                              check the installation

Without a provider key in the environment (such as ANTHROPIC_API_KEY or OPENAI_API_KEY) and without Ollama on this
machine, a built-in simulated model answers.
`;
}

function print(text: string): ExitCode {
  process.stdout.write(text);
  return EXIT.ok;
}

function complain(thrown: unknown, name: string | undefined): ExitCode {
  const error = asPolypodError(thrown);
  const who = name !== undefined && Object.hasOwn(COMMANDS, name) ? `polypod ${name}` : 'polypod';
  // The message can contain untrusted text.
  process.stderr.write(`${who}: ${sanitizeText(error.message)}\n`);
  if (error.code === 'internal') {
    process.stderr.write('This is a bug in Polypod. Set POLYPOD_DEBUG=1 to print the stack trace.\n');
    if (context.env.POLYPOD_DEBUG) process.stderr.write(`${String(error.stack)}\n${String(error.cause)}\n`);
  }
  return EXIT_CODES[error.code];
}
