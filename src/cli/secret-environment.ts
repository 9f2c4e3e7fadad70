import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { CALL_MARK_VARIABLE, isSecretVariable, parseObject } from '../base/index.ts';

/** Environment variables by name, as a command receives them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Names the descriptor on which a process that was started by Polypod receives its secret variables. */
const SECRETS_FD = 'POLYPOD_SECRETS_FD';

/**
 * Returns the environment and removes it from what other processes can read of this one. The kernel shows the block of
 * memory that `execve` filled in `/proc/PID/environ`, whatever is set later: a process of the same user could
 * read keys there. So the variables are copied, secrets are deleted from our own (which children inherit), and the
 * original block is overwritten with zeros. A key in the arguments is overwritten as well.
 */
export function takeEnvironment(own: Record<string, string | undefined>): Variables {
  const { [SECRETS_FD]: descriptor, ...inherited } = own;
  const env = descriptor === undefined ? inherited : { ...inherited, ...readSecrets(Number(descriptor)) };
  Reflect.deleteProperty(own, SECRETS_FD);
  for (const [name, value = ''] of Object.entries(inherited))
    if (isSecretVariable(name, value) && name !== CALL_MARK_VARIABLE) Reflect.deleteProperty(own, name);
    // Setting a variable copies it out of the block that is overwritten below.
    else own[name] = value;
  try {
    overwriteStartBlock();
  } catch {
    // Not Linux, or /proc cannot be written: polypod doctor reports that keys stay readable there.
  }
  return env;
}

/** Splits an environment into what a child process inherits, and what it receives over a pipe. */
export function splitEnvironment(env: Variables): { readonly open: Variables; readonly secret: Variables } {
  const isSecret = ([name, value = '']: readonly [string, string | undefined]): boolean =>
    isSecretVariable(name, value) && name !== CALL_MARK_VARIABLE;
  const entries = Object.entries(env);
  return {
    open: { ...Object.fromEntries(entries.filter((entry) => !isSecret(entry))), [SECRETS_FD]: '3' },
    secret: Object.fromEntries(entries.filter(isSecret)),
  };
}

/** Sets exactly these variables in `process.env`, for extensions, which run in this process. */
export function exposeVariables(
  own: Record<string, string | undefined>,
  env: Readonly<Record<string, string>>,
): void {
  for (const name of Object.keys(own)) if (!Object.hasOwn(env, name)) Reflect.deleteProperty(own, name);
  Object.assign(own, env);
}

function readSecrets(descriptor: number): Variables {
  const text = readFileSync(descriptor, 'utf8');
  closeSync(descriptor);
  const secrets = Object.entries(parseObject(text) ?? {});
  return Object.fromEntries(
    secrets.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function overwriteStartBlock(): void {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // The name in parentheses may hold anything; fields 48 to 51 are the addresses of arguments and environment.
  const [argStart, , envStart] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(45, 49)
    .map(Number);
  if (!argStart || !envStart) return;
  const memory = openSync('/proc/self/mem', 'r+');
  const blank = (start: number, text: Buffer, from: number, to: number): void => {
    text.fill(0, from, to);
    writeSync(memory, text, from, to - from, start + from);
  };
  try {
    const environment = readFileSync('/proc/self/environ');
    // The marker stays visible, because Polypod can run inside an agent's command.
    for (const [from, to] of entriesOf(environment))
      if (!environment.toString('latin1', from, to).startsWith(`${CALL_MARK_VARIABLE}=`))
        blank(envStart, environment, from, to);
    const args = readFileSync('/proc/self/cmdline');
    for (const [from, to] of keysIn(args)) blank(argStart, args, from, to);
  } finally {
    closeSync(memory);
  }
}

/** The ranges of the entries of a block that is separated by zeros. */
function entriesOf(block: Buffer): readonly (readonly [number, number])[] {
  const entries: [number, number][] = [];
  for (let from = 0; from < block.length; ) {
    const end = block.indexOf(0, from);
    const to = end < 0 ? block.length : end;
    if (to > from) entries.push([from, to]);
    from = to + 1;
  }
  return entries;
}

/** The values of `--api-key VALUE` and `--api-key=VALUE`. */
function keysIn(args: Buffer): readonly (readonly [number, number])[] {
  const words = entriesOf(args);
  return words.flatMap(([from, to], index) => {
    const word = args.toString('latin1', from, to);
    const next = words[index + 1];
    if (word === KEY_OPTION) return next === undefined ? [] : [next];
    return word.startsWith(`${KEY_OPTION}=`) ? [[from + KEY_OPTION.length + 1, to] as const] : [];
  });
}

const KEY_OPTION = '--api-key';
