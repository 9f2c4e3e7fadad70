import { PolypodError } from '../../base/index.ts';

/** The parts of pi's extension API that Polypod does not support. */
const API = [
  'registerShortcut',
  'registerFlag',
  'registerMessageRenderer',
  'registerProvider',
  'unregisterProvider',
  'getFlag',
  'sendMessage',
  'appendEntry',
  'setSessionName',
  'getSessionName',
  'setLabel',
  'getActiveTools',
  'getAllTools',
  'setActiveTools',
  'getCommands',
  'setModel',
  'getThinkingLevel',
  'setThinkingLevel',
] as const;
const CONTEXT = [
  'hasPendingMessages',
  'getContextUsage',
  'compact',
  'getSystemPrompt',
  'waitForIdle',
  'newSession',
  'fork',
  'navigateTree',
  'switchSession',
  'reload',
] as const;
const CONTEXT_VALUES = ['sessionManager', 'modelRegistry', 'model'] as const;

function unsupported(name: string): PolypodError {
  return new PolypodError(
    'bad-request',
    `${name} does not work in Polypod: see docs/extensions.md for the supported API`,
  );
}

/** Adds a function for each unsupported part, which throws when it is called. */
export function withApiRefusals<T extends object>(api: T): T {
  for (const name of API) refuseCalls(api, name, `pi.${name}()`);
  refuseReads(api, 'events', 'pi.events');
  return api;
}

export function withContextRefusals<T extends object>(context: T): T {
  for (const name of CONTEXT) refuseCalls(context, name, `ctx.${name}()`);
  for (const name of CONTEXT_VALUES) refuseReads(context, name, `ctx.${name}`);
  return context;
}

function refuseCalls(object: object, key: string, name: string): void {
  const value = (): never => {
    throw unsupported(name);
  };
  Object.defineProperty(object, key, { value });
}

function refuseReads(object: object, key: string, name: string): void {
  Object.defineProperty(object, key, {
    get: (): never => {
      throw unsupported(name);
    },
  });
}
