import { parseArgs } from 'node:util';
import { nearestMatch, PolypodError } from '../base/index.ts';

/** The lists that `polypod completion` prints. */
export type Listing = 'sessions' | 'trash' | 'approvals' | 'models' | 'backends' | 'keys';

/** The kind of a command's arguments: the same for all subcommands, or by subcommand. */
export type ArgumentKinds = Listing | Readonly<Record<string, Listing>>;

/** One option of a command: its value and its help text. */
export type Option = {
  readonly short?: string;
  readonly help: string;
} & (
  | { readonly type: 'flag' }
  | { readonly type: 'text'; readonly value: string; readonly completes?: Listing }
  | { readonly type: 'texts'; readonly value: string }
  | { readonly type: 'number'; readonly value: string; readonly min?: number; readonly max?: number }
  /** `value` replaces the choices in the usage line if there are too many. */
  | { readonly type: 'choice'; readonly choices: readonly string[]; readonly value?: string }
);

export type OptionTable = Readonly<Record<string, Option>>;

/** The parsed values of an option table: missing options are undefined, missing flags false. */
export type Values<Table extends OptionTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

type ValueOf<O extends Option> = O extends { type: 'flag' }
  ? boolean
  : O extends { type: 'texts' }
    ? readonly string[]
    : O extends { type: 'number' }
      ? number | undefined
      : O extends { type: 'choice'; choices: readonly (infer Choice)[] }
        ? Choice | undefined
        : string | undefined;

export interface Arguments<Table extends OptionTable> {
  readonly values: Values<Table>;
  readonly positionals: readonly string[];
}

/** Parses the arguments of a command. An error is one sentence with the next step. */
export function readArguments<Table extends OptionTable>(
  command: string,
  table: Table,
  argv: readonly string[],
): Arguments<Table> {
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(Object.entries(table).map(([name, option]) => [name, nodeOption(option)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = table[token.name];
    if (option === undefined) throw unknownOption(command, token.rawName, Object.keys(table));
    given.set(token.name, [
      ...(given.get(token.name) ?? []),
      textOf(command, token.rawName, option, token.value),
    ]);
  }
  const values = Object.fromEntries(
    Object.entries(table).map(([name, option]) => [
      name,
      valueOf(command, name, option, given.get(name) ?? []),
    ]),
  );
  // valueOf converts each option to the type in the table, which the compiler cannot check.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { values: values as Values<Table>, positionals };
}

/** Renders the options for `--help`. */
export function optionHelp(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => [signature(name, option), option.help] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

function nodeOption(option: Option) {
  const short = option.short === undefined ? {} : { short: option.short };
  return { type: option.type === 'flag' ? 'boolean' : 'string', multiple: true, ...short } as const;
}

function textOf(command: string, rawName: string, option: Option, value: string | undefined): string {
  if (option.type === 'flag') {
    if (value !== undefined) throw usage(command, `${rawName} takes no value`);
    return '';
  }
  if (value === undefined || value === '')
    throw usage(command, `${rawName} needs a value: ${meaning(option)}`);
  return value;
}

function valueOf(command: string, name: string, option: Option, given: readonly string[]): unknown {
  if (option.type === 'flag') return given.length > 0;
  if (option.type === 'texts') return given;
  // If an option is given twice, the last one counts.
  const text = given.at(-1);
  if (text === undefined || option.type === 'text') return text;
  if (option.type === 'number') return numberOf(command, name, option, text);
  if (!option.choices.includes(text))
    throw usage(command, `--${name} cannot be "${text}": ${meaning(option)}`);
  return text;
}

function numberOf(
  command: string,
  name: string,
  option: Extract<Option, { type: 'number' }>,
  text: string,
): number {
  const value = Number(text);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = option;
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  const range = option.min === undefined ? '' : ` from ${min}${option.max === undefined ? '' : ` to ${max}`}`;
  throw usage(command, `--${name} takes a number${range}, not "${text}"`);
}

function unknownOption(command: string, rawName: string, known: readonly string[]): PolypodError {
  const near = nearestMatch(rawName.replace(/^-+/, ''), known);
  return usage(command, `unknown option ${rawName}${near === undefined ? '' : `; did you mean --${near}?`}`);
}

function usage(command: string, problem: string): PolypodError {
  return new PolypodError('bad-request', `${problem} (see: polypod ${command} --help)`);
}

function signature(name: string, option: Option): string {
  const short = option.short === undefined ? '    ' : `-${option.short}, `;
  return `${short}--${name}${option.type === 'flag' ? '' : ` ${valueName(option)}`}`;
}

function valueName(option: Exclude<Option, { type: 'flag' }>): string {
  return option.type === 'choice' ? (option.value ?? option.choices.join('|')) : option.value;
}

function meaning(option: Exclude<Option, { type: 'flag' }>): string {
  return option.type === 'choice' ? `one of ${option.choices.join(', ')}` : option.value;
}
