import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isPrintableLine, PolypodError, withoutUndefined } from '../../base/index.ts';
import { changeKeys, keyEvent, readClientKey, writeClientKey } from '../../daemon/index.ts';
import { type DataPaths, keysFile } from '../../setup/index.ts';
import { recordAudit } from '../../daemon/index.ts';
import {
  createKey,
  KEY_SCOPES,
  keyHash,
  type KeyLimits,
  type KeyRecord,
  keyState,
  readKeys,
  readKeyUses,
  REVOKED_TASKS,
  revokeKey,
  rotateKey,
  type KeyPermission,
} from '../../protocols/index.ts';
import { relativeTime } from '../output/relative-time.ts';
import { currentUserName } from '../current-user.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { PERMISSION_MODES } from '../../tools/index.ts';
import { momentIn, spanIn } from '../args/time-argument.ts';
import type { Values } from '../options.ts';
import { table } from '../output/table.ts';
import { sanitizeLine } from '../../terminal/index.ts';

const LONGEST_OWNER = 200;

const OPTIONS = {
  owner: {
    type: 'text',
    value: 'NAME',
    help: 'create: the owner of the key and of its sessions (default: you)',
  },
  scope: {
    type: 'texts',
    short: 's',
    value: 'SCOPE',
    help: `create: a permission, ${KEY_SCOPES.join(', ')}; can be repeated (default: submit and read)`,
  },
  mode: {
    type: 'choice',
    choices: PERMISSION_MODES,
    help: 'create: the highest permission mode of its tasks',
  },
  directory: {
    type: 'texts',
    value: 'DIR',
    help: 'create: a directory that its tasks can use; can be repeated',
  },
  model: {
    type: 'texts',
    value: 'PROVIDER/ID',
    help: 'create: a model that its tasks can use; can be repeated',
  },
  grant: {
    type: 'texts',
    value: 'POD',
    help: 'create: the id of a session of another owner; can be repeated',
  },
  expires: {
    type: 'text',
    value: 'WHEN',
    help: 'create, rotate: the expiry: 30d, 2026-01-31, 2026-01-31T12:00Z (default: never)',
  },
  'four-eyes': {
    type: 'flag',
    help: 'create: its owner cannot approve calls of its tasks, with any key',
  },
  overlap: {
    type: 'text',
    value: 'SPAN',
    help: 'rotate: how long the old key stays valid: 30m, 24h, 7d, 0s (default: 24h)',
  },
  tasks: {
    type: 'choice',
    choices: REVOKED_TASKS,
    help: 'revoke: what to do with its running tasks (default: cancel)',
  },
  json: { type: 'flag', help: 'print JSON' },
  ...DATA_DIR,
} as const;

/** `polypod keys`: manages the keys of the tasks door. */
export const keys = runnable({
  name: 'keys',
  summary: 'Create, list, rotate and revoke the API keys of the tasks door.',
  usage: 'create|list|rotate ID|revoke ID… [OPTIONS]',
  options: OPTIONS,
  words: ['create', 'list', 'rotate', 'revoke'],
  takes: { rotate: 'keys', revoke: 'keys' },
  details: `
create and rotate print the key once, on stdout. Only a hash of it is stored, in tasks/keys.json in the data
directory, which only you can read. Running agents apply every change immediately.
Permissions (--scope): submit (includes cancel), read, approve, and admin, which includes all of them for every
session. Without --scope approve, a key cannot decide the approvals of its own tasks.

rotate creates a key with the same permissions; the old one expires after the overlap. revoke ends a key and its open
streams. Its running tasks are cancelled, or paused (--tasks pause), or continue (--tasks keep), and its pending tasks
never start. An agent that is not running applies this at its next start. Every change is recorded: polypod audit
--event key.

Exit codes: 0 done, 2 usage error, or unknown key, 3 system error.

Examples:
  polypod keys create --owner ci --scope submit --scope read --expires 30d > ci.key
  polypod keys create --owner web --scope submit,read --four-eyes --json
  polypod keys list
  polypod keys rotate 1f0c9a4e77b2 --overlap 24h > ci.key
  polypod keys revoke 1f0c9a4e77b2 --tasks pause`,
  async run({ values, positionals: [action, ...words] }, context) {
    const dataPaths = dataPathsOf(values, context);
    refuseElsewhere(action, values);
    if (action === 'list' && words.length === 0) return list(dataPaths, values.json, context);
    if (action === 'create' && words.length === 0) return create(dataPaths, values, context);
    if (action === 'rotate') return rotate(dataPaths, words, values, context);
    if (action === 'revoke') return revoke(dataPaths, words, values, context);
    throw new PolypodError(
      'bad-request',
      action === 'create' || action === 'list'
        ? `keys ${action} takes no argument, not "${words.join(' ')}"`
        : 'the action must be create, list, rotate or revoke: polypod keys create --owner ci',
    );
  },
});

/** Rejects options that the action would ignore: --expires with revoke is a mistake. */
function refuseElsewhere(action: string | undefined, values: Values<typeof OPTIONS>): void {
  const belong: Readonly<Record<string, readonly string[]>> = {
    owner: ['create'],
    scope: ['create'],
    mode: ['create'],
    directory: ['create'],
    model: ['create'],
    grant: ['create'],
    expires: ['create', 'rotate'],
    'four-eyes': ['create'],
    overlap: ['rotate'],
    tasks: ['revoke'],
  };
  const given: Readonly<Record<string, unknown>> = values;
  for (const [name, actions] of Object.entries(belong))
    if (isGiven(given[name]) && !actions.includes(action ?? ''))
      throw new PolypodError('bad-request', `--${name} is for keys ${actions.join(' and ')}`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

async function create(
  dataPaths: DataPaths,
  values: Values<typeof OPTIONS>,
  context: CommandContext,
): Promise<ExitCode> {
  const { owner = currentUserName(context), grant } = values;
  refuseOddOwner(owner);
  const limits = limitsIn(values);
  const settings = {
    owner,
    scopes: scopesIn(values.scope),
    ...withoutUndefined({ limits }),
    ...(grant.length > 0 && { grants: grant }),
    ...(values.expires !== undefined && { expiresAt: expiryIn(values.expires) }),
    ...(values['four-eyes'] && { fourEyes: true }),
  };
  const { key, record } = await changeKeys(dataPaths, (file) => createKey(file, settings));
  await note(dataPaths, 'key.created', [record], context);
  context.stdout.write(values.json ? `${JSON.stringify({ ...shown(record), key }, null, 2)}\n` : `${key}\n`);
  if (!values.json)
    context.stderr.write(
      `polypod keys: ${record.id} for ${owner}: ${record.scopes.join(', ')}. It is not shown again.\n`,
    );
  return EXIT.ok;
}

async function rotate(
  dataPaths: DataPaths,
  ids: readonly string[],
  values: Values<typeof OPTIONS>,
  context: CommandContext,
): Promise<ExitCode> {
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0)
    throw new PolypodError('bad-request', 'rotate takes the id of one key: polypod keys list shows them');
  const overlapMs = spanIn(values.overlap ?? '24h');
  if (overlapMs === undefined)
    throw new PolypodError(
      'bad-request',
      `--overlap takes a duration such as 30m, 24h or 7d, not "${values.overlap}"`,
    );
  const expiresAt = values.expires === undefined ? undefined : expiryIn(values.expires);
  const { key, record, old, isOwn } = await changeKeys(dataPaths, async (file) => {
    known(readKeys(file), id);
    const rotated = rotateKey(file, id, { overlapMs, expiresAt });
    const own = readClientKey(dataPaths);
    // `polypod task` sends this key, so its file is updated before the old key expires.
    const isClient = own !== undefined && keyHash(own) === rotated.old.hash;
    if (isClient) await writeClientKey(dataPaths, rotated.key);
    return { ...rotated, isOwn: isClient };
  });
  await note(dataPaths, 'key.rotated', [record], context);
  context.stdout.write(values.json ? `${JSON.stringify({ ...shown(record), key }, null, 2)}\n` : `${key}\n`);
  if (!values.json)
    context.stderr.write(
      `polypod keys: ${record.id} replaces ${old.id} of ${sanitizeLine(old.owner)}, which expires ${shortTime(old.expiresAt)}. It is not shown again.\n${
        isOwn ? 'polypod keys: tasks/client.key has the new key\n' : ''
      }`,
    );
  return EXIT.ok;
}

async function list(
  dataPaths: DataPaths,
  json: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const file = keysFile(dataPaths);
  const uses = readKeyUses(file);
  const all = readKeys(file).map((record) => {
    const lastUsedAt = uses.get(record.id);
    return { ...shown(record), state: keyState(record), ...withoutUndefined({ lastUsedAt }) };
  });
  if (json) stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  else if (all.length === 0) stderr.write('there are no keys; polypod keys create creates one\n');
  else {
    const now = new Date();
    const cells = all.map((key) => [
      key.id,
      key.owner,
      key.scopes.join(','),
      relativeTime(key.createdAt, now),
      key.lastUsedAt === undefined ? 'never' : `${relativeTime(key.lastUsedAt, now)} ago`,
      stateIn(key, now),
      limitsText(key),
    ]);
    const head = ['id', 'owner', 'scopes', 'age', 'used', 'state', 'limits'];
    stdout.write(table([head, ...cells], { columns: stdout.columns }));
  }
  return EXIT.ok;
}

function stateIn(key: Omit<KeyRecord, 'hash'>, now: Date): string {
  const { revokedAt, expiresAt, rotatedTo } = key;
  const next = rotatedTo === undefined ? '' : `, replaced by ${rotatedTo}`;
  switch (keyState(key, now.getTime())) {
    case 'revoked':
      return `revoked ${relativeTime(revokedAt ?? '', now)} ago`;
    case 'expired':
      return `expired ${shortTime(expiresAt)}${next}`;
    case 'good':
      return expiresAt === undefined ? 'good' : `good until ${shortTime(expiresAt)}${next}`;
  }
}

function limitsText({ limits, grants = [], fourEyes }: Omit<KeyRecord, 'hash'>): string {
  const { mode, directories = [], models = [] } = limits ?? {};
  return [
    ...(mode === undefined ? [] : [mode]),
    ...directories,
    ...models,
    ...grants.map((id) => `session ${id}`),
    ...(fourEyes === true ? ['four eyes'] : []),
  ].join(', ');
}

function shortTime(time = ''): string {
  return time.slice(0, 16).replace('T', ' ');
}

async function revoke(
  dataPaths: DataPaths,
  ids: readonly string[],
  { json, tasks = 'cancel' }: Values<typeof OPTIONS>,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, stderr } = context;
  if (ids.length === 0)
    throw new PolypodError('bad-request', 'revoke needs the id of a key: polypod keys list shows the ids');
  const revoked = await changeKeys(dataPaths, (file) => {
    // All or none: one unknown id rejects the whole call.
    for (const id of ids) known(readKeys(file), id);
    return ids.map((id) => revokeKey(file, id, tasks));
  });
  await note(dataPaths, 'key.revoked', revoked, context);
  if (json) stdout.write(`${JSON.stringify(revoked.map(shown), null, 2)}\n`);
  else
    for (const { id, owner } of revoked)
      stderr.write(`polypod keys: ${id} of ${sanitizeLine(owner)} is revoked; ${TASKS[tasks]}\n`);
  return EXIT.ok;
}

const TASKS = {
  cancel: 'its tasks are cancelled',
  pause: 'its running tasks are paused, queued ones are cancelled',
  keep: 'its running tasks continue, queued ones are cancelled',
} as const;

function expiryIn(text: string): string {
  const at = momentIn('expires', text, 'ahead');
  if (at.getTime() > Date.now()) return at.toISOString();
  throw new PolypodError('bad-request', `--expires "${text}" is in the past: use a future time`);
}

/** The change is already stored: a failed audit entry is reported, and does not undo it. */
async function note(
  dataPaths: DataPaths,
  event: Parameters<typeof keyEvent>[0],
  records: readonly KeyRecord[],
  context: CommandContext,
): Promise<void> {
  const who = { by: currentUserName(context), door: 'cli' };
  const isWritten = await recordAudit(
    dataPaths,
    records.map((record) => keyEvent(event, record, who)),
  );
  if (!isWritten)
    context.stderr.write(
      'polypod keys: the audit log could not be written: see logs in the data directory\n',
    );
}

/** Owners appear in lists and in the log, so control characters are rejected. */
function refuseOddOwner(owner: string): void {
  if (isPrintableLine(owner) && owner.trim() !== '' && owner.length <= LONGEST_OWNER) return;
  throw new PolypodError(
    'bad-request',
    `--owner must be a name of at most ${LONGEST_OWNER} characters, without line breaks and control characters`,
  );
}

function known(all: readonly KeyRecord[], id: string): void {
  if (all.some((key) => key.id === id)) return;
  throw new PolypodError('not-found', `there is no key "${id}"; polypod keys list shows the ids`);
}

/** A key without its hash, for output. */
function shown({ hash: _, ...record }: KeyRecord): Omit<KeyRecord, 'hash'> {
  return record;
}

function scopesIn(words: readonly string[]): readonly KeyPermission[] {
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
    ...withoutUndefined({ mode }),
    ...(directory.length > 0 && { directories: directory.map(realDirectory) }),
    ...(model.length > 0 && { models: model }),
  };
}

/** Resolves symbolic links: a link that changes later does not move the limit. */
function realDirectory(path: string): string {
  const found = statSync(resolve(path), { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return realpathSync(resolve(path));
  throw new PolypodError(
    'bad-request',
    `--directory ${path} is not a directory: create it first, or check the path`,
  );
}
