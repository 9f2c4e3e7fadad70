import { openHost, promptCommand } from '../floor/pods.mjs';

/** A pod with this many watchers, and some that take the snapshot and then never read again. */
export async function openPods(provider, directory) {
  const host = await openHost(provider, directory);
  return async ({ watchers, idle }) => {
    const pod = await host.create({ cwd: directory });
    for (let count = 0; count < idle; count += 1) await pod.watch().next();
    const joined = await Promise.all(Array.from({ length: watchers }, () => join(pod)));
    return {
      watching: joined.map(countDeltas),
      prompt: (text) => void pod.handle(promptCommand(text)),
      close: () => host.close(pod.id),
    };
  };
}

async function join(pod) {
  const watching = pod.watch();
  await watching.next();
  return watching;
}

async function countDeltas(watching) {
  let count = 0;
  for await (const { batch } of watching) {
    for (const { type } of batch.events) {
      if (type === 'block-delta') count += 1;
      if (type === 'run-end') return count;
    }
  }
}
