import type { StopReason, Usage } from '../../llm/index.ts';
import type { Fault } from './fault.ts';

/** What a scripted model answers to one request, independent of the provider API. */
export interface SimAnswer {
  readonly parts: readonly Part[];
  /** Absent: `tool-use` if a tool is called, `refusal` if it refuses, else `end-turn`. */
  readonly stop?: Stop | undefined;
  /** Missing counts are estimated from the texts, at four characters per token. */
  readonly usage?: AnswerUsage | undefined;
  readonly pace?: Pace | undefined;
  /** Interleaves the fragments of parallel tool calls where the provider API supports it. */
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
  /** Anthropic's signature, OpenAI's encrypted content or Gemini's thought signature. Absent: a fixed value. */
  readonly signature?: string;
}

/** Thinking in encrypted form; provider APIs without it omit the part. */
export interface RedactedPart {
  readonly redacted: string;
}

export interface ToolCallPart {
  readonly toolCall: ScriptedCall;
}

export interface ScriptedCall {
  /** Absent: numbered per server, in the provider's style; Gemini then sends none, like the real API. */
  readonly id?: string;
  readonly name: string;
  /** Any JSON value. Absent: a call without arguments, in the provider's form. */
  readonly arguments?: unknown;
  /** Sent verbatim by provider APIs that send arguments as text; may be invalid JSON. */
  readonly argumentsText?: string;
}

/** A refusal in the model's own words: a separate field with OpenAI, plain text elsewhere. */
export interface RefusalPart {
  readonly refusal: string;
}

/** Each provider API maps these to its own values; a value it does not have becomes the closest one. */
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

/** Counted like our own events; each provider API derives its own sums. */
export type AnswerUsage = Omit<Usage, 'totalTokens'>;

export interface Pace {
  /** Characters per delta; default 16. */
  readonly chunkSize?: number | undefined;
  /** Adds generated text to the answer: this many deltas of `chunkSize` characters. */
  readonly deltas?: number | undefined;
  /** Delay between two writes. */
  readonly delayMs?: number | undefined;
  /** Deltas per write; default 1. */
  readonly batch?: number | undefined;
}

/** Merges two paces; fields of `over` win. */
export function mergePace(base: Pace | undefined, override: Pace | undefined): Pace {
  return {
    chunkSize: override?.chunkSize ?? base?.chunkSize,
    deltas: override?.deltas ?? base?.deltas,
    delayMs: override?.delayMs ?? base?.delayMs,
    batch: override?.batch ?? base?.batch,
  };
}

/** Default number of characters per delta. */
export const CHUNK_SIZE = 16;

/** Deterministic ASCII words, exactly `length` characters. */
export function generatedText(length: number): string {
  return FILLER.repeat(Math.ceil(length / FILLER.length)).slice(0, length);
}

const FILLER = 'a simulated model says many words and means none of them ';
