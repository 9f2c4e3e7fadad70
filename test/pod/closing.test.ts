import { describe, expect, it } from 'vitest';
import { connect } from '../../src/llm/index.ts';
import { providerNamed } from '../../src/registry.ts';
import { type OpenFile, realFiles } from '../../src/store/index.ts';
import { ADA, MODEL, hostFixture } from './fixture.ts';

function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

describe('a command in progress while its pod is closed', () => {
  it('is rejected if the files are closed before its change is written', async () => {
    const [looksUp, lookedUp, lastSync, synced] = [gate(), gate(), gate(), gate()];
    let syncs: number | undefined;
    // The second sync of a feed that is being closed is the last step.
    const held = (path: string, file: OpenFile): OpenFile => ({
      ...file,
      sync: async () => {
        await file.sync();
        if (syncs === undefined || !path.includes('/feeds/')) return;
        syncs += 1;
        if (syncs !== 2) return;
        lastSync.open();
        await synced.passed;
      },
    });
    const account = { name: 'sim', api: 'anthropic', baseUrl: 'http://127.0.0.1:9', apiKey: 'any' };
    const { host, cwd } = await hostFixture([], {
      files: { ...realFiles, openToUpdate: (path) => held(path, realFiles.openToUpdate(path)) },
      agent: {
        model: async ({ modelId }) => {
          if (modelId === 'slow') {
            looksUp.open();
            await lookedUp.passed;
          }
          return { llm: connect(providerNamed('anthropic'), account), model: MODEL };
        },
      },
    });
    const pod = await host.create({ cwd, settings: { name: 'begun' } });
    const handling = pod
      .handle({ type: 'configure', set: { model: { provider: 'sim', modelId: 'slow' } } }, ADA)
      .catch((thrown: unknown) => thrown);
    await looksUp.passed;
    syncs = 0;
    const closing = host.close(pod.id);
    await lastSync.passed;
    // The change is published before the files are closed, in the same event loop turn, so its write comes too late.
    lookedUp.open();
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    synced.open();
    await closing;
    expect(await handling).toMatchObject({ code: 'conflict', message: 'the pod is closed: open it again' });
    expect((await pod.snapshot()).settings).toMatchObject({ name: 'begun' });
  });
});
