import { shape, withoutUndefined } from '../base/index.ts';
import { type Host, type Pod, type PodEvent, readCommand } from '../pod/index.ts';
import type { ModelAccess } from '../setup/index.ts';
import { conversationPage } from './conversation-page.ts';
import { encode } from './line.ts';
import { readParams } from './read-params.ts';
import type { Method } from './server.ts';

const text = shape.text();
const COMMAND = shape.fields(
  { pod: text, command: shape.anyObject, by: text },
  {
    key: text,
    /** The protocol that the client of the other process speaks, if it is a door of its own. */
    door: shape.choice(['mcp']),
  },
);
const WATCH = shape.fields({ pod: text }, { after: shape.integerFrom(0) });
const POD = shape.fields({ pod: text }, {});
const PREVIEW = shape.fields({ pod: text, entryId: text }, {});
const NOTHING = shape.fields({}, {});
const MODEL = shape.fields({}, { reference: text });
const CONVERSATION = shape.fields(
  { pod: text },
  { after: shape.integerFrom(0), limit: shape.integerFrom(1) },
);

export interface PodMethodsOptions {
  /** Finds the pod that a client names. Rejects if there is none. */
  readonly podNamed: (word: string) => Promise<Pod>;
  readonly history: Host['history'];
  readonly models: () => Pick<ModelAccess, 'choose' | 'list'>;
}

/** The methods of every process that hosts pods: a chat uses them from another process. */
export function podMethods({
  podNamed,
  history,
  models,
}: PodMethodsOptions): Readonly<Record<string, Method>> {
  return {
    command: async (params) => {
      const { pod, command, by, key, door = 'control' } = readParams(COMMAND, params);
      const caller = { by, door, ...withoutUndefined({ key }) };
      return { ...(await (await podNamed(pod)).perform(readCommand(command), caller)) };
    },
    watch: async (params, { send, signal }) => {
      const { pod, after } = readParams(WATCH, params);
      const watching = (await podNamed(pod)).watch({
        signal,
        ...withoutUndefined({ after }),
      });
      for await (const watched of watching)
        await send(
          watched.type === 'snapshot' ? encode({ watched: { ...watched } }) : watched.batch.as(encodeEvents),
        );
      return { ended: true };
    },
    briefing: async (params) => {
      const { pod } = readParams(POD, params);
      const { system, tools } = await (await podNamed(pod)).briefing();
      return {
        system,
        tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      };
    },
    'rewind-points': async (params) => {
      const { pod } = readParams(POD, params);
      return { ...(await (await podNamed(pod)).rewindPoints()) };
    },
    'rewind-preview': async (params) => {
      const { pod, entryId } = readParams(PREVIEW, params);
      return { files: await (await podNamed(pod)).previewRewind(entryId) };
    },
    conversation: async (params) => {
      const { pod, ...range } = readParams(CONVERSATION, params);
      return { ...(await conversationPage(history, (await podNamed(pod)).id, range)) };
    },
    model: async (params) => {
      const { reference } = readParams(MODEL, params);
      const { llm, model, notices } = await models().choose(reference);
      const { name, api, baseUrl } = llm.account;
      return {
        choice: { provider: model.account, modelId: model.id },
        account: { name, wire: api, baseUrl },
        notices,
      };
    },
    models: async (params) => {
      readParams(NOTHING, params);
      return { models: (await models().list()).map((model) => withoutUndefined(model)) };
    },
  };
}

function encodeEvents(events: readonly PodEvent[]): string {
  return encode({ watched: { type: 'events', events } });
}
