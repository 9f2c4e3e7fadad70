import { type Fault, isStreamFault, type StreamFault } from './script/fault.ts';
import type { ResponseContext, Frame, ProviderApi } from './provider-apis/index.ts';

/** One action of the server on a connection. */
export type Step =
  /** Pacing counts the steps with `isDelta`. */
  | { readonly do: 'write'; readonly bytes: Uint8Array; readonly isDelta: boolean }
  | { readonly do: 'write-bytes'; readonly bytes: Uint8Array }
  /** Every byte in a separate write. */
  | { readonly do: 'dribble'; readonly bytes: Uint8Array }
  | { readonly do: 'wait'; readonly ms: number }
  /** Sends nothing more and waits for the client to disconnect. */
  | { readonly do: 'silence' }
  | { readonly do: 'keep-alive'; readonly bytes: Uint8Array; readonly everyMs: number }
  | { readonly do: 'cut' };

/** The state in which a fault is injected. */
interface FaultContext {
  readonly frame: Frame;
  readonly sent: number;
  readonly fault: Fault;
  readonly api: ProviderApi;
  readonly context: ResponseContext;
  readonly encode: Encode;
}

/** Returns the bytes of a frame. */
type Encode = (text: string) => Uint8Array;

export const encodeText: Encode = (text) => Buffer.from(text);

/** Converts frames to steps and injects the fault. The response ends after the last step, unless it was cut. */
export function* responseSteps(
  frames: Iterable<Frame>,
  fault: Fault | undefined,
  api: ProviderApi,
  context: ResponseContext,
  encode: Encode = api.encodeFrame ?? encodeText,
): Generator<Step> {
  const kind = fault !== undefined && isStreamFault(fault.kind) ? fault.kind : undefined;
  let deltas = 0;
  let sent = 0;
  let injected = false;
  for (const frame of frames) {
    if (fault !== undefined && kind !== undefined && !injected && applies(kind, fault, frame, deltas)) {
      injected = kind !== 'split-bytes';
      yield* FAULT_STEPS[kind]({ frame, sent, fault, api, context, encode });
      if (FATAL[kind]) return;
    } else {
      yield { do: 'write', bytes: encode(frame.text), isDelta: frame.role === 'delta' };
    }
    sent += 1;
    if (frame.role === 'delta') deltas += 1;
  }
}

/**
 * `missing-finish` applies at the finish, `split-bytes` always, the others after some deltas or, at the latest,
 * at the finish.
 */
function applies(kind: StreamFault, fault: Fault, frame: Frame, deltas: number): boolean {
  if (kind === 'split-bytes') return true;
  if (frame.role === 'finish') return true;
  if (kind === 'missing-finish') return false;
  return frame.role === 'delta' && deltas >= (fault.after ?? DEFAULT_AFTER);
}

const FAULT_STEPS: Record<StreamFault, (context: FaultContext) => readonly Step[]> = {
  stall: () => [{ do: 'silence' }],
  'stall-keepalive': ({ fault, api, encode }) => [
    { do: 'keep-alive', bytes: encode(api.keepAlive), everyMs: fault.everyMs ?? KEEP_ALIVE_MS },
  ],
  cut: ({ frame, encode }) => [{ do: 'write-bytes', bytes: firstHalf(encode(frame.text)) }, { do: 'cut' }],
  'cut-utf8': ({ frame, encode }) => [{ do: 'write-bytes', bytes: insideCharacter(frame.text, encode) }],
  'split-bytes': ({ frame, encode }) => [{ do: 'dribble', bytes: encode(frame.text) }],
  'error-in-stream': ({ api, context, sent, encode }) => [write(encode(api.streamError(context, sent)))],
  'bare-error': ({ api, context }) => [write(encodeText(bareError(api, context)))],
  'malformed-json': ({ frame, encode }) => [write(encode(truncatePayload(frame.text)))],
  'missing-finish': () => [],
};

/** Whether the fault ends the answer. */
const FATAL: Record<StreamFault, boolean> = {
  stall: true,
  'stall-keepalive': true,
  cut: true,
  'cut-utf8': true,
  'split-bytes': false,
  'error-in-stream': true,
  'bare-error': true,
  'malformed-json': false,
  'missing-finish': true,
};

/** Indented JSON outside the stream's framing: Gemini and some proxies end streams this way. */
function bareError(api: ProviderApi, { request }: ResponseContext): string {
  const errorContext = { model: request.model, key: '', message: '', retryAfterSeconds: undefined };
  return `${JSON.stringify(api.errorResponse('overloaded', errorContext).body, undefined, 2)}\n`;
}

/**
 * Returns the text up to the middle of its last multi-byte character, or, if it has none, the first half plus a
 * partial character.
 */
function insideCharacter(text: string, encode: Encode): Uint8Array {
  const bytes = encode(text);
  // Not by the bytes of the frame: a binary one has other large bytes.
  const last = /\P{ASCII}(?=\p{ASCII}*$)/u.exec(text)?.[0];
  if (last === undefined) return Buffer.concat([firstHalf(bytes), PARTIAL_CHARACTER]);
  return bytes.subarray(0, Buffer.from(bytes).lastIndexOf(last) + 1);
}

/** Removes the last two characters of the payload and keeps the framing intact. */
function truncatePayload(text: string): string {
  const payload = text.trimEnd();
  return payload.slice(0, -2) + text.slice(payload.length);
}

function firstHalf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length / 2);
}

function write(bytes: Uint8Array): Step {
  return { do: 'write', bytes, isDelta: false };
}

const DEFAULT_AFTER = 2;
const KEEP_ALIVE_MS = 1000;
/** The first two of the three bytes of the euro sign. */
const PARTIAL_CHARACTER = Uint8Array.of(0xe2, 0x82);
