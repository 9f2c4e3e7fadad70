import { type JsonObject, PolypodError, shape } from '../../../base/index.ts';
import type { AuditEvent } from '../../../audit/index.ts';
import type { Caller, PermissionMode } from '../../../pod/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import { findSession } from '../../../setup/index.ts';
import type { ListedRow } from '../ls.ts';
import type { AllowedDirectories } from './directories.ts';
import type { ServedPods } from './pods.ts';

/** What the tools use. */
export interface ToolParts {
  readonly pods: ServedPods;
  readonly directories: AllowedDirectories;
  readonly caller: Caller;
  /** The widest permission mode that a prompt may use. */
  readonly mode: () => Promise<PermissionMode>;
  /** Corrects the states of sessions whose process was killed. */
  readonly actual: (rows: readonly Row[]) => Promise<readonly ListedRow[]>;
  readonly audit: (event: AuditEvent) => void;
}

/** A call of a tool. */
export interface ToolCall {
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Sends a progress notification, if the client wants them. */
  readonly progress: (message: string) => void;
}

/** `read` tools change nothing; `approve` lets calls of agents run. */
export type ToolKind = 'read' | 'act' | 'approve';

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly isDestructive: boolean;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
  readonly call: (args: unknown, parts: ToolParts, call: ToolCall) => Promise<JsonObject>;
}

interface Definition<T> extends Omit<McpTool, 'inputSchema' | 'call' | 'isDestructive'> {
  readonly isDestructive?: boolean;
  readonly input: shape.Shape<T>;
  readonly run: (args: T, parts: ToolParts, call: ToolCall) => Promise<JsonObject>;
}

/** Binds a tool to the shape of its arguments. */
export function defineTool<T>({ input, run, isDestructive = false, ...tool }: Definition<T>): McpTool {
  return {
    ...tool,
    isDestructive,
    inputSchema: input.schema,
    call: async (args, parts, call) => {
      const problems: shape.Problem[] = [];
      const read = input.read(args ?? {}, [], (problem) => problems.push(problem));
      if (read === undefined)
        throw new PolypodError(
          'bad-request',
          shape.problemsMessage(`the arguments of ${tool.name}`, problems),
        );
      return run(read, parts, call);
    },
  };
}

/** Finds a session in the allowed directories, by id, part of the id, or name. */
export async function allowedSession(word: string, { pods, directories }: ToolParts): Promise<Row> {
  return findSession(await allowedRows(await pods.rows(), directories), word, {
    unknown: `there is no session "${word}" in the allowed directories: list_sessions lists them`,
  });
}

export async function allowedRows(
  rows: readonly Row[],
  directories: AllowedDirectories,
): Promise<readonly Row[]> {
  const known = new Map<string, Promise<boolean>>();
  const allows = (cwd: string): Promise<boolean> => {
    const found = known.get(cwd) ?? directories.allows(cwd);
    known.set(cwd, found);
    return found;
  };
  const allowed = await Promise.all(rows.map(({ cwd }) => allows(cwd)));
  return rows.filter((_, index) => allowed[index]);
}

/** Describes an argument for models. */
export const described = shape.withDescription;
export const SESSION = described(shape.text(), 'The id of the session, a unique part of it, or its name.');

/** JSON Schema of a result: an object with at least these fields. */
export function resultSchema(
  properties: Readonly<Record<string, JsonObject>>,
  required: readonly string[],
): JsonObject {
  return { type: 'object', properties, required };
}
export const TEXT = { type: 'string' } as const;
export const COUNT = { type: 'integer' } as const;
export const OBJECTS = { type: 'array', items: { type: 'object' } } as const;
