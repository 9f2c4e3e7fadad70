import { expect, it } from 'vitest';
import { call, cliFixture, textAnswer } from './daemon.ts';

it('web_fetch needs approval unless a rule allows the host', async () => {
  const url = 'http://127.0.0.1:9/';
  const fixture = await cliFixture([
    call('web_fetch', { url }),
    textAnswer('No.'),
    call('web_fetch', { url }),
    textAnswer('Yes.'),
  ]);
  const run = () =>
    fixture.polypod('run', '-C', fixture.project, '-m', 'anthropic/x', '--headless', 'Read it');
  const denied = await run();
  expect(denied).toMatchObject({ code: 2, stdout: 'No.\n' });
  expect(denied.stderr).toContain('✗ denied:');
  fixture.configure('permissions: { rules: [{ host: 127.0.0.1, action: auto }] }\n');
  expect(await run()).toMatchObject({ code: 0, stdout: 'Yes.\n' });
  // The rule allows the request, but not private addresses.
  expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain('permissions.private_hosts');
});
