import { type Fault, isStreamFault, type StreamFault } from './script/fault.ts';
import type { Context, Frame, Wire } from './wires/index.ts';

/** What the server does with a connection, one thing after another. */
export type Step =
  /** `isDelta` is what pacing counts. */
  | { readonly do: 'write'; readonly text: string; readonly isDelta: boolean }
  | { readonly do: 'write-bytes'; readonly bytes: Uint8Array }
  /** Every byte in a write of its own. */
  | { readonly do: 'dribble'; readonly text: string }
  | { readonly do: 'wait'; readonly ms: number }
  /** Nothing more, until the client gives up. */
  | { readonly do: 'silence' }
  | { readonly do: 'keep-alive'; readonly text: string; readonly everyMs: number }
  | { readonly do: 'cut' };

/** Where a fault strikes: what it can look at. */
interface Strike {
  readonly frame: Frame;
  readonly sent: number;
  readonly fault: Fault;
  readonly wire: Wire;
  readonly context: Context;
}

/** The frames as steps, with the fault in its place. After the last step the response ends, unless it was cut. */
export function* stepsOf(
  frames: Iterable<Frame>,
  fault: Fault | undefined,
  wire: Wire,
  context: Context,
): Generator<Step> {
  const kind = fault !== undefined && isStreamFault(fault.kind) ? fault.kind : undefined;
  let deltas = 0;
  let sent = 0;
  let struck = false;
  for (const frame of frames) {
    if (fault !== undefined && kind !== undefined && !struck && isDue(kind, fault, frame, deltas)) {
      struck = kind !== 'split-bytes';
      yield* STRIKES[kind]({ frame, sent, fault, wire, context });
      if (FATAL[kind]) return;
    } else {
      yield { do: 'write', text: frame.text, isDelta: frame.role === 'delta' };
    }
    sent += 1;
    if (frame.role === 'delta') deltas += 1;
  }
}

/** `missing-finish` waits for the finish, `split-bytes` is due always, the rest after some deltas or else at the finish. */
function isDue(kind: StreamFault, fault: Fault, frame: Frame, deltas: number): boolean {
  if (kind === 'split-bytes') return true;
  if (frame.role === 'finish') return true;
  if (kind === 'missing-finish') return false;
  return frame.role === 'delta' && deltas >= (fault.after ?? AFTER);
}

const STRIKES: Record<StreamFault, (strike: Strike) => readonly Step[]> = {
  stall: () => [{ do: 'silence' }],
  'stall-keepalive': ({ fault, wire }) => [
    { do: 'keep-alive', text: wire.keepAlive, everyMs: fault.everyMs ?? KEEP_ALIVE_MS },
  ],
  cut: ({ frame }) => [{ do: 'write-bytes', bytes: firstHalf(frame.text) }, { do: 'cut' }],
  'cut-utf8': ({ frame }) => [{ do: 'write-bytes', bytes: insideCharacter(frame.text) }],
  'split-bytes': ({ frame }) => [{ do: 'dribble', text: frame.text }],
  'error-in-stream': ({ wire, context, sent }) => [write(wire.breakOff(context, sent))],
  'bare-error': ({ wire, context }) => [write(bareError(wire, context))],
  'malformed-json': ({ frame }) => [write(broken(frame.text))],
  'missing-finish': () => [],
};

/** Whether the answer is over with it. */
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

/** Indented JSON outside of the stream's framing: Gemini has been seen to end a stream so, and proxies do it too. */
function bareError(wire: Wire, { request }: Context): string {
  const quoted = { model: request.model, key: '', message: '', retryAfterSeconds: undefined };
  return `${JSON.stringify(wire.refuse('overloaded', quoted).body, undefined, 2)}\n`;
}

/** Up to the middle of the frame's last character of several bytes; where it has none, one is begun in its middle. */
function insideCharacter(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const lead = bytes.findLastIndex((byte) => byte >= 0xc0);
  if (lead >= 0) return bytes.subarray(0, lead + 1);
  return Buffer.concat([firstHalf(text), FIRST_TWO_OF_THREE]);
}

/** The payload loses its last two characters; the framing around it stays whole. */
function broken(text: string): string {
  const payload = text.trimEnd();
  return payload.slice(0, -2) + text.slice(payload.length);
}

function firstHalf(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return bytes.subarray(0, bytes.length / 2);
}

function write(text: string): Step {
  return { do: 'write', text, isDelta: false };
}

const AFTER = 2;
const KEEP_ALIVE_MS = 1000;
/** The euro sign without its last byte. */
const FIRST_TWO_OF_THREE = Uint8Array.of(0xe2, 0x82);
