import type { StopReason, Usage } from '../../llm/index.ts';
import type { Fault } from './fault.ts';

/** What a scripted model says to one request, in no provider's spelling. */
export interface Answer {
  readonly parts: readonly Part[];
  /** Absent: `tool-use` if a tool is called, `refusal` if it refuses, else `end-turn`. */
  readonly stop?: Stop | undefined;
  /** What is absent is counted from the texts, four characters to a token. */
  readonly usage?: AnswerUsage | undefined;
  readonly pace?: Pace | undefined;
  /** The tool calls of the answer grow side by side: their fragments alternate where the wire can say so. */
  readonly interleave?: boolean | undefined;
  readonly fault?: Fault | undefined;
}

export type Part = TextPart | ThinkingPart | RedactedPart | ToolCallPart | RefusalPart;

export interface TextPart {
  readonly text: string;
  /** Overrides the pace's chunk size for this part. */
  readonly chunkSize?: number;
}

export interface ThinkingPart {
  readonly thinking: string;
  /** The seal: Anthropic's signature, OpenAI's encrypted content, Gemini's thought signature. Absent: made up. */
  readonly signature?: string;
}

/** Thinking that the provider shows only in encrypted form; wires that have no such thing leave it out. */
export interface RedactedPart {
  readonly redacted: string;
}

export interface ToolCallPart {
  readonly toolCall: ScriptedCall;
}

export interface ScriptedCall {
  /** Absent: counted per server, in the provider's style; Gemini then sends none, as the real one does. */
  readonly id?: string;
  readonly name: string;
  /** Any JSON value. Absent: a call without arguments, as each provider writes one. */
  readonly arguments?: unknown;
  /** Sent as it is on the wires that carry arguments as text; need not be valid JSON. */
  readonly argumentsText?: string;
}

/** The model declines in words of its own: a field of its own with OpenAI, plain text elsewhere. */
export interface RefusalPart {
  readonly refusal: string;
}

/** Each wire says them in its own words; what it has no word for becomes its nearest. */
export const STOPS = [
  'end-turn',
  'max-tokens',
  'stop-sequence',
  'tool-use',
  'pause-turn',
  'refusal',
  'content-filter',
  'context-full',
  'malformed-call',
] as const satisfies readonly StopReason[];
export type Stop = (typeof STOPS)[number];

/** As our own events count; each wire makes its own sums of them. */
export type AnswerUsage = Omit<Usage, 'totalTokens'>;

export interface Pace {
  /** Characters per delta; 16 unless told. */
  readonly chunkSize?: number | undefined;
  /** Adds generated text to the answer: this many deltas of `chunkSize` characters. */
  readonly deltas?: number | undefined;
  /** Pause between two writes. */
  readonly delayMs?: number | undefined;
  /** Deltas per write; 1 unless told. */
  readonly batch?: number | undefined;
}

/** One pace laid over another: what it leaves open stays. */
export function layPace(base: Pace | undefined, over: Pace | undefined): Pace {
  return {
    chunkSize: over?.chunkSize ?? base?.chunkSize,
    deltas: over?.deltas ?? base?.deltas,
    delayMs: over?.delayMs ?? base?.delayMs,
    batch: over?.batch ?? base?.batch,
  };
}

/** Characters per delta where nobody says otherwise. */
export const CHUNK_SIZE = 16;

/** Deterministic ASCII words, exactly `length` characters. */
export function generatedText(length: number): string {
  return FILLER.repeat(Math.ceil(length / FILLER.length)).slice(0, length);
}

const FILLER = 'a simulated model says many words and means none of them ';
