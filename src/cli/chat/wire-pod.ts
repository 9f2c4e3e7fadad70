import { type JsonObject, numberOf, PolypodError, stringOf } from '../../base/index.ts';
import { PodClient, type PodLine } from '../../client/index.ts';
import type { PodHandle } from '../../control/index.ts';
import { EventBatch, type Receipt, type Watched } from '../../pod/index.ts';
import { WireEvents } from './wire-events.ts';
import { methodFor } from './wire-method.ts';
import { wireSnapshot } from './wire-snapshot.ts';

/** A pod in another process, reached by its own socket over the Pod Protocol. */
export function wirePod(
  id: string,
  path: string,
  name: string,
): PodHandle & { readonly close: () => Promise<void> } {
  let commands: Promise<PodClient> | undefined;
  return {
    id,
    async handle(command): Promise<Receipt> {
      commands ??= PodClient.open({ path, name, attempts: 20 });
      const client = await commands.catch((thrown: unknown) => {
        commands = undefined;
        throw thrown;
      });
      // Only its answers are wanted, but what is not read would wait.
      void drain(client);
      const [method, params] = methodFor(command);
      const { data } = await client.call(method, params);
      return receiptIn(data);
    },
    async *watch({ after, signal } = {}): AsyncGenerator<Watched> {
      const client = await PodClient.open({
        path,
        name,
        attempts: 0,
        ...(after === undefined ? {} : { after }),
        ...(signal === undefined ? {} : { signal }),
      });
      const translated = new WireEvents();
      try {
        for await (const line of client.events()) {
          if (line.event === 'snapshot') {
            const snapshot = wireSnapshot(line);
            translated.joined(snapshot);
            yield { type: 'snapshot', reason: line.data.reason === 'gap' ? 'gap' : 'joined', snapshot };
          } else yield* batchOf(line, translated);
        }
      } catch (thrown) {
        throw new PolypodError('unreachable', 'the pod cannot be reached any more', { cause: thrown });
      } finally {
        await client.close();
      }
    },
    close: async () => {
      await (await commands?.catch(() => undefined))?.close();
    },
  };
}

function* batchOf(line: PodLine, translated: WireEvents): Generator<Watched> {
  const events = translated.events(line);
  if (line.seq !== undefined && events.length > 0) yield { type: 'events', batch: new EventBatch(events) };
}

const draining = new WeakSet<PodClient>();

async function drain(client: PodClient): Promise<void> {
  if (draining.has(client)) return;
  draining.add(client);
  try {
    for await (const _ of client.events());
  } catch {
    // The next command will tell.
  }
}

function receiptIn(data: JsonObject): Receipt {
  const [runId, queueId] = [stringOf(data.run_id), stringOf(data.queue_id)];
  return {
    accepted: true,
    seq: numberOf(data.seq) ?? 0,
    ...(runId === '' ? {} : { runId }),
    ...(queueId === '' ? {} : { queueId }),
  };
}
