/** Modules of the user's own that add tools, commands and hooks. */
export type {
  Asking,
  Denial,
  Extension,
  ExtensionApi,
  ExtensionCall,
  ExtensionCommand,
  ExtensionContext,
  ExtensionEvents,
  ExtensionHook,
  ExtensionResult,
  ExtensionTool,
  ExtensionUi,
  Objection,
  PiContent,
  PiResult,
  PiTool,
} from './api.ts';
export { type ExtensionHost, Extensions } from './extensions.ts';
