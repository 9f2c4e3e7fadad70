import { isObject, type JsonObject, stringOf } from '../../../../src/base/index.ts';

/**
 * What the strictest clients of the protocol validate, and end their session over: the Python client of xcsh, which checks everything it
 * reads, and the client of pi 1.5, which reads every acknowledgement.
 */
type Check = (value: unknown, at: string) => readonly string[];

const must =
  (what: string, isValid: (value: unknown) => boolean): Check =>
  (value, at) =>
    isValid(value) ? [] : [`${at} must be ${what}, not ${JSON.stringify(value)}`];

const text = must('text', (value) => typeof value === 'string');
const integer = must('a whole number', Number.isInteger);
const number = must('a number', (value) => typeof value === 'number');
const flag = must('true or false', (value) => typeof value === 'boolean');
const object = must('an object', isObject);
const anything: Check = () => [];
const word = (...words: readonly string[]): Check =>
  must(`one of ${words.join(', ')}`, (value) => words.includes(String(value)));
const list =
  (item: Check): Check =>
  (value, at) =>
    Array.isArray(value)
      ? value.flatMap((part, index) => item(part, `${at}.${index}`))
      : [`${at} is no list`];
const either =
  (...checks: readonly Check[]): Check =>
  (value, at) =>
    checks.some((check) => check(value, at).length === 0) ? [] : (checks.at(-1)?.(value, at) ?? []);

type Checks = Readonly<Record<string, Check>>;

/** An object with these keys. Other keys are ignored, and an optional key is never null. */
const fields =
  (required: Checks, optional: Checks = {}): Check =>
  (value, at) => {
    if (!isObject(value)) return [`${at} is no object`];
    const missing = Object.entries(required).flatMap(([key, check]) => check(value[key], `${at}.${key}`));
    const given = Object.entries(optional).filter(([key]) => value[key] !== undefined);
    return [...missing, ...given.flatMap(([key, check]) => check(value[key], `${at}.${key}`))];
  };

/** An object of one of several kinds, selected by the value of a key. An unknown kind is a violation. */
const kinds =
  (key: string, known: Readonly<Record<string, Check>>): Check =>
  (value, at) => {
    const kind = isObject(value) ? stringOf(value[key]) : '';
    return known[kind]?.(value, `${at}(${kind})`) ?? [`${at} has the unknown ${key} "${kind}"`];
  };

const LEVEL = word('off', 'minimal', 'low', 'medium', 'high', 'xhigh');
const COST = fields({ input: number, output: number, cacheRead: number, cacheWrite: number });
const MODEL = fields({
  id: text,
  name: text,
  api: text,
  provider: text,
  baseUrl: text,
  reasoning: flag,
  input: list(word('text', 'image')),
  cost: COST,
  contextWindow: integer,
  maxTokens: integer,
});
const USAGE = fields({
  input: integer,
  output: integer,
  cacheRead: integer,
  cacheWrite: integer,
  totalTokens: integer,
  cost: fields({ total: number, input: number, output: number, cacheRead: number, cacheWrite: number }),
});
const SHOWN = kinds('type', { text: fields({ text }), image: fields({ data: text, mimeType: text }) });
const TOOL_CALL = fields({ type: word('toolCall'), id: text, name: text, arguments: object });
const WRITTEN = kinds('type', {
  text: fields({ text }),
  thinking: fields({ thinking: text }, { thinkingSignature: text }),
  redactedThinking: fields({ data: text }),
  toolCall: TOOL_CALL,
});
const ASSISTANT = fields(
  {
    role: word('assistant'),
    content: list(WRITTEN),
    api: text,
    provider: text,
    model: text,
    usage: USAGE,
    stopReason: word('stop', 'length', 'toolUse', 'error', 'aborted'),
    timestamp: integer,
  },
  { errorMessage: text },
);
const TOOL_RESULT = fields({
  role: word('toolResult'),
  toolCallId: text,
  toolName: text,
  content: list(SHOWN),
  isError: flag,
  timestamp: integer,
});
const CONTENT_FIELDS = fields(
  { content: either(text, list(SHOWN)), timestamp: integer },
  { attribution: word('user', 'agent') },
);
const MESSAGE = kinds('role', {
  user: CONTENT_FIELDS,
  developer: CONTENT_FIELDS,
  assistant: ASSISTANT,
  toolResult: TOOL_RESULT,
  bashExecution: fields(
    { command: text, output: text, cancelled: flag, truncated: flag, timestamp: integer },
    { exitCode: integer },
  ),
  custom: fields({ customType: text, content: either(text, list(SHOWN)), display: flag, timestamp: integer }),
  branchSummary: fields({ summary: text, fromId: text, timestamp: integer }),
  compactionSummary: fields({ summary: text, tokensBefore: integer, timestamp: integer }),
  fileMention: fields({ files: list(fields({ path: text, content: text })), timestamp: integer }),
});

const start = fields({ contentIndex: integer, partial: ASSISTANT });
const delta = fields({ contentIndex: integer, delta: text, partial: ASSISTANT });
const end = fields({ contentIndex: integer, content: text, partial: ASSISTANT });
const GROWTH = kinds('type', {
  text_start: start,
  thinking_start: start,
  toolcall_start: start,
  text_delta: delta,
  thinking_delta: delta,
  toolcall_delta: delta,
  text_end: end,
  thinking_end: end,
  toolcall_end: fields({ contentIndex: integer, toolCall: TOOL_CALL, partial: ASSISTANT }),
});

const RESULT = fields({ content: list(SHOWN) }, { isWarning: flag });
const COMPACTION = fields({
  summary: text,
  firstKeptEntryId: text,
  tokensBefore: integer,
  preserveData: object,
});
const TODO = fields({
  id: text,
  content: text,
  status: word('pending', 'in_progress', 'completed', 'abandoned'),
});
const PHASE = fields({ id: text, name: text, tasks: list(TODO) });

const UI = kinds('method', {
  select: fields({ title: text, options: list(text) }, { timeout: integer }),
  confirm: fields({ title: text, message: text }, { timeout: integer }),
  input: fields({ title: text }, { placeholder: text, timeout: integer }),
  editor: fields({ title: text }, { prefill: text }),
  cancel: fields({ targetId: text }),
  notify: fields({ message: text }, { notifyType: word('info', 'warning', 'error') }),
  setStatus: fields({ statusKey: text }, { statusText: text }),
  setWidget: fields(
    { widgetKey: text },
    { widgetLines: list(text), widgetPlacement: word('aboveEditor', 'belowEditor') },
  ),
  setTitle: fields({ title: text }),
  set_editor_text: fields({ text }),
});

const DISPOSED = fields({ disposition: word('started', 'queued', 'handled') });
const DATA: Readonly<Record<string, Check>> = {
  prompt: DISPOSED,
  steer: DISPOSED,
  follow_up: DISPOSED,
  get_state: fields(
    {
      model: MODEL,
      isStreaming: flag,
      isCompacting: flag,
      steeringMode: word('all', 'one-at-a-time'),
      followUpMode: word('all', 'one-at-a-time'),
      interruptMode: word('immediate', 'wait'),
      sessionId: text,
      autoCompactionEnabled: flag,
      messageCount: integer,
      queuedMessageCount: integer,
      todoPhases: list(PHASE),
    },
    {
      thinkingLevel: LEVEL,
      sessionFile: text,
      sessionName: text,
      systemPrompt: text,
      dumpTools: list(fields({ name: text, description: text, parameters: object })),
    },
  ),
  set_model: MODEL,
  cycle_model: either(
    must('null', (value) => value === null),
    fields({ model: MODEL, isScoped: flag }),
  ),
  cycle_thinking_level: either(
    must('null', (value) => value === null),
    fields({ level: LEVEL }),
  ),
  get_available_models: fields({ models: list(MODEL) }),
  set_todos: fields({ todoPhases: list(PHASE) }),
  set_host_tools: fields({ toolNames: list(text) }),
  compact: COMPACTION,
  bash: fields(
    {
      output: text,
      cancelled: flag,
      truncated: flag,
      totalLines: integer,
      totalBytes: integer,
      outputLines: integer,
      outputBytes: integer,
    },
    { exitCode: integer },
  ),
  get_session_stats: fields(
    {
      sessionId: text,
      userMessages: integer,
      assistantMessages: integer,
      toolCalls: integer,
      toolResults: integer,
      totalMessages: integer,
      tokens: fields({
        input: integer,
        output: integer,
        cacheRead: integer,
        cacheWrite: integer,
        total: integer,
      }),
      cost: number,
      premiumRequests: number,
    },
    { sessionFile: text },
  ),
  new_session: fields({ cancelled: flag }),
  switch_session: fields({ cancelled: flag }),
  branch: fields({ text, cancelled: flag }),
  get_branch_messages: fields({ messages: list(fields({ entryId: text, text })) }),
  get_last_assistant_text: fields({}, { text }),
  get_messages: fields({ messages: list(MESSAGE) }),
};

const RESPONSE: Check = (value, at) => {
  if (!isObject(value)) return [`${at} is no object`];
  const head = fields({ command: text, success: flag }, { id: text })(value, at);
  if (value.success !== true) return [...head, ...text(value.error, `${at}.error`)];
  const data = DATA[stringOf(value.command)];
  return data === undefined ? head : [...head, ...data(value.data, `${at}.${stringOf(value.command)}`)];
};

const tool = { toolCallId: text, toolName: text };
const LINE = kinds('type', {
  ready: anything,
  response: RESPONSE,
  agent_start: anything,
  agent_end: fields({ messages: list(MESSAGE) }),
  agent_settled: fields({ aborted: flag }),
  session_info_changed: fields({ name: text }),
  turn_start: anything,
  turn_end: fields({ message: ASSISTANT, toolResults: list(TOOL_RESULT) }),
  message_start: fields({ message: MESSAGE }),
  message_update: fields({ message: ASSISTANT, assistantMessageEvent: GROWTH }),
  message_end: fields({ message: MESSAGE }),
  tool_execution_start: fields({ ...tool, args: object }),
  tool_execution_update: fields({ ...tool, args: object, partialResult: RESULT }),
  tool_execution_end: fields({ ...tool, result: RESULT }, { isError: flag, isWarning: flag }),
  auto_compaction_start: fields({
    reason: word('threshold', 'overflow', 'idle'),
    action: word('context-full', 'handoff'),
  }),
  auto_compaction_end: fields(
    { action: word('context-full', 'handoff'), aborted: flag, willRetry: flag },
    { result: COMPACTION, errorMessage: text, skipped: flag },
  ),
  auto_retry_start: fields({ attempt: integer, maxAttempts: integer, delayMs: integer, errorMessage: text }),
  auto_retry_end: fields({ success: flag, attempt: integer }, { finalError: text }),
  ttsr_triggered: fields({
    rules: list(fields({ name: text, path: text, content: text, condition: list(text) })),
  }),
  todo_reminder: fields({ todos: list(TODO), attempt: integer, maxAttempts: integer }),
  todo_auto_clear: anything,
  extension_error: fields({ extensionPath: text, event: text, error: text }),
  extension_ui_request: (value, at) => [...fields({ id: text })(value, at), ...UI(value, at)],
  host_tool_call: fields({ id: text, ...tool, arguments: object }),
  host_tool_cancel: fields({ id: text, targetId: text }),
});

/** The violations that a strict reader finds in the output of a program since its start. */
export function violations(lines: readonly JsonObject[]): readonly string[] {
  const first = lines[0]?.type === 'ready' ? [] : ['the first line is not ready'];
  const found = lines.flatMap((line, at) => [...LINE(line, `line ${at}`), ...nullsIn(line, `line ${at}`)]);
  return [...first, ...found, ...disorder(lines)];
}

/** Missing values are absent. Only two commands return null, and results of tools are not checked. */
function nullsIn(value: unknown, at: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((part, index) => nullsIn(part, `${at}.${index}`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (FREE.has(key) || (key === 'data' && String(value.command).startsWith('cycle_'))) return [];
    return part === null ? [`${at}.${key} is null`] : nullsIn(part, `${at}.${key}`);
  });
}

const FREE = new Set(['details', 'arguments', 'args', 'parameters', 'dumpTools']);

/** Everything that starts also ends, in the order loop, turn and message, and agent_settled follows the last loop. */
function disorder(lines: readonly JsonObject[]): readonly string[] {
  const open: string[] = [];
  return lines.flatMap((line, at) => {
    const [, what = '', edge = ''] =
      /^(agent|turn|message)_(start|end|update)$/.exec(String(line.type)) ?? [];
    if (edge === 'start') {
      const enclosing = { agent: undefined, turn: 'agent', message: 'turn' }[what];
      const isWrong = open.at(-1) !== enclosing;
      open.push(what);
      return isWrong ? [`line ${at}: ${what}_start in ${open.join(' ')}`] : [];
    }
    if (edge === 'update') return open.at(-1) === 'message' ? [] : [`line ${at}: an update of no message`];
    if (edge === 'end') return open.pop() === what ? [] : [`line ${at}: ${what}_end without its start`];
    return line.type === 'agent_settled' && open.length > 0
      ? [`line ${at}: quiet within ${open.join(' ')}`]
      : [];
  });
}
