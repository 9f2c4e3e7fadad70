import { expect, test } from 'vitest';
import { LineClient } from './line-client.ts';
import { startTarget, type Target } from './target.ts';

const LINES = 150;
const FILLER = 'x'.repeat(400_000);
/** A third of what is sent. */
const MOST_GROWTH = (LINES * FILLER.length) / 3;

interface LongConnection {
  readonly open: (target: Target) => Promise<LineClient>;
  /** A large line that is answered, and the id of the answer. */
  readonly line: (id: string) => string;
}

const DOORS: Readonly<Record<string, LongConnection>> = {
  rpc: {
    open: async ({ rpc, project }) => {
      const client = await LineClient.unix(rpc);
      client.send(`${JSON.stringify({ cwd: project, by: 'ada' })}\n`);
      await client.waitFor(({ type }) => type === 'ready');
      return client;
    },
    line: (id) => JSON.stringify({ id, type: 'get_state', filler: FILLER }),
  },
  acp: {
    open: async ({ acp }) => {
      const client = await LineClient.unix(acp);
      client.send(`${JSON.stringify({ by: 'ada', setup: { command: 'polypod', args: [] } })}\n`);
      await client.waitFor(({ open }) => open === true);
      const params = { protocolVersion: 1 };
      client.send(`${JSON.stringify({ jsonrpc: '2.0', id: 'i', method: 'initialize', params })}\n`);
      await client.waitFor(({ id }) => id === 'i');
      return client;
    },
    line: (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'session/list', params: { filler: FILLER } }),
  },
};

test.each(Object.entries(DOORS))(
  '%s: a long connection does not keep what it has read in memory',
  async (_, door) => {
    const target = await startTarget({ unlimited: true });
    try {
      const client = await door.open(target);
      const exchange = async (count: number, prefix: string): Promise<void> => {
        for (let at = 0; at < count; at += 1) {
          client.send(`${door.line(`${prefix}${at}`)}\n`);
          await client.waitFor(({ id }) => id === `${prefix}${at}`);
        }
      };
      await exchange(5, 'first');
      const before = await target.heap();
      await exchange(LINES, 'next');
      expect((await target.heap()) - before).toBeLessThan(MOST_GROWTH);
      client.close();
    } finally {
      await target.close();
    }
  },
  120_000,
);
