import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PolypodError } from '../../../src/base/index.ts';
import { Backlog } from '../../../src/protocols/hld/events/backlog.ts';
import { serveLink } from '../../../src/protocols/hld/link.ts';
import { DEFAULT_LIMITS } from '../../../src/protocols/hld/settings.ts';
import { Subscriptions } from '../../../src/protocols/hld/events/subscriptions.ts';
import { listenUnix, type RpcCall } from '../../../src/wire/index.ts';
import { scratch } from '../../pod/fixture.ts';
import { Client } from './fixture.ts';

/**
 * Section 7 of the JSON-RPC 2.0 specification, each message on one line as this protocol requires. Its error texts are samples and differ
 * from ours, so only codes are compared.
 */
const EXAMPLES = `
rpc call with positional parameters
--> {"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}
<-- {"jsonrpc": "2.0", "result": 19, "id": 1}
--> {"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}
<-- {"jsonrpc": "2.0", "result": -19, "id": 2}

rpc call with named parameters
--> {"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}
<-- {"jsonrpc": "2.0", "result": 19, "id": 3}
--> {"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}
<-- {"jsonrpc": "2.0", "result": 19, "id": 4}

a Notification
--> {"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}
--> {"jsonrpc": "2.0", "method": "foobar"}

rpc call of non-existent method
--> {"jsonrpc": "2.0", "method": "foobar", "id": "1"}
<-- {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}

rpc call with invalid JSON
--> {"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]
<-- {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}

rpc call with invalid Request object
--> {"jsonrpc": "2.0", "method": 1, "params": "bar"}
<-- {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}

rpc call Batch, invalid JSON
--> [{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method" ]
<-- {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}

rpc call with an empty Array
--> []
<-- {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}

rpc call with an invalid Batch (but not empty)
--> [1]
<-- [{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}]

rpc call with invalid Batch
--> [1,2,3]
<-- [{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}]

rpc call Batch
--> [{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, {"foo": "boo"}, {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, {"jsonrpc": "2.0", "method": "get_data", "id": "9"}]
<-- [{"jsonrpc": "2.0", "result": 7, "id": "1"}, {"jsonrpc": "2.0", "result": 19, "id": "2"}, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"}, {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}]

rpc call Batch (all notifications)
--> [{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}, {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]
`
  .trim()
  .split('\n\n')
  .map((block) => block.split('\n'));

/** The methods that the examples call. */
async function serve({ method, params }: RpcCall): Promise<unknown> {
  const numbers = params as readonly number[];
  const named = params as { readonly minuend: number; readonly subtrahend: number };
  if (method === 'subtract')
    return Array.isArray(params) ? (numbers[0] ?? 0) - (numbers[1] ?? 0) : named.minuend - named.subtrahend;
  if (method === 'sum') return numbers.reduce((sum, number) => sum + number, 0);
  if (method === 'get_data') return ['hello', 5];
  if (method === 'update' || method.startsWith('notify_')) return undefined;
  throw new PolypodError('unknown-method', `Method not found: ${method}`);
}

describe('the examples of the JSON-RPC 2.0 specification, sent to the HLD door', () => {
  let client: Client;

  beforeEach(async () => {
    const path = join(scratch(), 'examples.sock');
    const subscriptions = new Subscriptions({ heartbeatMs: 30_000, now: Date.now });
    const parts = {
      serve,
      subscriptions,
      backlog: new Backlog(DEFAULT_LIMITS, () => {}),
      onInternalError: () => {},
    };
    const server = await listenUnix(path, (socket) => void serveLink(socket, parts));
    onTestFinished(() => void server.close());
    client = await Client.open(path);
  });

  it.each(EXAMPLES.map(([title = '', ...lines]) => ({ title, lines })))('$title', async ({ lines }) => {
    for (const line of lines.filter((one) => one.startsWith('-->'))) client.write(`${line.slice(4)}\n`);
    // This answer follows directly after the tested one.
    client.write('{"jsonrpc":"2.0","method":"get_data","id":"last"}\n');
    const expected = lines.filter((one) => one.startsWith('<--')).map((one) => JSON.parse(one.slice(4)));
    await client.line(expected.length);
    expect(client.lines.map((one) => withoutTexts(JSON.parse(one)))).toEqual(
      [...expected, { jsonrpc: '2.0', result: ['hello', 5], id: 'last' }].map(withoutTexts),
    );
  });
});

/** Removes the texts of errors. */
function withoutTexts(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply), (key, value) => (key === 'message' ? '' : value));
}
