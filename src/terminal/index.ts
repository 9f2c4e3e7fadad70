/** A terminal library: styled text, markdown, an input editor, and a screen with a live area; no agents. */
export { chord, type Key } from './keys/key.ts';
export { KeyDecoder } from './keys/key-decoder.ts';
export { menuLines, updateMenu } from './editor/menu.ts';
export {
  newPicker,
  type PickerItem,
  type PickerState,
  pickerWidth,
  renderPicker,
  updatePicker,
} from './editor/picker.ts';
export { renderEditor, textWidth } from './editor/render.ts';
export { type Choice, type Completion, type EditorState, type Folded, newEditor } from './editor/state.ts';
export { type EditorContext, type EditorEvent, updateEditor } from './editor/update.ts';
export { sanitizeLine, sanitizeLines } from './sanitize.ts';
export {
  COLOURED,
  type Line,
  type Style,
  line,
  paintLine,
  type Span,
  span,
  lineText,
  MONOCHROME,
  UNSTYLED,
  lineWidth,
} from './style.ts';
export type { MarkdownStyle } from './markdown/render.ts';
export { markdownLines, MarkdownStream } from './markdown/stream.ts';
export { type LiveArea, type CursorPosition, stackLive, staticLive } from './screen/live.ts';
export { PlainOutput, wantsPlain } from './screen/plain.ts';
export { Screen, type ScreenOutput, type OutputTarget } from './screen/screen.ts';
export {
  openTerminal,
  type TerminalProcess,
  type Terminal,
  type TerminalInput,
  type TerminalOutput,
} from './screen/terminal.ts';
export { type NotificationChannels, notificationBytes, supportsOsc } from './screen/notification.ts';
export { WindowTitle } from './screen/window-title.ts';
export { REAL_TIMER, type Timer } from './screen/timer.ts';
export { fitLine, wrapLine } from './wrap.ts';
export { brush, type TextColors, colourDiff, paintFor, wantsColour } from './colors.ts';
export { insert, setText, submittedInput } from './editor/state.ts';
export { diffStyle } from './markdown/code.ts';
export { type TextStream, textStreamFor } from './sanitize-stream.ts';
export { sanitizeText, sanitizeFullLines, withoutColours } from './sanitize.ts';
export { BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW } from './style.ts';
export { displayWidth, fitWidth, fitWidthEnd } from './width.ts';
export { chopLine, fillParts } from './wrap.ts';
