// One streamed answer of each provider API, as the provider sends it. All candidates are measured on these bytes.

/** Bytes, and characters, of one delta. All ASCII, so that both are the same. */
export const DELTA_SIZE = 20;
/** The size of one read from a socket when the sender is ahead. */
const PIECE_SIZE = 16 * 1024;
export const MODEL = 'bench-model';

/**
 * An answer of `count` text deltas, or of one tool call whose arguments are streamed in `count` pieces: its bytes, and what a
 * reader must find in them.
 */
export function answer(wire, work, count) {
  const { frames, contentType } = WIRES[wire];
  const content = work === 'tool' ? argumentsOf(count) : textOf(count);
  const deltas = cut(content, DELTA_SIZE);
  return {
    contentType,
    content,
    count,
    pieces: cut16k(Buffer.from([...frames[work](deltas, content)].join(''))),
  };
}

/** The frames of a text answer, one string each. */
export function textFrames(wire, count) {
  const text = textOf(count);
  return [...WIRES[wire].frames.text(cut(text, DELTA_SIZE), text)];
}

const SSE = 'text/event-stream; charset=utf-8';

const WIRES = {
  anthropic: { contentType: SSE, frames: { text: anthropicText, tool: anthropicTool } },
  'openai-chat': { contentType: SSE, frames: { text: chatText, tool: chatTool } },
  'openai-responses': { contentType: SSE, frames: { text: responsesText, tool: responsesTool } },
  gemini: { contentType: SSE, frames: { text: geminiText } },
  ollama: { contentType: 'application/x-ndjson', frames: { text: ollamaText } },
};

export const WIRE_NAMES = Object.keys(WIRES);
/** The APIs that stream the arguments of a call; the others send complete calls. */
export const TOOL_WIRE_NAMES = WIRE_NAMES.filter((wire) => WIRES[wire].frames.tool);

const CALL = { id: 'call_bench', name: 'write_file' };

function* anthropicText(deltas) {
  yield* anthropicStart({ type: 'text', text: '' });
  for (const text of deltas) yield anthropicDelta({ type: 'text_delta', text });
  yield* anthropicEnd('end_turn', deltas.length);
}

function* anthropicTool(deltas) {
  yield* anthropicStart({ type: 'tool_use', ...CALL, input: {} });
  for (const json of deltas) yield anthropicDelta({ type: 'input_json_delta', partial_json: json });
  yield* anthropicEnd('tool_use', deltas.length);
}

function* anthropicStart(block) {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL, content: [] };
  yield named({
    type: 'message_start',
    message: { ...message, stop_reason: null, stop_sequence: null, usage },
  });
  yield named({ type: 'content_block_start', index: 0, content_block: block });
}

function anthropicDelta(delta) {
  return named({ type: 'content_block_delta', index: 0, delta });
}

function* anthropicEnd(reason, tokens) {
  yield named({ type: 'content_block_stop', index: 0 });
  const delta = { stop_reason: reason, stop_sequence: null };
  yield named({ type: 'message_delta', delta, usage: { output_tokens: tokens } });
  yield named({ type: 'message_stop' });
}

function* chatText(deltas) {
  yield chatChunk({ role: 'assistant', content: '' });
  for (const content of deltas) yield chatChunk({ content });
  yield* chatEnd('stop', deltas.length);
}

function* chatTool(deltas) {
  const { id, name } = CALL;
  const opening = { index: 0, id, type: 'function', function: { name, arguments: '' } };
  yield chatChunk({ role: 'assistant', content: null, tool_calls: [opening] });
  for (const json of deltas) yield chatChunk({ tool_calls: [{ index: 0, function: { arguments: json } }] });
  yield* chatEnd('tool_calls', deltas.length);
}

const CHUNK = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: MODEL };

function chatChunk(delta, finishReason = null) {
  return unnamed({ ...CHUNK, choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

function* chatEnd(reason, tokens) {
  yield chatChunk({}, reason);
  const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens };
  yield unnamed({ ...CHUNK, choices: [], usage });
  yield 'data: [DONE]\n\n';
}

function* responsesText(deltas, text) {
  const event = numbered();
  const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const item = { id: 'msg_bench', type: 'message', role: 'assistant' };
  const part = { type: 'output_text', annotations: [], logprobs: [] };
  yield* responsesStart(event, { ...item, status: 'in_progress', content: [] });
  yield event('response.content_part.added', { ...place, part: { ...part, text: '' } });
  for (const delta of deltas) yield event('response.output_text.delta', { ...place, delta, logprobs: [] });
  // The last events repeat the complete text, each on one line: long lines are part of this API.
  yield event('response.output_text.done', { ...place, text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part: { ...part, text } });
  const whole = { ...item, status: 'completed', content: [{ ...part, text }] };
  yield* responsesEnd(event, whole, deltas.length);
}

function* responsesTool(deltas, json) {
  const event = numbered();
  const place = { item_id: 'fc_bench', output_index: 0 };
  const item = { id: 'fc_bench', type: 'function_call', call_id: CALL.id, name: CALL.name };
  yield* responsesStart(event, { ...item, status: 'in_progress', arguments: '' });
  for (const delta of deltas) yield event('response.function_call_arguments.delta', { ...place, delta });
  yield event('response.function_call_arguments.done', { ...place, name: CALL.name, arguments: json });
  yield* responsesEnd(event, { ...item, status: 'completed', arguments: json }, deltas.length);
}

function* responsesStart(event, item) {
  const response = responseObject('in_progress', [], null);
  yield event('response.created', { response });
  yield event('response.in_progress', { response });
  yield event('response.output_item.added', { output_index: 0, item });
}

function* responsesEnd(event, item, tokens) {
  yield event('response.output_item.done', { output_index: 0, item });
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 10 + tokens,
  };
  yield event('response.completed', { response: responseObject('completed', [item], usage) });
}

function responseObject(status, output, usage) {
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: MODEL,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage,
    user: null,
    metadata: {},
  };
}

function numbered() {
  let next = 0;
  return (type, fields) => named({ type, sequence_number: next++, ...fields });
}

function* geminiText(deltas) {
  for (const [at, text] of deltas.entries()) {
    const finish = at === deltas.length - 1 ? { finishReason: 'STOP' } : {};
    yield unnamed({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...finish }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: at + 1, totalTokenCount: at + 11 },
      modelVersion: MODEL,
      responseId: 'resp_bench',
    });
  }
}

function* ollamaText(deltas) {
  for (const content of deltas) yield ollamaLine({ message: { role: 'assistant', content }, done: false });
  yield ollamaLine({
    message: { role: 'assistant', content: '' },
    done: true,
    done_reason: 'stop',
    total_duration: 1e9,
    load_duration: 1e8,
    prompt_eval_count: 10,
    prompt_eval_duration: 1e8,
    eval_count: deltas.length,
    eval_duration: 1e9,
  });
}

function ollamaLine(fields) {
  return `${JSON.stringify({ model: MODEL, created_at: '2026-11-01T12:00:00.000000Z', ...fields })}\n`;
}

function named(payload) {
  return `event: ${payload.type}\n${unnamed(payload)}`;
}

function unnamed(payload) {
  return `data: ${JSON.stringify(payload)}\n\n`;
}

/** The same words for the same count, and no repeated sentence, so that nothing can be cached. */
function textOf(count) {
  let text = '';
  let seed = 42;
  while (text.length < count * DELTA_SIZE) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${(seed >>> 4).toString(36)} `;
  }
  return text.slice(0, count * DELTA_SIZE);
}

/** The JSON text of a file to be written, exactly as long as `count` pieces; its line breaks are escapes. */
function argumentsOf(count) {
  const room = count * DELTA_SIZE - '{"path":"notes.txt","content":""}'.length;
  const lines = textOf(count)
    .replaceAll(/(.{60})../g, '$1\\n')
    .slice(0, room)
    .replace(/\\$/, '.');
  return `{"path":"notes.txt","content":"${lines}"}`;
}

function cut(text, size) {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

function cut16k(bytes) {
  const count = Math.ceil(bytes.length / PIECE_SIZE);
  // Copies, as from a socket: a piece is not a view of the complete answer.
  return Array.from(
    { length: count },
    (_, at) => new Uint8Array(bytes.subarray(at * PIECE_SIZE, (at + 1) * PIECE_SIZE)),
  );
}
