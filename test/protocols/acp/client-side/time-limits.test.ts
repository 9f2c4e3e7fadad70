import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { clientFiles } from '../../../../src/protocols/acp/client-side/files.ts';
import { Peer } from '../../../../src/protocols/acp/peer.ts';
import { edit } from '../../../../src/tools/edit.ts';
import { read } from '../../../../src/tools/read.ts';
import { bash } from '../../../../src/tools/bash.ts';
import { write } from '../../../../src/tools/write.ts';
import { outputText, toolFixture } from '../../../tools/fixture.ts';

/** An editor that reads requests and answers none. */
function silentPeer(): Peer {
  const output = new PassThrough();
  output.resume();
  return new Peer(output, {
    request: async () => ({}),
    notification: () => {},
    toRpcError: () => ({ code: 0, message: '' }),
  });
}

describe('an editor that does not answer', () => {
  const timeouts = { readMs: 20, writeMs: 20 };

  test('makes a read fail with the reason', async () => {
    const capabilities = { readFile: true, writeFile: true };
    const client = clientFiles({ peer: silentPeer(), sessionId: 's', capabilities, timeouts });
    const fixture = toolFixture({ 'a.txt': 'x' }, { clientFiles: client });
    const output = await fixture.call(read, { path: 'a.txt' });
    expect(output.isError).toBe(true);
    expect(outputText(output)).toBe(
      `The editor could not read ${fixture.path('a.txt')}: no answer within 0.02 s`,
    );
    const missing = await fixture.call(write, { path: 'new.txt', content: 'x' });
    expect(outputText(missing)).toMatch(/could not read/);
  });

  test('makes a write fail and leaves the file as it was', async () => {
    const capabilities = { readFile: false, writeFile: true };
    const client = clientFiles({ peer: silentPeer(), sessionId: 's', capabilities, timeouts });
    const fixture = toolFixture({ 'a.txt': 'old' }, { clientFiles: client });
    const output = await fixture.call(edit, { path: 'a.txt', old: 'old', new: 'new' });
    expect(outputText(output)).toMatch(/did not write .*: no answer within 0.02 s/);
    expect(fixture.text('a.txt')).toBe('old');
  });

  test('that disconnects is replaced by the disk for reads', async () => {
    const capabilities = { readFile: true, writeFile: true };
    const peer = silentPeer();
    const client = clientFiles({ peer, sessionId: 's', capabilities });
    const fixture = toolFixture({ 'a.txt': 'saved' }, { clientFiles: client });
    const output = fixture.call(read, { path: 'a.txt' });
    setImmediate(() => peer.close());
    expect(outputText(await output)).toBe('1\tsaved');
  });
});

test('a command in the sandbox, or without an approval, is never run in a terminal of an editor', async () => {
  let isUsed = false;
  const runInTerminal = async () => {
    isUsed = true;
    return { type: 'refused' } as const;
  };
  const refusal = new Error('this test runs no command');
  const refuse = () => Promise.reject(refusal);
  const sandboxed = toolFixture({}, { runInTerminal, sandbox: { prepare: refuse } });
  await expect(sandboxed.call(bash, { command: 'true' })).rejects.toBe(refusal);
  const unapproved = toolFixture({}, { runInTerminal, prepareReadOnly: refuse });
  await expect(unapproved.call(bash, { command: 'true' })).rejects.toBe(refusal);
  expect(isUsed).toBe(false);
});
