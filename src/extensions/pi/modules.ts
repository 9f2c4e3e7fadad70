import { PolypodError } from '../../base/index.ts';
import { Type } from './type-builder.ts';

interface NamedEvent {
  readonly toolName: string;
}

/** Replacements for the packages that extensions of pi import without installing them. */
export const PI_MODULES: Readonly<Record<string, object>> = {
  typebox: partialModule('typebox', { Type }),
  '@sinclair/typebox': partialModule('@sinclair/typebox', { Type }),
  '@mariozechner/pi-ai': partialModule('@mariozechner/pi-ai', { Type, StringEnum: Type.Enum }),
  '@mariozechner/pi-coding-agent': partialModule('@mariozechner/pi-coding-agent', {
    defineTool: (tool: unknown) => tool,
    isToolCallEventType: (name: string, { toolName }: NamedEvent) => toolName === name,
  }),
  '@mariozechner/pi-agent-core': partialModule('@mariozechner/pi-agent-core', {}),
  '@mariozechner/pi-tui': partialModule('@mariozechner/pi-tui', {}),
};

/** A module that throws for missing exports when they are used, not when they are imported. */
function partialModule(name: string, exported: Readonly<Record<string, unknown>>): object {
  return new Proxy(
    { __esModule: true, ...exported },
    {
      // Loaders read only properties that `has` reports.
      has: (module, key) => Reflect.has(module, key) || !isProbe(key),
      get: (module, key, receiver): unknown => {
        if (Reflect.has(module, key) || isProbe(key)) return Reflect.get(module, key, receiver);
        throw new PolypodError('bad-request', `${String(key)} of ${name} does not work in Polypod`);
      },
    },
  );
}

/** The keys that loaders look for in every module. */
function isProbe(key: string | symbol): boolean {
  return typeof key === 'symbol' || ['default', 'then', 'module.exports'].includes(key);
}
