import { PolypodError } from '../../base/index.ts';
import { Type } from './type-builder.ts';

interface NamedEvent {
  readonly toolName: string;
}

/** The packages that extensions of pi import without installing them, as far as they work here. */
export const PI_MODULES: Readonly<Record<string, object>> = {
  typebox: partOf('typebox', { Type }),
  '@sinclair/typebox': partOf('@sinclair/typebox', { Type }),
  '@mariozechner/pi-ai': partOf('@mariozechner/pi-ai', { Type, StringEnum: Type.Enum }),
  '@mariozechner/pi-coding-agent': partOf('@mariozechner/pi-coding-agent', {
    defineTool: (tool: unknown) => tool,
    isToolCallEventType: (name: string, { toolName }: NamedEvent) => toolName === name,
  }),
  '@mariozechner/pi-agent-core': partOf('@mariozechner/pi-agent-core', {}),
  '@mariozechner/pi-tui': partOf('@mariozechner/pi-tui', {}),
};

/** A module that refuses by name what it does not have, when it is used and not when it is imported. */
function partOf(name: string, exported: Readonly<Record<string, unknown>>): object {
  return new Proxy(
    { __esModule: true, ...exported },
    {
      // Loaders only get what they are told is there.
      has: (module, key) => Reflect.has(module, key) || !isProbe(key),
      get: (module, key, receiver): unknown => {
        if (Reflect.has(module, key) || isProbe(key)) return Reflect.get(module, key, receiver);
        throw new PolypodError('bad-request', `${String(key)} of ${name} does not work in Polypod`);
      },
    },
  );
}

/** What loaders look for in every module. */
function isProbe(key: string | symbol): boolean {
  return typeof key === 'symbol' || ['default', 'then', 'module.exports'].includes(key);
}
