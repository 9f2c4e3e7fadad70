import type { ErrorEvent, PingEvent, Seal, StatusEvent, StopReason, UsageEvent } from '../llm/index.ts';

/** What a handler can be for. A kind decides only the type of the event; the scope is the handler's own affair. */
export type Kind = keyof Events;

/** What a handler of this kind receives. */
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

/** The life of a block of text: of the model's own, or of a tool's result, which `source` tells apart. */
export type TextBlockEvent = TextOrigin &
  (
    | { readonly type: 'start'; readonly index: number }
    | { readonly type: 'delta'; readonly index: number; readonly text: string }
    | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
    | { readonly type: 'abort'; readonly index: number; readonly reason: string }
  );

/** The life of a block of the model's reasoning. */
export type ThinkingBlockEvent =
  | { readonly type: 'start'; readonly index: number }
  | { readonly type: 'delta'; readonly index: number; readonly text: string }
  | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
  | { readonly type: 'abort'; readonly index: number; readonly reason: string };

/** The life of a tool call. Every event names the call, so that a handler without a scope can tell calls apart. */
export type ToolUseBlockEvent = ToolUseHead &
  (
    | { readonly type: 'start'; readonly index: number }
    | { readonly type: 'input-json'; readonly index: number; readonly json: string }
    | ({ readonly type: 'stop'; readonly index: number } & BlockEnd)
    | { readonly type: 'abort'; readonly index: number; readonly reason: string }
  );

/** What may come with the end of a block; see BlockStop. */
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
