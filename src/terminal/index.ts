/** What an agent looks like on a terminal: markdown, cards, questions, an input editor, and the screen they share. */
export { type Activity, activityLine, duration, FRAME_MS, statusLine } from '../cli/chat/screen/activity.ts';
export {
  type ApprovalAnswer,
  answerIn,
  type ApprovalQuestion,
  type ApprovalState,
  newApproval,
  SETTLE_MS,
  updateApproval,
} from '../cli/chat/screen/approval-dialog.ts';
export { approvalWidth, questionLines, renderApproval } from '../cli/chat/screen/approval-lines.ts';
export {
  type Card,
  type CardStatus,
  type CardStyle,
  cardLines,
  messageLines,
  type NoticeTone,
  noticeLines,
  type ThoughtCard,
  type ToolCard,
} from '../cli/chat/screen/cards.ts';
export { chord, type Key } from './editor/key.ts';
export { KeyDecoder } from './editor/key-decoder.ts';
export { menuLines } from './editor/menu.ts';
export { renderEditor, textWidth } from './editor/render.ts';
export { type Choice, type Completion, type EditorState, type Folded, newEditor } from './editor/state.ts';
export { type EditorAround, type EditorEvent, updateEditor } from './editor/update.ts';
export { FoldedCards } from '../cli/chat/screen/folded-cards.ts';
export { harmless, harmlessLines } from './sanitize.ts';
export {
  COLOURED,
  type Line,
  type Look,
  line,
  paintLine,
  type Span,
  span,
  textOf,
  UNCOLOURED,
  widthOf,
} from './style.ts';
export { type MarkdownStyle, markdownLines } from './markdown/render.ts';
export { MarkdownStream } from './markdown/stream.ts';
export { type Live, type Place, stacked, still } from './screen/live.ts';
export { PlainSurface, wantsPlain } from './screen/plain.ts';
export { Screen, type ScreenOutput, type Surface } from './screen/screen.ts';
export {
  openTerminal,
  type Program,
  type Terminal,
  type TerminalInput,
  type TerminalOutput,
} from './screen/terminal.ts';
export { REAL_TIMER, type Timer } from './screen/timer.ts';
export { fitLine, wrapLine } from './wrap.ts';
