import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isObject, type JsonObject, objectOf, tryParse, withoutUndefined } from '../../../base/index.ts';
import type { PodSettings, SettingsChange } from '../../../pod/index.ts';
import { wrongField } from '../errors.ts';
import type { Params } from '../params.ts';
import { NEVER_EXPIRES } from './session.ts';
import type { ToolLists } from './tool-rules.ts';
import { NATIVE_PERMISSION_TOOL } from '../wire.ts';

/** The parameters that launching and continuing share. An absent one is inherited. */
export interface LaunchRequest extends ToolLists {
  readonly query: string;
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  readonly customInstructions?: string;
  readonly permissionPromptTool?: string;
  readonly mcpConfig?: JsonObject;
  readonly paths?: readonly string[];
  readonly maxTurns?: number;
}

/** Parses and validates all parameters before anything is created. */
export function readLaunchRequest(params: Params): Omit<LaunchRequest, 'query'> {
  return withoutUndefined({
    systemPrompt: params.text('system_prompt'),
    appendSystemPrompt: params.text('append_system_prompt'),
    customInstructions: params.text('custom_instructions'),
    permissionPromptTool: params.text('permission_prompt_tool'),
    mcpConfig: mcpConfigIn(params),
    allowedTools: params.texts('allowed_tools'),
    disallowedTools: params.texts('disallowed_tools'),
    paths: pathsIn(params),
    maxTurns: params.count('max_turns'),
  });
}

/** Parses paths and refuses those that the system cannot handle. */
function pathsIn(params: Params): readonly string[] | undefined {
  const paths = params.texts('additional_directories');
  if (paths?.some((path) => path.includes('\0')) === true)
    throw wrongField('additional_directories', 'additional_directories must not contain null characters');
  if (paths?.some((path) => path === '' || path.length > LONGEST_PATH) === true)
    throw wrongField(
      'additional_directories',
      `additional_directories must be paths of 1 to ${LONGEST_PATH} characters`,
    );
  return paths;
}

const LONGEST_PATH = 4_096;

/** Resolves the working directory of a session and checks that it exists. */
export function directoryIn(
  params: Params,
  { cwd, home }: { readonly cwd: string; readonly home: string },
): string {
  const wanted = params.text('working_dir') ?? cwd;
  const directory = resolve(cwd, /^~(?=\/|$)/.test(wanted) ? `${home}${wanted.slice(1)}` : wanted);
  if (directory.includes('\0'))
    throw wrongField('working_dir', 'working_dir must not contain null characters');
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return directory;
  const problem =
    found === undefined
      ? `working directory does not exist: ${directory}`
      : `working directory path exists but is not a directory: ${directory}`;
  throw wrongField('working_dir', problem);
}

/** The settings that skip approvals, for the given time or without an end. */
export function skipFor(
  timeoutMs: number | undefined,
  now: number,
): Pick<SettingsChange, 'skipPermissionsUntil' | 'skipPermissionsForMs'> {
  if (timeoutMs === undefined || now + timeoutMs > LATEST) return { skipPermissionsUntil: NEVER_EXPIRES };
  return {
    skipPermissionsUntil: new Date(now + timeoutMs).toISOString(),
    skipPermissionsForMs: timeoutMs,
  };
}

/** The latest time that a Date can represent. */
const LATEST = 8_640_000_000_000_000;

/** Combines the additions to the system prompt into one text from which both can be parsed again. */
export function appended({
  appendSystemPrompt,
  customInstructions,
}: Partial<LaunchRequest>): string | undefined {
  const custom = customInstructions === undefined ? [] : [`${HEADING}${customInstructions}`];
  const parts = [...(appendSystemPrompt === undefined ? [] : [appendSystemPrompt]), ...custom];
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

export function additionsIn({ appendSystem }: Pick<PodSettings, 'appendSystem'>): Partial<LaunchRequest> {
  if (appendSystem === undefined) return {};
  const at = appendSystem.indexOf(HEADING);
  if (at < 0) return { appendSystemPrompt: appendSystem };
  const before = appendSystem.slice(0, at).replace(/\n\n$/, '');
  return {
    ...(before === '' ? {} : { appendSystemPrompt: before }),
    customInstructions: appendSystem.slice(at + HEADING.length),
  };
}

const HEADING = '# Custom instructions\n\n';

/** Converts the request to pod settings. */
export function settingsOf(request: Partial<LaunchRequest>): SettingsChange {
  const appendSystem = appended(request);
  return withoutUndefined({
    system: request.systemPrompt,
    appendSystem,
    paths: request.paths,
    mcpConfig: request.mcpConfig,
    permissionTool: permissionTool(request.permissionPromptTool),
  });
}

/** Our own approvals need no permission tool. */
function permissionTool(name: string | undefined): string | undefined {
  return name === NATIVE_PERMISSION_TOOL ? undefined : name;
}

/** Accepts an object or its JSON text. An object without servers means absent. */
function mcpConfigIn(params: Params): JsonObject | undefined {
  const value = params.raw('mcp_config');
  if (value === undefined || value === null || value === '') return undefined;
  const config = typeof value === 'string' ? parsed(value) : value;
  if (!isObject(config)) throw wrongField('mcp_config', 'invalid request: mcp_config must be an object');
  // The HumanLayer daemon adds its own approval server under this name. It is not needed here.
  const { codelayer: _, ...servers } = objectOf(config.mcpServers);
  return Object.keys(servers).length === 0 ? undefined : { ...config, mcpServers: servers };
}

function parsed(text: string): unknown {
  const value = tryParse(text);
  if (value === undefined)
    throw wrongField('mcp_config', `invalid mcp_config JSON: ${text.slice(0, 100)} is not JSON`);
  return value;
}
