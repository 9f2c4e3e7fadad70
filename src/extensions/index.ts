/** User modules that add tools, commands and hooks. */
export type {
  DialogOptions,
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
  SwitchDecision,
  PiContent,
  PiResult,
  PiTool,
} from './api.ts';
export { type ExtensionHost, Extensions } from './extensions.ts';
