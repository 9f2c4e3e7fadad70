import { describe, expect, it, onTestFinished } from 'vitest';
import { PodClient } from '../../src/client/index.ts';
import { cliFixture } from '../cli/daemon.ts';

describe('a client of a named pod', () => {
  it('finds the daemon by the environment, and its events are typed', async () => {
    const { env, serve, polypod } = await cliFixture([{ parts: [{ text: 'Paris.' }] }]);
    await serve();
    await polypod('new', '-n', 'demo', '-m', 'anthropic/x');
    const client = await PodClient.open({ pod: 'demo', env });
    onTestFinished(() => client.close());
    expect((await client.status()).pod_name).toBe('demo');
    await client.run('Where?');
    let text = '';
    for await (const { event, data } of client.events()) {
      if (event === 'text_delta') text += data.text;
      if (event === 'run_end') {
        expect(data.result).toBe('finished');
        break;
      }
    }
    expect(text).toBe('Paris.');
    expect((await client.history()).map((item) => item.type)).toEqual(['message', 'message']);
  });

  it('receives an error that names what is missing and how to start a daemon', async () => {
    const { env } = await cliFixture();
    await expect(PodClient.open({ pod: 'demo', env })).rejects.toThrow('start the daemon with polypod serve');
    await expect(PodClient.open({ env })).rejects.toThrow('the pod or the environment is missing');
    await expect(PodClient.open({ pod: 'demo' })).rejects.toThrow('open({ pod: NAME, env })');
  });
});
