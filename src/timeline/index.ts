/** Dispatches the events of a streamed answer to typed handlers, with one scope per block. */
export { type Handler, handler } from './handler.ts';
export type {
  BlockEnd,
  EventOf,
  Kind,
  TextBlockEvent,
  ThinkingBlockEvent,
  ToolUseBlockEvent,
} from './kind.ts';
export { TextBlockCollector } from './text-block-collector.ts';
export { Timeline, type TimelineOptions } from './timeline.ts';
export {
  type InvalidToolCall,
  type ToolCall,
  ToolCallCollector,
  type ToolInput,
  type ValidToolCall,
} from './tool-call-collector.ts';
