import type { JsonObject } from '../base/index.ts';
import type { Account } from './account.ts';
import type { Answer, Step, StepEvent } from './answer.ts';
import type { LlmRequest } from './request.ts';

/** The implementation of one provider API. It is pure: only `connect` uses the network. */
export interface Provider {
  readonly name: string;
  readonly framing: Framing;
  /** The URL and headers for a request. */
  readonly endpoint: (request: LlmRequest, account: Account) => Endpoint;
  /** Converts our request to the provider's request body. */
  readonly lower: (request: LlmRequest) => JsonObject;
  /** Creates a reader for one answer; the seed generates ids for calls that have none. */
  readonly reader: (seed: string) => AnswerReader;
  /** The URL and headers of the account's model list. */
  readonly models: (account: Account) => Endpoint;
  /** The model ids in that list. */
  readonly modelIds: (list: unknown) => readonly string[];
  /** How requests set a model's thinking level; the default is `effort`. */
  readonly thinkingMode?: (model: string) => ThinkingMode;
}

/** How the messages of a stream are separated: server-sent events, lines, or Amazon's event stream. */
export type Framing = 'sse' | 'lines' | 'event-stream';

/** How a thinking level is expressed in a request. */
export type ThinkingMode = 'effort' | 'budget' | 'google-level' | 'anthropic-adaptive';

export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Holds the state between the pure steps of one answer. */
export interface AnswerReader {
  /** Returns undefined if the payload is not JSON. */
  readPayload(payload: string): readonly StepEvent[] | undefined;
  answer(): Answer;
}

/** The parts of a provider folder; Frame and State are private to it. */
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
        readPayload(payload) {
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
