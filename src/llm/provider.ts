import type { JsonObject } from '../base/index.ts';
import type { Account } from './account.ts';
import type { Answer, Step, StepEvent } from './answer.ts';
import type { LlmRequest } from './request.ts';

/** One wire family, all of it pure: `connect` owns the network. */
export interface Provider {
  readonly name: string;
  readonly framing: 'sse' | 'lines';
  /** Where a request goes. */
  readonly endpoint: (request: LlmRequest, account: Account) => Endpoint;
  /** Our request in the provider's own spelling. */
  readonly lower: (request: LlmRequest) => JsonObject;
  /** A reader for one answer; the seed makes ids for calls that come without one. */
  readonly reader: (seed: string) => AnswerReader;
  /** Where the account's models are listed, and how to read the ids out of that list. */
  readonly models: (account: Account) => Endpoint;
  readonly modelIds: (list: unknown) => readonly string[];
  /** How a model is asked to think; by effort if it is not said. */
  readonly thinkingMode?: (model: string) => ThinkingMode;
}

/** What a level of thinking becomes in a request. */
export type ThinkingMode = 'effort' | 'budget' | 'google-level' | 'anthropic-adaptive';

export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Holds the state of a pure step between frames. */
export interface AnswerReader {
  /** Undefined when the payload is not JSON. */
  take(payload: string): readonly StepEvent[] | undefined;
  answer(): Answer;
}

/** The parts every provider folder has; Frame and State are its own affair. */
export interface ProviderParts<Frame, State extends Answer> extends Omit<Provider, 'reader'> {
  readonly decode: (payload: string) => Frame | undefined;
  readonly initial: (seed: string) => State;
  readonly step: (state: State, frame: Frame) => Step<State>;
}

export function defineProvider<Frame, State extends Answer>(parts: ProviderParts<Frame, State>): Provider {
  const { decode, initial, step, ...provider } = parts;
  return {
    ...provider,
    reader(seed) {
      let state = initial(seed);
      return {
        take(payload) {
          const frame = decode(payload);
          if (frame === undefined) return undefined;
          const [next, events] = step(state, frame);
          state = next;
          return events;
        },
        answer: () => state,
      };
    },
  };
}
