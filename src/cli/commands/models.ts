import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, PolypodError, tryParse } from '../../base/index.ts';
import { type Model, parseModelsDev, modelReference } from '../../llm/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { download, dataPathsFrom, readModels } from '../../setup/index.ts';
import { transportFrom } from '../../wire/index.ts';
import { sanitizeLine } from '../../terminal/index.ts';

const CATALOGUE_URL = 'https://models.dev/api.json';

/** `polypod models`: lists the known models. */
export const models = runnable({
  name: 'models',
  summary: 'List the known models with their limits and prices, or refresh the list.',
  usage: '[refresh] [OPTIONS]',
  options: {
    account: { type: 'text', short: 'a', value: 'NAME', help: 'only the models of this account' },
    json: { type: 'flag', help: 'print a JSON list' },
    url: {
      type: 'text',
      value: 'URL',
      help: `the address of the catalogue for refresh (default: ${CATALOGUE_URL})`,
    },
  },
  words: ['refresh'],
  details: `
Polypod has a small built-in list. "polypod models refresh" downloads the models.dev catalogue once and stores it; Polypod
downloads nothing automatically. models.json in the configuration directory overrides and extends both:
  [{ "account": "ollama", "id": "qwen3:8b", "contextWindow": 40960, "reasoning": true }]

Models that are not listed also work: polypod ask -m PROVIDER/ID.

Examples:
  polypod models --account anthropic
  polypod models refresh
  polypod models --json | jq -r '.[].id'`,
  async run({ values, positionals }, context) {
    const [action, ...rest] = positionals;
    if (rest.length > 0 || (action !== undefined && action !== 'refresh')) {
      throw new PolypodError(
        'bad-request',
        `polypod models takes only "refresh", not "${positionals.join(' ')}"`,
      );
    }
    if (action === 'refresh') return refresh(values.url ?? CATALOGUE_URL, context);
    return list(values.account, values.json, context);
  },
});

async function list(
  account: string | undefined,
  json: boolean,
  { env, stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const { models: known, warnings } = await readModels(dataPathsFrom(env));
  for (const warning of warnings) stderr.write(`polypod: ${warning}\n`);
  const shown = account === undefined ? known : known.filter((model) => model.account === account);
  if (shown.length === 0) {
    const accounts = [...new Set(known.map((model) => model.account))].join(', ');
    throw new PolypodError('not-found', `no model of ${account} is known; there are models of ${accounts}`);
  }
  stdout.write(json ? `${JSON.stringify(shown, null, 2)}\n` : table(shown));
  return EXIT.ok;
}

const HEADINGS = ['model', 'context', 'output', '$/M in', '$/M out', 'thinks', 'sees'];

function table(shown: readonly Model[]): string {
  const rows = [HEADINGS, ...shown.map(rowOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}

function rowOf(model: Model): readonly string[] {
  return [
    sanitizeLine(modelReference(model)),
    tokens(model.contextWindow),
    tokens(model.maxOutput),
    model.price === undefined ? '?' : String(model.price.input),
    model.price === undefined ? '?' : String(model.price.output),
    model.reasoning ? 'yes' : 'no',
    model.input.includes('image') ? 'images' : '',
  ];
}

function tokens(count: number | undefined): string {
  return count === undefined ? '?' : `${Math.round(count / 1000)}k`;
}

async function refresh(url: string, { env, stdout, signal }: CommandContext): Promise<ExitCode> {
  const catalogue = tryParse(await download(url, { transport: transportFrom(env), signal }));
  if (catalogue === undefined)
    throw new PolypodError('provider-failed', `${url} returned no JSON; check the address`);
  const fresh = parseModelsDev(catalogue);
  const file = dataPathsFrom(env).refreshedModelsFile;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, `${JSON.stringify(fresh)}\n`);
    await rename(`${file}.new`, file);
  } catch (thrown) {
    throw new PolypodError('denied', `cannot store the models: ${messageOf(thrown)}`, { cause: thrown });
  }
  stdout.write(
    `${fresh.length} models of ${new Set(fresh.map(({ account }) => account)).size} providers are known now.\n`,
  );
  return EXIT.ok;
}
