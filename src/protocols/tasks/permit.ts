import { withoutUndefined } from '../../base/index.ts';
import {
  backendModel,
  PERMISSION_MODES,
  type PermissionMode,
  type Limit,
  type Overrides,
  type Submitter,
} from '../../pod/index.ts';
import { realpath, stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { notForKey, wrongField } from './errors.ts';
import type { KeyRecord } from './keys/key.ts';
import { agentName, type TasksSettings } from './settings.ts';
import type { WireContext } from './wire.ts';

type PermitSettings = Pick<
  TasksSettings,
  'name' | 'cwd' | 'directories' | 'mode' | 'defaultMode' | 'model' | 'modelNamed' | 'fourEyes'
>;

/** What a task may do, after its context was checked against the key. */
export interface Permit {
  /** Undefined if the task sets none. */
  readonly cwd: string | undefined;
  readonly overrides: Overrides;
}

/** Checks a task's context. Throws an error that names the field beyond the key's limits. */
export async function permit(
  context: WireContext,
  key: KeyRecord,
  settings: PermitSettings,
  backend?: string,
): Promise<Permit> {
  const { workingDirectory, allowedPaths = [], maxTurns, budget } = context;
  const directories = key.limits?.directories ?? settings.directories ?? [settings.cwd];
  const cwd =
    workingDirectory === undefined
      ? undefined
      : await permittedDirectory('context.workingDirectory', workingDirectory, directories);
  // The resolved paths are stored: a link that is changed later does not extend them.
  const paths: string[] = [];
  for (const [index, path] of allowedPaths.entries())
    paths.push(await permittedPath(`context.allowedPaths.${index}`, path, directories));
  const model =
    backend === undefined
      ? await permittedModel(context.model, key, settings)
      : permittedBackendModel(backend, context.model, key);
  const limit = limitOf(key);
  return {
    cwd,
    overrides: {
      mode: permittedMode(context.permissionMode, key, settings),
      ...withoutUndefined({ model }),
      ...(paths.length > 0 && { paths }),
      ...withoutUndefined({ maxTurns, budget, limit }),
      submitter: submitterOf(key, settings),
    },
  };
}

function submitterOf({ id, owner, fourEyes }: KeyRecord, settings: PermitSettings): Submitter {
  const isApart = fourEyes === true || settings.fourEyes === true;
  return { keyId: id, owner, agent: agentName(settings), ...(isApart && { fourEyes: true }) };
}

/** The effect of a key's limits on a session, whatever the settings of the session and the agent. */
export function limitOf({ limits }: KeyRecord): Limit | undefined {
  const { mode, directories } = limits ?? {};
  if (mode === undefined && directories === undefined) return undefined;
  return withoutUndefined({ mode, directories });
}

/** The directory of a new session whose task names none: the agent's, or the only one that the key permits. */
export async function defaultDirectory(
  { limits }: KeyRecord,
  { cwd }: Pick<PermitSettings, 'cwd'>,
): Promise<string> {
  const { directories } = limits ?? {};
  if (directories === undefined || (await isWithin(cwd, directories))) return cwd;
  const [only, ...others] = directories;
  if (only !== undefined && others.length === 0)
    return permittedDirectory('context.workingDirectory', only, directories);
  throw notForKey(
    'context.workingDirectory',
    `this key may not use the agent's own directory: name one of ${directories.join(', ')}`,
  );
}

/** Refuses a session in a directory that the key does not permit, however the key learned of it. */
export async function refuseOtherDirectory(
  { limits }: KeyRecord,
  { cwd }: { readonly cwd: string },
): Promise<void> {
  if (limits?.directories === undefined || (await isWithin(cwd, limits.directories))) return;
  throw notForKey(
    'sessionId',
    'the session works in a directory that this key may not use: use another sessionId',
  );
}

async function isWithin(path: string, directories: readonly string[]): Promise<boolean> {
  const [real, ...roots] = await Promise.all([path, ...directories].map(realOrSame));
  return real !== undefined && roots.some((root) => isBelow(real, root));
}

function permittedMode(
  asked: PermissionMode | undefined,
  { limits }: KeyRecord,
  settings: PermitSettings,
): PermissionMode {
  const usual = settings.mode ?? lesser(settings.defaultMode?.() ?? 'workspace-write', 'workspace-write');
  const most = limits?.mode ?? usual;
  const mode = asked ?? lesser(usual, most);
  if (rank(mode) <= rank(most)) return mode;
  throw notForKey('context.permissionMode', `this key permits ${most} at most`);
}

function lesser(one: PermissionMode, other: PermissionMode): PermissionMode {
  return rank(one) < rank(other) ? one : other;
}

function rank(mode: PermissionMode): number {
  return PERMISSION_MODES.indexOf(mode);
}

async function permittedModel(
  reference: string | undefined,
  { limits }: KeyRecord,
  settings: PermitSettings,
): Promise<Overrides['model']> {
  if (reference === undefined) {
    if (limits?.models !== undefined) return firstAvailable(limits.models, settings);
    return settings.model === undefined ? undefined : settings.modelNamed(settings.model);
  }
  if (limits?.models?.includes(reference) === false)
    throw notForKey('context.model', `this key may use ${limits.models.join(', ')}`);
  const choice = await settings.modelNamed(reference);
  if (choice === undefined) throw wrongField('context.model', 'is not a model of this agent');
  return choice;
}

/** The model of another agent, by the agent's own name. A key with a list of models names it as `claude/sonnet`. */
function permittedBackendModel(
  backend: string,
  reference: string | undefined,
  { limits }: KeyRecord,
): Overrides['model'] {
  const allowed = limits?.models;
  const wanted = reference ?? allowed?.find((model) => model.startsWith(`${backend}/`));
  if (allowed === undefined && wanted === undefined) return undefined;
  const choice = backendModel(backend, wanted ?? 'default');
  if (allowed?.includes(`${choice.provider}/${choice.modelId}`) !== false) return choice;
  throw notForKey('context.model', `this key may use ${allowed.join(', ')}`);
}

/** A key with a list of models never falls back to another model. */
async function firstAvailable(
  models: readonly string[],
  { modelNamed }: PermitSettings,
): Promise<Overrides['model']> {
  for (const reference of models) {
    const choice = await modelNamed(reference);
    if (choice !== undefined) return choice;
  }
  throw notForKey(
    'context.model',
    `this agent has none of the models that this key may use: ${models.join(', ')}`,
  );
}

async function permittedDirectory(
  field: string,
  path: string,
  directories: readonly string[],
): Promise<string> {
  const real = await permittedPath(field, path, directories);
  if ((await stat(real)).isDirectory()) return real;
  throw wrongField(field, 'must be a directory');
}

/** The file system is accessed only for paths inside the permitted directories. */
async function permittedPath(field: string, path: string, directories: readonly string[]): Promise<string> {
  const refusal = (): Error => notForKey(field, 'it is outside the directories that this key may use');
  const roots = await Promise.all(directories.map(realOrSame));
  const isInside = (real: string): boolean => roots.some((root) => isBelow(real, root));
  const plain = resolve(path);
  if (!isInside(plain) && !directories.some((directory) => isBelow(plain, resolve(directory))))
    throw refusal();
  const real = await realpath(plain).catch(() => {
    throw wrongField(field, 'does not exist');
  });
  if (!isInside(real)) throw refusal();
  return real;
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`);
}

async function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}
