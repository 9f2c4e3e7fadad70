/** Modules of the user's own that add tools, commands and hooks. */
export type {
  Asking,
  Denial,
  Extension,
  ExtensionApi,
  ExtensionCall,
  ExtensionCommand,
  ExtensionHooks,
  ExtensionResult,
  ExtensionTool,
  ExtensionUi,
  Objection,
} from './api.ts';
export { type ExtensionHost, Extensions } from './extensions.ts';
