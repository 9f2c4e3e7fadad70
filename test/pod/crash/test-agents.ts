import { appendFileSync } from 'node:fs';
import { onAbort, shape } from '../../../src/base/index.ts';
import { connect, type Model } from '../../../src/llm/index.ts';
import type { OpenAgent } from '../../../src/pod/index.ts';
import { providerNamed } from '../../../src/registry.ts';
import type { SimAnswer, Script } from '../../../src/sim/index.ts';
import {
  builtinTools,
  defineTool,
  fileFacts,
  scopeFrom,
  type Tool,
  textOutput,
  todoTool,
} from '../../../src/tools/index.ts';

/** The external effects of a pod's tools. */
export interface ToolEffects {
  /** A file with a line for every call that ran. */
  readonly effectsFile: string;
  /** Resolves when the call of this name may end. */
  readonly gate: (name: string) => Promise<void>;
}

/** Calls wait until the driver releases them, so that the order of events is deterministic. */
export class Gates {
  readonly #open = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();

  open(name: string): void {
    this.#at(name).open();
  }

  wait(name: string): Promise<void> {
    return this.#at(name).opened;
  }

  #at(name: string) {
    let gate = this.#open.get(name);
    if (gate === undefined) {
      let open = (): void => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { opened, open };
      this.#open.set(name, gate);
    }
    return gate;
  }
}

/** Takes effect at once and ends later: a kill in between leaves an effect without a result. */
function noteTool({ effectsFile, gate }: ToolEffects): Tool {
  return defineTool({
    name: 'note',
    description: 'Notes that it was called.',
    input: shape.fields({ name: shape.text() }, { gated: shape.boolean }),
    parallel: true,
    access: () => [{ type: 'foreign', readOnly: true }],
    title: ({ name }) => `note ${name}`,
    run: async ({ name, gated = false }, { update }, signal) => {
      appendFileSync(effectsFile, `${name}\n`);
      update('noted');
      if (gated)
        await Promise.race([gate(name), new Promise<void>((resolve) => void onAbort(signal, resolve))]);
      return textOutput('noted', `noted ${name}`);
    },
  });
}

const SIM: Model = {
  account: 'sim',
  id: 'sim',
  name: 'sim',
  reasoning: true,
  input: ['text'],
  // Small, so that a compaction has something to remove.
  contextWindow: 2_000,
};

/** Agents whose model is the simulator and whose tools record their effects. */
export function agentsIn(url: string, effects: ToolEffects): OpenAgent {
  const account = { name: 'sim', api: 'anthropic', baseUrl: url, apiKey: 'any' };
  return async ({ cwd, todos }) => ({
    defaultModel: { provider: 'sim', modelId: 'sim' },
    model: async ({ modelId }) => ({
      llm: connect(providerNamed('anthropic'), account),
      model: { ...SIM, id: modelId },
    }),
    tools: async () => [...builtinTools, todoTool(todos), noteTool(effects)],
    system: async () => 'Be brief.',
    mode: 'workspace-write',
    rules: [{ tool: 'note', action: 'auto' }],
    sandboxed: false,
    fileFacts,
    scope: (paths) => scopeFrom(cwd, paths, fileFacts.realPath),
    toolContext: () => ({
      env: { PATH: process.env.PATH ?? '', EFFECTS_FILE: effects.effectsFile },
      scratch: cwd,
      sandbox: undefined,
    }),
    remember: async () => {},
    close: async () => {},
  });
}

const note = (name: string, gated = false) => ({
  toolCall: { id: `toolu_${name}`, name: 'note', arguments: { name, ...(gated && { gated }) } },
});

const bash = (name: string) => ({
  toolCall: { id: `toolu_${name}`, name: 'bash', arguments: { command: recordEffect(name) } },
});

/** A command that records this effect. */
export function recordEffect(name: string): string {
  return `echo ${name} >> "$EFFECTS_FILE"`;
}

/** The model's answer to a prompt; once it has the results of its calls it is done. */
const ANSWERS: Readonly<Record<string, SimAnswer>> = {
  'say much': {
    parts: [
      { thinking: 'How much is much? '.repeat(8) },
      { text: 'Much has been said about much. '.repeat(60), chunkSize: 160 },
    ],
  },
  'talk for hours': { parts: [], pace: { deltas: 11_000, chunkSize: 4, batch: 500 } },
  'do three things': { parts: [{ text: 'Three.' }, note('first', true), note('second'), note('third')] },
  'run it': { parts: [bash('approved'), note('beside', true)] },
  'run the other': { parts: [bash('denied')] },
  'never end': { parts: [note('cancelled', true)] },
  'be paused': { parts: [note('paused', true)] },
  'ask and wait': { parts: [bash('pending'), note('waiting')] },
  'run in the fork': { parts: [note('forked')] },
};

/** The simulator's script: the same request always gets the same answer. */
export const script: Script = (request) => {
  const text = request.messages.findLast(({ role }) => role === 'user')?.text ?? '';
  const lastLine = text.split('\n').at(-1) ?? '';
  if (request.messages.at(-1)?.role === 'tool') return { parts: [{ text: 'Done.' }] };
  const last = /^note (?<name>[\w-]+)$/m.exec(text)?.groups?.name;
  if (last !== undefined) return { parts: [note(last)] };
  return ANSWERS[lastLine] ?? { parts: [{ text: 'I see.' }] };
};
