import { resolve } from 'node:path';
import {
  type ExaminedCall,
  examine,
  type FileFacts,
  isInside,
  type PermissionMode,
  type PathLocation,
  type PreparedCall,
  type Scope,
  PERMISSION_MODES,
} from '../../../tools/index.ts';
import type { Limit } from '../../command.ts';
import type { PodSettings } from '../../settings.ts';

/** The lower of the selected mode and the limit's. */
export function limitedMode(mode: PermissionMode, limit: Limit | undefined): PermissionMode {
  const most = limit?.mode;
  return most !== undefined && PERMISSION_MODES.indexOf(most) < PERMISSION_MODES.indexOf(mode) ? most : mode;
}

/**
 * Returns the session's settings without those that allow calls in advance. Rules stay, because a person created them by
 * approving a call.
 */
export function limitedSettings(settings: PodSettings, limit: Limit | undefined): PodSettings {
  if (limit?.mode === undefined) return settings;
  const { skipPermissionsUntil: _, fallbackRules = [], ...rest } = settings;
  return {
    ...rest,
    acceptEdits: false,
    fallbackRules: fallbackRules.filter(({ action }) => action !== 'auto'),
  };
}

/** The part of a scope inside the limit's directories. Read-only paths belong to the agent and stay. */
export async function limitedScope(
  scope: Scope,
  { directories }: Limit,
  { realPath }: Pick<FileFacts, 'realPath'>,
): Promise<Scope> {
  if (directories === undefined) return scope;
  const realPaths = await Promise.all(directories.map((path) => realPath(resolve(path))));
  const allowed = realPaths.flatMap((path) => ('real' in path ? [path.real] : []));
  const write = scope.write.flatMap((root) =>
    allowed.some((one) => isInside(one, root)) ? [root] : allowed.filter((one) => isInside(root, one)),
  );
  const own = scope.read === 'anywhere' ? allowed : scope.read.filter((root) => !scope.write.includes(root));
  return { read: [...write, ...own], write };
}

/** Why the limit does not allow a call; undefined if it does. */
export async function beyondLimit(
  tool: string,
  { access }: PreparedCall,
  { directories }: Limit,
  fileFacts: FileFacts,
): Promise<string | undefined> {
  if (directories === undefined) return undefined;
  const roots = await Promise.all(directories.map((path) => fileFacts.realPath(resolve(path))));
  const isAllowed = (location: PathLocation): boolean =>
    'real' in location && roots.some((root) => 'real' in root && isInside(root.real, location.real));
  const call: ExaminedCall = { tool, access: await examine(access, fileFacts) };
  for (const one of call.access) {
    if (one.type === 'foreign' || one.type === 'web') continue;
    if (one.type !== 'command') {
      if (!isAllowed(one.location)) return `${one.path} lies outside of its directories`;
      continue;
    }
    if (!isAllowed(one.cwd.location)) return `${one.cwd.path} lies outside of its directories`;
    if ('opaque' in one.content) return 'which files the command touches cannot be known';
    const outside = one.content.steps
      .flatMap(({ touched }) => touched)
      .find(({ access: how, location }) => how !== 'mention' && !isAllowed(location));
    if (outside !== undefined) return `${outside.path} lies outside of its directories`;
  }
  return undefined;
}
