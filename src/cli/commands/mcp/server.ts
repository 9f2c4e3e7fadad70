import {
  CLIENT_CAPABILITIES_META_KEY,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  asPolypodError,
  type JsonObject,
  messageOf,
  objectOf,
  PolypodError,
  stringOf,
  truncateErrorMessage,
} from '../../../base/index.ts';
import { redacted } from './encode.ts';
import { TASK_ID, TASKS_EXTENSION, WaitTasks } from './tasks.ts';
import { allowedSession, type McpTool, type ToolParts } from './tool.ts';
import { WAIT } from './tools.ts';
import { listTranscripts, readTranscript, TRANSCRIPT_TEMPLATE } from './transcripts.ts';
import { finishedWait } from './wait.ts';

export interface McpServerOptions {
  readonly version: string;
  readonly tools: readonly McpTool[];
  readonly parts: ToolParts;
  /** Removes secrets from what the client receives. */
  readonly redact: (text: string) => string;
  /** Reports an unexpected error to the user. */
  readonly report: (message: string) => void;
}

const INSTRUCTIONS =
  'Polypod hosts coding agents as sessions. Start one with prompt, call wait until it is idle, and read the steps with read_session. Calls of agents that need approval wait for a person: report them to the user.';

/** Creates the server of one connection. */
export function createServer(options: McpServerOptions): McpServer {
  const { version, tools, parts, redact } = options;
  const mcp = new McpServer(
    { name: 'polypod', title: 'Polypod', version },
    {
      capabilities: { tools: {}, resources: {}, extensions: { [TASKS_EXTENSION]: {} } },
      instructions: INSTRUCTIONS,
    },
  );
  const { server } = mcp;
  const tasks = new WaitTasks();
  /** Errors of requests other than tool calls. */
  const answered = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, errorText(thrown, options));
    }
  };

  server.setRequestHandler('tools/list', () => ({ tools: tools.map(describeTool) }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args } }, context) => {
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool === undefined) return answered(async () => Promise.reject(unknownTool(name, tools)));
    if (tool.name === WAIT && hasTasks(context)) {
      const task = await answered(() => createTask(tasks, args, options));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of the SDK do not contain extensions
      return task as { content: [] };
    }
    const client = server.getClientVersion()?.name;
    return callTool(tool, args, { ...options, context, client });
  });

  server.setRequestHandler('tasks/get', { params: TASK_ID }, ({ taskId }) =>
    answered(() => tasks.get(taskId)),
  );
  server.setRequestHandler('tasks/cancel', { params: TASK_ID }, ({ taskId }) =>
    answered(async () => {
      tasks.cancel(taskId);
      return {};
    }),
  );

  server.setRequestHandler('resources/list', () =>
    answered(async () => ({
      resources: (await listTranscripts(parts)).map((each) => redacted(each, redact)),
    })),
  );
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [TRANSCRIPT_TEMPLATE] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    answered(async () => {
      const text = JSON.stringify(redacted(await readTranscript(uri, parts), redact), null, 2);
      return { contents: [{ uri, mimeType: TRANSCRIPT_TEMPLATE.mimeType, text }] };
    }),
  );
  return mcp;
}

interface ToolRequest extends McpServerOptions {
  readonly context: ServerContext;
  /** The name that the client gave itself. */
  readonly client: string | undefined;
}

/** Calls a tool. What it refuses is a result for the model, which can correct the call. */
async function callTool(tool: McpTool, args: unknown, request: ToolRequest) {
  const { parts, redact, context } = request;
  try {
    const { signal } = context.mcpReq;
    const result = await tool.call(args, parts, { signal, progress: progressOf(context) });
    recordCall(tool, stringOf(result.session), 'allowed', request);
    return toolResult(result, redact);
  } catch (thrown) {
    recordCall(tool, stringOf(objectOf(args).session), asPolypodError(thrown).code, request);
    return { isError: true, content: [{ type: 'text' as const, text: errorText(thrown, request) }] };
  }
}

function toolResult(result: JsonObject, redact: (text: string) => string) {
  const structuredContent = redacted(result, redact);
  // Clients without structured results show the text to the model.
  return { content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }], structuredContent };
}

/** Calls that only read are not recorded. */
function recordCall(tool: McpTool, session: string, outcome: string, { parts, client }: ToolRequest): void {
  if (tool.kind === 'read') return;
  const { by, door } = parts.caller;
  parts.audit({
    event: outcome === 'allowed' ? 'request.accepted' : 'request.refused',
    by,
    door,
    action: `tools/call ${tool.name}`,
    outcome,
    ...(session !== '' && { session }),
    ...(client !== undefined && { details: { client: client.slice(0, 100) } }),
  });
}

async function createTask(tasks: WaitTasks, args: unknown, { parts, redact }: McpServerOptions) {
  const row = await allowedSession(stringOf(objectOf(args).session), parts);
  return tasks.create(async () => {
    const result = await parts.pods.use(row, finishedWait);
    return result && toolResult(result, redact);
  });
}

/** Whether the client can poll a task instead of waiting for the result. Each request declares it. */
function hasTasks({ mcpReq: { envelope } }: ServerContext): boolean {
  const capabilities = objectOf(objectOf(envelope)[CLIENT_CAPABILITIES_META_KEY]);
  return objectOf(capabilities.extensions)[TASKS_EXTENSION] !== undefined;
}

/** Sends progress notifications if the client has asked for them. */
function progressOf({ mcpReq: { _meta, notify } }: ServerContext): (message: string) => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  return (message) => {
    progress += 1;
    // A client that has disconnected needs no progress.
    void notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(
      () => {},
    );
  };
}

function describeTool({ name, title, description, inputSchema, outputSchema, kind, isDestructive }: McpTool) {
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema, type: 'object' as const },
    outputSchema: { ...outputSchema, type: 'object' as const },
    annotations: {
      title,
      readOnlyHint: kind === 'read',
      ...(kind !== 'read' && { destructiveHint: isDestructive }),
      openWorldHint: kind !== 'read',
    },
  };
}

function unknownTool(name: string, tools: readonly McpTool[]): PolypodError {
  const names = tools.map((tool) => tool.name).join(', ');
  return new PolypodError('bad-request', `there is no tool "${name.slice(0, 100)}": there are ${names}`);
}

function errorText(thrown: unknown, { redact, report }: McpServerOptions): string {
  const { code, message } = asPolypodError(thrown);
  if (code === 'internal') report(redact(messageOf(thrown)));
  return redact(truncateErrorMessage(message));
}
