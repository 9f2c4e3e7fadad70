import { resolve } from 'node:path';
import { isOneLine, PolypodError } from '../base/index.ts';
import { changeKeys, keyEvent, keyFile, type Places, recordAudit } from '../daemon/index.ts';
import {
  createKey,
  KEY_SCOPES,
  type KeyLimits,
  type KeyRecord,
  readKeys,
  revokeKey,
  type Scope,
} from '../protocols/index.ts';
import { ago } from './ago.ts';
import { nameOf } from './me.ts';
import { EXIT, type ExitCode, runnable, type Surroundings } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { MODES } from './modes.ts';
import type { Values } from './options.ts';
import { table } from './table.ts';
import { harmless } from './terminal/harmless.ts';

const LONGEST_OWNER = 200;

const OPTIONS = {
  owner: {
    type: 'text',
    value: 'NAME',
    help: 'create: whose key it is; sessions belong to owners (default: you)',
  },
  scope: {
    type: 'texts',
    short: 's',
    value: 'SCOPE',
    help: `create: what it is for, ${KEY_SCOPES.join(', ')}; may be repeated (default: submit and read)`,
  },
  mode: { type: 'choice', choices: MODES, help: 'create: the most that its tasks may do unasked' },
  directory: { type: 'texts', value: 'DIR', help: 'create: where its tasks may work; may be repeated' },
  model: { type: 'texts', value: 'PROVIDER/ID', help: 'create: the models that it may use; may be repeated' },
  grant: {
    type: 'texts',
    value: 'POD',
    help: "create: a session of somebody else's, by its id; may be repeated",
  },
  json: { type: 'flag', help: 'print JSON' },
  ...DATA_DIR,
} as const;

/** `polypod keys`: who may come in over HTTP. */
export const keys = runnable({
  name: 'keys',
  summary: 'Create, list and revoke the keys with which agents are reached over HTTP.',
  usage: 'create|list|revoke ID… [OPTIONS]',
  options: OPTIONS,
  words: ['create', 'list', 'revoke'],
  takes: { revoke: 'keys' },
  details: `
create prints the key once, on stdout: it is kept as a hash only, in tasks/keys.json in the data directory, which nobody
else may read. Agents that are up know of every change at once; a key that is revoked also loses its open streams.
Scopes: submit (also cancel), read, approve, and admin, which may do all of it to every session.

Exit codes: 0 done, 2 usage, or no such key, 3 system.

Examples:
  polypod keys create --owner ci --scope submit --scope read > ci.key
  polypod keys create --owner web --scope read --json
  polypod keys list
  polypod keys revoke 1f0c9a4e77b2`,
  async run({ values, positionals: [action, ...words] }, around) {
    const places = placesOf(values, around);
    if (action === 'list' && words.length === 0) return list(places, values.json, around);
    if (action === 'create' && words.length === 0) return create(places, values, around);
    if (action === 'revoke') return revoke(places, words, values.json, around);
    throw new PolypodError(
      'bad-request',
      action === 'create' || action === 'list'
        ? `keys ${action} takes no argument, not "${words.join(' ')}"`
        : 'say create, list or revoke: polypod keys create --owner ci',
    );
  },
});

async function create(
  places: Places,
  values: Values<typeof OPTIONS>,
  around: Surroundings,
): Promise<ExitCode> {
  const { owner = nameOf(around), grant } = values;
  refuseOddOwner(owner);
  const limits = limitsIn(values);
  const wish = {
    owner,
    scopes: scopesIn(values.scope),
    ...(limits && { limits }),
    ...(grant.length > 0 && { grants: grant }),
  };
  const { key, record } = await changeKeys(places, (file) => createKey(file, wish));
  await note(places, 'key.created', [record], around);
  around.stdout.write(values.json ? `${JSON.stringify({ ...shown(record), key }, null, 2)}\n` : `${key}\n`);
  if (!values.json)
    around.stderr.write(
      `polypod keys: ${record.id} for ${owner}: ${record.scopes.join(', ')}. It is not shown again.\n`,
    );
  return EXIT.ok;
}

async function list(places: Places, json: boolean, { stdout, stderr }: Surroundings): Promise<ExitCode> {
  const all = readKeys(await keyFile(places)).map(shown);
  if (json) stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  else if (all.length === 0) stderr.write('there is no key; polypod keys create makes one\n');
  else {
    const now = new Date();
    const cells = all.map(({ id, owner, scopes, createdAt, revokedAt }) => [
      id,
      owner,
      scopes.join(','),
      ago(createdAt, now),
      revokedAt === undefined ? 'good' : `revoked ${ago(revokedAt, now)} ago`,
    ]);
    stdout.write(table([['id', 'owner', 'scopes', 'age', 'state'], ...cells], { columns: stdout.columns }));
  }
  return EXIT.ok;
}

async function revoke(
  places: Places,
  ids: readonly string[],
  json: boolean,
  around: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = around;
  if (ids.length === 0) throw new PolypodError('bad-request', 'revoke what? polypod keys list shows the ids');
  const revoked = await changeKeys(places, (file) => {
    // All or none: who named a wrong id among right ones should look again.
    for (const id of ids) known(readKeys(file), id);
    return ids.map((id) => revokeKey(file, id));
  });
  await note(places, 'key.revoked', revoked, around);
  if (json) stdout.write(`${JSON.stringify(revoked.map(shown), null, 2)}\n`);
  else
    for (const { id, owner } of revoked)
      stderr.write(`polypod keys: ${id} of ${harmless(owner)} opens nothing any more\n`);
  return EXIT.ok;
}

/** The change is made by now: an audit log that cannot be written is said, and does not undo it. */
async function note(
  places: Places,
  event: Parameters<typeof keyEvent>[0],
  records: readonly KeyRecord[],
  around: Surroundings,
): Promise<void> {
  const who = { by: nameOf(around), door: 'cli' };
  const isWritten = await recordAudit(
    places,
    records.map((record) => keyEvent(event, record, who)),
  );
  if (!isWritten)
    around.stderr.write('polypod keys: the audit log could not be written: see logs in the data directory\n');
}

/** Owners stand in lists and in the log: none may look like more than a name. */
function refuseOddOwner(owner: string): void {
  if (isOneLine(owner) && owner.trim() !== '' && owner.length <= LONGEST_OWNER) return;
  throw new PolypodError(
    'bad-request',
    `--owner must be a name of at most ${LONGEST_OWNER} characters, without line breaks and control characters`,
  );
}

function known(all: readonly KeyRecord[], id: string): void {
  if (all.some((key) => key.id === id)) return;
  throw new PolypodError('not-found', `there is no key "${id}"; polypod keys list shows the ids`);
}

/** A key as people see it: not even its hash. */
function shown({ hash: _, ...record }: KeyRecord): Omit<KeyRecord, 'hash'> {
  return record;
}

function scopesIn(words: readonly string[]): readonly Scope[] {
  if (words.length === 0) return ['submit', 'read'];
  const named = words.flatMap((word) => word.split(',')).map((word) => word.trim());
  return [...new Set(named)].map((word) => {
    const scope = KEY_SCOPES.find((candidate) => candidate === word);
    if (scope !== undefined) return scope;
    throw new PolypodError('bad-request', `--scope cannot be "${word}": one of ${KEY_SCOPES.join(', ')}`);
  });
}

function limitsIn({ mode, directory, model }: Values<typeof OPTIONS>): KeyLimits | undefined {
  if (mode === undefined && directory.length === 0 && model.length === 0) return undefined;
  return {
    ...(mode && { mode }),
    ...(directory.length > 0 && { directories: directory.map((path) => resolve(path)) }),
    ...(model.length > 0 && { models: model }),
  };
}
