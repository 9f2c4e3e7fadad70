import { type JsonObject, PolypodError, shape } from '../base/index.ts';
import type { Host, Pod } from '../pod/index.ts';
import type { ModelAccess } from '../setup/index.ts';
import { podMethods } from './pod-methods.ts';
import { readParams } from './read-params.ts';
import type { Method } from './server.ts';

export interface HostMethodsOptions {
  readonly host: Host;
  readonly models: () => Pick<ModelAccess, 'choose' | 'list'>;
  readonly version: string;
}

const NOTHING = shape.fields({}, {});

/**
 * The methods of a command that hosts its pods itself. Clients can use only the pods that it has loaded, so other sessions stay
 * available to other processes.
 */
export function hostMethods({ host, models, version }: HostMethodsOptions): Readonly<Record<string, Method>> {
  const podNamed = async (id: string): Promise<Pod> => {
    if (podsInMemory(host).has(id)) return host.pod(id);
    throw new PolypodError('not-found', `process ${process.pid} has no session ${id} open`);
  };
  return {
    ...podMethods({ podNamed, history: host.history, models }),
    status: async (params): Promise<JsonObject> => {
      readParams(NOTHING, params);
      return { state: 'ready', pid: process.pid, version, pods: [...podsInMemory(host)] };
    },
  };
}

function podsInMemory(host: Host): ReadonlySet<string> {
  const ids = new Set<string>();
  const stop = host.onPods((id) => ids.add(id));
  stop();
  return ids;
}
