import { realpath, stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { Overrides } from '../../pod/index.ts';
import { notForKey, wrongField } from './errors.ts';
import { type KeyRecord, MODES } from './keys/key.ts';
import type { Mode, TasksSettings } from './settings.ts';
import type { WireContext } from './wire.ts';

type PermitSettings = Pick<
  TasksSettings,
  'cwd' | 'directories' | 'mode' | 'usualMode' | 'model' | 'modelNamed'
>;

/** What a task may do, once its context was found to be within what its key may have. */
export interface Permit {
  /** Undefined where the task does not say. */
  readonly cwd: string | undefined;
  readonly overrides: Overrides;
}

/** Judges a task's context; refuses with the field that asks for too much. */
export async function permit(
  context: WireContext,
  key: KeyRecord,
  settings: PermitSettings,
): Promise<Permit> {
  const { workingDirectory, allowedPaths = [], maxTurns, budget } = context;
  const directories = key.limits?.directories ?? settings.directories ?? [settings.cwd];
  const cwd =
    workingDirectory === undefined
      ? undefined
      : await permittedDirectory('context.workingDirectory', workingDirectory, directories);
  for (const [index, path] of allowedPaths.entries())
    await permittedPath(`context.allowedPaths.${index}`, path, directories);
  const model = await permittedModel(context.model, key, settings);
  return {
    cwd,
    overrides: {
      mode: permittedMode(context.permissionMode, key, settings),
      ...(model && { model }),
      ...(allowedPaths.length > 0 && { paths: allowedPaths }),
      ...(maxTurns !== undefined && { maxTurns }),
      ...(budget !== undefined && { budget }),
    },
  };
}

function permittedMode(asked: Mode | undefined, { limits }: KeyRecord, settings: PermitSettings): Mode {
  const usual = settings.mode ?? lesser(settings.usualMode?.() ?? 'workspace-write', 'workspace-write');
  const most = limits?.mode ?? usual;
  const mode = asked ?? lesser(usual, most);
  if (rank(mode) <= rank(most)) return mode;
  throw notForKey('context.permissionMode', `this key permits ${most} at most`);
}

function lesser(one: Mode, other: Mode): Mode {
  return rank(one) < rank(other) ? one : other;
}

function rank(mode: Mode): number {
  return MODES.indexOf(mode);
}

async function permittedModel(
  reference: string | undefined,
  { limits }: KeyRecord,
  settings: PermitSettings,
): Promise<Overrides['model']> {
  if (reference === undefined) {
    const usual = limits?.models?.[0] ?? settings.model;
    return usual === undefined ? undefined : settings.modelNamed(usual);
  }
  if (limits?.models?.includes(reference) === false)
    throw notForKey('context.model', `this key may use ${limits.models.join(', ')}`);
  const choice = await settings.modelNamed(reference);
  if (choice === undefined) throw wrongField('context.model', 'names no model that this agent has');
  return choice;
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

/** The place itself is looked at only where the key may know of it. */
async function permittedPath(field: string, path: string, directories: readonly string[]): Promise<string> {
  const refusal = (): Error => notForKey(field, 'it lies outside of the directories that this key may use');
  const roots = await Promise.all(directories.map(realOrSame));
  const isWithin = (place: string): boolean =>
    roots.some((root) => place === root || place.startsWith(root.endsWith(sep) ? root : `${root}${sep}`));
  const plain = resolve(path);
  if (!isWithin(plain) && !directories.some((directory) => isBelow(plain, resolve(directory))))
    throw refusal();
  const real = await realpath(plain).catch(() => {
    throw wrongField(field, 'is not there');
  });
  if (!isWithin(real)) throw refusal();
  return real;
}

function isBelow(place: string, directory: string): boolean {
  return place === directory || place.startsWith(`${directory}${sep}`);
}

async function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}
