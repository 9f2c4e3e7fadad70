import { describe, expect, it } from 'vitest';
import { answerRpc, parseRpcLine, type RpcCall } from '../../src/wire/index.ts';

/** The methods of the specification's examples. */
async function serve({ method, params }: RpcCall): Promise<unknown> {
  const list = params as readonly number[];
  if (method === 'subtract' && Array.isArray(params)) return (list[0] ?? 0) - (list[1] ?? 0);
  if (method === 'subtract') {
    const { minuend, subtrahend } = params as { minuend: number; subtrahend: number };
    return minuend - subtrahend;
  }
  if (method === 'sum') return list.reduce((sum, item) => sum + item, 0);
  if (method === 'get_data') return ['hello', 5];
  if (method === 'update' || method.startsWith('notify_')) return undefined;
  throw new Error(method);
}

async function answer(text: string): Promise<unknown> {
  const reply = await answerRpc(parseRpcLine(text), {
    serve,
    toRpcError: () => ({ code: -32601, message: 'Method not found' }),
  });
  return reply === undefined ? undefined : JSON.parse(reply);
}

const error = (code: number, id: unknown = null) => ({
  jsonrpc: '2.0',
  error: { code, message: expect.any(String) },
  id,
});
const result = (value: unknown, id: unknown) => ({ jsonrpc: '2.0', result: value, id });

describe('the examples of the JSON-RPC 2.0 specification', () => {
  it.each([
    [
      'positional parameters',
      '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
      result(19, 1),
    ],
    [
      'positional parameters',
      '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
      result(-19, 2),
    ],
    [
      'named parameters',
      '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
      result(19, 3),
    ],
    [
      'named parameters',
      '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
      result(19, 4),
    ],
    ['a notification', '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', undefined],
    ['a notification for an unknown method', '{"jsonrpc": "2.0", "method": "foobar"}', undefined],
    ['an unknown method', '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', error(-32601, '1')],
    ['invalid JSON', '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', error(-32700)],
    ['an invalid request', '{"jsonrpc": "2.0", "method": 1, "params": "bar"}', error(-32600)],
    [
      'a batch of invalid JSON',
      '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
      error(-32700),
    ],
    ['an empty batch', '[]', error(-32600)],
    ['an invalid batch that is not empty', '[1]', [error(-32600)]],
    ['an invalid batch', '[1,2,3]', [error(-32600), error(-32600), error(-32600)]],
    [
      'a batch',
      `[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"}]`,
      [result(7, '1'), result(19, '2'), error(-32600), error(-32601, '5'), result(['hello', 5], '9')],
    ],
    [
      'a batch of notifications',
      '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
      undefined,
    ],
  ])('%s: %s', async (_, text, expected) => {
    expect(await answer(text)).toEqual(expected);
  });
});

describe('an id is returned as it was written', () => {
  const echo = async (text: string) =>
    answerRpc(parseRpcLine(text), { serve: async () => 'ok', toRpcError: () => ({ code: 0, message: '' }) });

  it.each([
    '12345678901234567890123',
    '0.1234567890123456789',
    '1e400',
    '-9007199254740993',
    '"a \\u0041 \\" \\\\"',
    'null',
    '{"a":[1,{"id":2}]}',
  ])('%s', async (id) => {
    const params = '{"id":"wrong","deep":[{"id":7}],"text":"\\"id\\":8"}';
    const reply = await echo(`{"jsonrpc":"2.0","method":"m","params":${params}, "id" : ${id} }`);
    expect(reply).toBe(
      `{"jsonrpc":"2.0","result":"ok","id":${id === '"a \\u0041 \\" \\\\"' ? '"a A \\" \\\\"' : id}}`,
    );
  });

  it('also in a batch', async () => {
    const item = '{"jsonrpc":"2.0","method":"m","params":["]",{"x":"}"}],"id":11111111111111111111}';
    const other = '{"id":22222222222222222222,"jsonrpc":"2.0","method":"m"}';
    expect(await echo(`[ ${item} ,${other}]`)).toBe(
      '[{"jsonrpc":"2.0","result":"ok","id":11111111111111111111},{"jsonrpc":"2.0","result":"ok","id":22222222222222222222}]',
    );
  });
});
