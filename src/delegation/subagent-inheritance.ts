import { withoutUndefined } from '../base/index.ts';
import {
  type ModelChoice,
  type Overrides,
  PERMISSION_MODES,
  type PermissionMode,
  type PodSettings,
  type SettingsChange,
  subagentAnnotations,
} from '../pod/index.ts';
import { type SubagentType, subagentSystem } from './subagent-types.ts';

/** How many turns a sub-agent has at most. */
export const MAX_TURNS = 100;

/** The settings of a child: those of its parent, without those that belong to the parent's clients. */
export function childSettings(
  type: SubagentType,
  { description, parent }: { readonly description: string; readonly parent: PodSettings },
): SettingsChange {
  const {
    clientTools: _tools,
    delivery: _delivery,
    name: _name,
    archived: _archived,
    annotations: _annotations,
    appendSystem,
    ...inherited
  } = parent;
  const own = subagentSystem(type);
  return {
    ...inherited,
    annotations: subagentAnnotations(labelFrom(description, type)),
    appendSystem: appendSystem === undefined ? own : `${appendSystem}\n\n${own}`,
  };
}

/** The overrides of a child's run. Every part is as narrow as its parent's, or narrower. */
export function childOverrides(
  type: SubagentType,
  parent: {
    readonly settings: PodSettings;
    readonly overrides: Overrides;
    /** The budget that is left, in USD. */
    readonly budget: number | undefined;
    /** Of the type, if it has one. */
    readonly model: ModelChoice | undefined;
  },
): Overrides {
  const { appendSystem: _, budget: _budget, maxTurns = MAX_TURNS, limit, ...inherited } = parent.overrides;
  const mode = lowest(limit?.mode, type.mode);
  return {
    ...inherited,
    maxTurns: Math.min(maxTurns, MAX_TURNS),
    ...withoutUndefined({
      tools: common(inherited.tools ?? parent.settings.tools, type.tools),
      model: parent.model ?? inherited.model,
      budget: parent.budget,
      limit: mode === undefined ? limit : { ...limit, mode },
    }),
  };
}

function common(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  return one === undefined || other === undefined
    ? (one ?? other)
    : one.filter((name) => other.includes(name));
}

function lowest(
  one: PermissionMode | undefined,
  other: PermissionMode | undefined,
): PermissionMode | undefined {
  return PERMISSION_MODES.find((mode) => mode === one || mode === other);
}

/** The description on one line. */
function labelFrom(description: string, { name }: SubagentType): string {
  const line = description.replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]+/gu, ' ').trim();
  return Array.from(line).slice(0, MAX_LABEL).join('') || name;
}

/** In characters. */
const MAX_LABEL = 80;
