import type { AgentSessionId } from '../backends/index.ts';
import { isPrintableLine, type JsonObject, shape, withoutUndefined } from '../base/index.ts';
import { THINKING_LEVELS, type ThinkingLevel } from '../llm/index.ts';
import { type PermissionMode, type Rule, PERMISSION_MODES, RULE_ACTIONS } from '../tools/index.ts';
import type { InboxModes } from '../worker/index.ts';
import type { ModelChoice } from './session/index.ts';
import { TOOL_LIMIT, type ToolLimit } from './tool-limit.ts';

/** A tool that a client runs. To the model it is like any other tool. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** Environment variables for MCP servers that are started, headers for those reached over HTTP. */
export interface McpContext {
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** The settings of a pod. Every change publishes all of them. */
export interface PodSettings {
  /** The agent that does the work; by default our own worker. It cannot change after the session was created. */
  readonly backend?: string;
  /** The session of that agent. */
  readonly agentSession?: AgentSessionId;
  /** By default the agent's. */
  readonly model?: ModelChoice;
  readonly thinking?: ThinkingLevel;
  /** By default the agent's. */
  readonly mode?: PermissionMode;
  /** Checked before the agent's rules; the first match decides. */
  readonly rules: readonly Rule[];
  /** Checked after the agent's rules, for cases that the user has no rule for. */
  readonly fallbackRules?: readonly Rule[];
  /** Edits of files inside the scope need no approval, even if a rule requires one. */
  readonly acceptEdits: boolean;
  /** No approvals are requested before this time; denied calls stay denied. */
  readonly skipPermissionsUntil?: string;
  /** The requested duration, which clients are shown. */
  readonly skipPermissionsForMs?: number;
  /** Names of the tools that the model receives; all if absent. */
  readonly tools?: readonly string[];
  /** The agent's tools that the host program of the session allows, regardless of `tools`. */
  readonly toolLimit?: ToolLimit;
  /** Whether the model receives instructions (AGENTS.md) and skills; by default yes. */
  readonly contextFiles?: boolean;
  readonly clientTools: readonly ClientTool[];
  readonly delivery: InboxModes;
  readonly autoCompaction: boolean;
  readonly autoRetry: boolean;
  /** Whether a model writes a title after the first run, if the session has no name; by default no. */
  readonly autoTitle?: boolean;
  readonly name?: string;
  readonly archived: boolean;
  /** Replaces the agent's system prompt. */
  readonly system?: string;
  readonly appendSystem?: string;
  /** Additional paths besides the working directory. */
  readonly paths?: readonly string[];
  /** The pod's own MCP servers, as clients write them: `{ mcpServers: { … } }`. The agent interprets them. */
  readonly mcpConfig?: JsonObject;
  /**
   * The MCP servers that an editor named, with the names of their variables and headers:
   * `{ NAME: { command, args, env: [names] } | { url, headers: [names] } }`. The values are only in the memory of the host.
   */
  readonly editorServers?: JsonObject;
  /** What the servers of `mcpConfig` receive about the session. A fork does not inherit it. */
  readonly mcpContext?: McpContext;
  /** The tool that decides approvals in place of people. */
  readonly permissionTool?: string;
  /** Notes of doors and clients about the session. Lists show them; the pod ignores them. */
  readonly annotations?: JsonObject;
}

/** The values of variables and headers of MCP servers, by the name of the server. */
export type ServerValues = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const DEFAULT_SETTINGS: PodSettings = {
  rules: [],
  acceptEdits: false,
  clientTools: [],
  delivery: { steering: 'one-at-a-time', followUps: 'one-at-a-time', interrupt: 'wait' },
  autoCompaction: true,
  autoRetry: true,
  archived: false,
};

/** What the operating system accepts as a path. */
export const PATH = shape.text(
  'a path of at most 4096 characters, without zero characters',
  (path) => path.length <= 4_096 && !path.includes('\0'),
);

const DELIVERY = ['one-at-a-time', 'all'] as const;

export const RULE: shape.Shape<Rule> = shape.fields(
  { action: shape.choice(RULE_ACTIONS) },
  {
    tool: shape.text(),
    command: shape.text(),
    exact: shape.boolean,
    path: shape.text(),
    host: shape.text(),
  },
);

/** What providers accept as a tool name. */
export const TOOL_NAME = shape.text('a name of letters, digits, _ and -', (name) =>
  /^[\w-]{1,64}$/.test(name),
);

const CLIENT_TOOL: shape.Shape<ClientTool> = shape.fields(
  {
    name: TOOL_NAME,
    description: shape.anyText,
    parameters: shape.anyObject,
  },
  {},
);

export const MODEL_CHOICE: shape.Shape<ModelChoice> = shape.fields(
  { provider: shape.text(), modelId: shape.text() },
  {},
);

export const TIME = shape.text(
  'a time such as 2026-01-31T12:00:00Z',
  (time) => !Number.isNaN(Date.parse(time)),
);

const textMap = shape.mapOf(shape.text(), shape.anyText);
const TEXTS: shape.Shape<Readonly<Record<string, string>>> = {
  schema: textMap.schema,
  read: (value, path, report) => {
    const texts = textMap.read(value, path, report);
    return texts && Object.fromEntries(texts);
  },
};
const MCP_CONTEXT: shape.Shape<McpContext> = shape.fields({ env: TEXTS, headers: TEXTS }, {});

/** Annotations are part of every list: they are for short notes, not for content. */
const MOST_ANNOTATED = 65_536;

/** The name of a back end. */
export const BACKEND_NAME = shape.text('a name of letters, digits, _ and -', (name) =>
  /^[\w-]{1,64}$/.test(name),
);

const SETTINGS = {
  backend: BACKEND_NAME,
  model: MODEL_CHOICE,
  thinking: shape.choice(THINKING_LEVELS),
  mode: shape.choice(PERMISSION_MODES),
  rules: shape.listOf(RULE),
  fallbackRules: shape.listOf(RULE),
  acceptEdits: shape.boolean,
  skipPermissionsUntil: TIME,
  skipPermissionsForMs: shape.integerFrom(1),
  tools: shape.listOf(shape.text()),
  toolLimit: TOOL_LIMIT,
  contextFiles: shape.boolean,
  clientTools: shape.listOf(CLIENT_TOOL),
  delivery: shape.fields(
    {},
    {
      steering: shape.choice(DELIVERY),
      followUps: shape.choice(DELIVERY),
      interrupt: shape.choice(['wait', 'immediate']),
    },
  ),
  autoCompaction: shape.boolean,
  autoRetry: shape.boolean,
  autoTitle: shape.boolean,
  archived: shape.boolean,
  system: shape.anyText,
  appendSystem: shape.anyText,
  paths: shape.listOf(PATH),
  mcpConfig: shape.anyObject,
  editorServers: shape.anyObject,
  mcpContext: MCP_CONTEXT,
  permissionTool: shape.text(),
  annotations: shape.refined(shape.anyObject, (notes) =>
    JSON.stringify(notes).length > MOST_ANNOTATED
      ? `must not be longer than ${MOST_ANNOTATED} characters of JSON`
      : undefined,
  ),
};

/** The settings to change; the others stay. */
export const SETTINGS_CHANGE = shape.fields(
  {},
  {
    ...SETTINGS,
    name: shape.text(
      'a name of at most 200 characters, without line breaks and control characters',
      (name) => name.length <= 200 && isPrintableLine(name),
    ),
  },
);
/** Settings that were recorded: a name that is no longer valid is still read. */
export const RECORDED_SETTINGS = shape.fields(
  {},
  {
    ...SETTINGS,
    name: shape.text(),
    agentSession: shape.fields({ id: shape.text(), podId: shape.text() }, {}),
  },
);
export type SettingsChange = shape.ValueOf<typeof SETTINGS_CHANGE>;

/** Settings that can be removed. */
export const CLEARABLE = [
  'model',
  'thinking',
  'mode',
  'fallbackRules',
  'skipPermissionsUntil',
  'skipPermissionsForMs',
  'tools',
  'toolLimit',
  'contextFiles',
  'name',
  'system',
  'appendSystem',
  'paths',
  'mcpConfig',
  'editorServers',
  'mcpContext',
  'permissionTool',
  'annotations',
] as const;
export type Clearable = (typeof CLEARABLE)[number];

export function changed(
  settings: PodSettings,
  change: SettingsChange,
  clear: readonly Clearable[] = [],
): PodSettings {
  // A duration belongs to the time that was set with it.
  const isOtherTime = change.skipPermissionsUntil !== undefined || clear.includes('skipPermissionsUntil');
  const gone: readonly string[] = isOtherTime ? [...clear, 'skipPermissionsForMs'] : clear;
  const kept = Object.fromEntries(Object.entries(settings).filter(([key]) => !gone.includes(key)));
  const delivery = { ...settings.delivery, ...change.delivery };
  return { ...DEFAULT_SETTINGS, ...kept, ...change, delivery };
}

/** The settings of a child pod with the current permissions of its parent. Rules that were added in the child stay. */
export function withPermissionsOf(child: PodSettings, parent: PodSettings): PodSettings {
  const { mode, skipPermissionsUntil, skipPermissionsForMs, acceptEdits } = parent;
  const known = new Set(child.rules.map((rule) => JSON.stringify(rule)));
  const added = parent.rules.filter((rule) => !known.has(JSON.stringify(rule)));
  const { mode: _, skipPermissionsUntil: _until, skipPermissionsForMs: _forMs, ...rest } = child;
  return {
    ...rest,
    acceptEdits,
    rules: [...added, ...child.rules],
    ...withoutUndefined({ mode, skipPermissionsUntil, skipPermissionsForMs }),
  };
}
