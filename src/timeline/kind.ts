import type { ErrorEvent, PingEvent, Seal, StatusEvent, StopReason, UsageEvent } from '../llm/index.ts';

/** The kinds of events that handlers can register for. A kind determines the type of the event, not of the scope. */
export type Kind = keyof Events;

/** The event type of a kind. */
export type EventOf<K extends Kind> = Events[K];

interface Events {
  readonly usage: UsageEvent;
  readonly ping: PingEvent;
  readonly status: StatusEvent;
  readonly error: ErrorEvent;
  readonly 'text-block': TextBlockEvent;
  readonly 'thinking-block': ThinkingBlockEvent;
  readonly 'tool-use-block': ToolUseBlockEvent;
}

/** The events of a text block. `source` says whether the text is the model's or a tool result. */
export type TextBlockEvent = TextOrigin &
  (
    | { readonly type: 'start'; readonly index: number }
    | { readonly type: 'delta'; readonly index: number; readonly text: string }
    | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
    | { readonly type: 'abort'; readonly index: number; readonly reason: string }
  );

/** The events of a block of the model's reasoning. */
export type ThinkingBlockEvent =
  | { readonly type: 'start'; readonly index: number }
  | { readonly type: 'delta'; readonly index: number; readonly text: string }
  | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
  | { readonly type: 'abort'; readonly index: number; readonly reason: string };

/** The events of a tool call. Every event has the call's id and name, so that a handler needs no scope to identify it. */
export type ToolUseBlockEvent = ToolUseHead &
  (
    | { readonly type: 'start'; readonly index: number }
    | { readonly type: 'input-json'; readonly index: number; readonly json: string }
    | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
    | { readonly type: 'abort'; readonly index: number; readonly reason: string }
  );

/** Optional data at the end of a block; see BlockStop. */
export interface BlockEnd {
  readonly stopReason?: StopReason;
  readonly seal?: Seal;
}

export type TextOrigin =
  | { readonly source: 'model' }
  | { readonly source: 'tool-result'; readonly toolUseId: string };

export interface ToolUseHead {
  readonly id: string;
  readonly name: string;
}
