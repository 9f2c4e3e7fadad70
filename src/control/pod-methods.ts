import { shape, withoutUndefined } from '../base/index.ts';
import { type Pod, type PodEvent, readCommand } from '../pod/index.ts';
import type { ModelAccess } from '../setup/index.ts';
import { encode } from './line.ts';
import { readParams } from './read-params.ts';
import type { Method } from './server.ts';

const text = shape.text();
const COMMAND = shape.fields({ pod: text, command: shape.anyObject, by: text }, { key: text });
const WATCH = shape.fields({ pod: text }, { after: shape.integerFrom(0) });
const NOTHING = shape.fields({}, {});
const MODEL = shape.fields({}, { reference: text });

export interface PodMethodsOptions {
  /** Finds the pod that a client names. Rejects if there is none. */
  readonly podNamed: (word: string) => Promise<Pod>;
  readonly models: () => Pick<ModelAccess, 'choose' | 'list'>;
}

/** The methods of every process that hosts pods: a chat uses them from another process. */
export function podMethods({ podNamed, models }: PodMethodsOptions): Readonly<Record<string, Method>> {
  return {
    command: async (params) => {
      const { pod, command, by, key } = readParams(COMMAND, params);
      const caller = { by, door: 'control', ...withoutUndefined({ key }) };
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
