import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { polypod } from './polypod.ts';
import { call, cliFixture, textAnswer } from './daemon.ts';

const KEY = 'search-key-0123456789';

async function searchServer() {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['x-subscription-token']);
    const results = [{ title: 'Doors', url: 'https://a.example/', description: 'About doors.' }];
    response.end(JSON.stringify({ web: { results } }));
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

const run = ['run', '-m', 'anthropic/x', '--headless', 'Search'];

/** The names of the tools in the last request. */
function toolNames(body: unknown): readonly string[] {
  return (body as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

it('web_search exists only if it is configured, and needs approval unless a rule allows it', async () => {
  const { url, keys } = await searchServer();
  const fixture = await cliFixture([
    textAnswer('None.'),
    call('web_search', { query: 'doors' }),
    textAnswer('No.'),
    call('web_search', { query: 'doors' }),
    textAnswer('Yes.'),
  ]);
  const search = async () => polypod([...run, '-C', fixture.project], { env: { ...fixture.env, MINE: KEY } });
  expect(await search()).toMatchObject({ code: 0, stdout: 'None.\n' });
  expect(toolNames(fixture.sim.requests.at(-1)?.body)).not.toContain('web_search');

  const configured = `web_search: { provider: brave, key_env: MINE, base_url: "${url}" }\n`;
  fixture.configure(configured);
  const denied = await search();
  expect(denied).toMatchObject({ code: 2, stdout: 'No.\n' });
  expect(denied.stderr).toContain('✗ denied:');
  expect(toolNames(fixture.sim.requests.at(-1)?.body)).toContain('web_search');
  expect(keys).toEqual([]);

  fixture.configure(`${configured}permissions: { rules: [{ tool: web_search, action: auto }] }\n`);
  expect(await search()).toMatchObject({ code: 0, stdout: 'Yes.\n' });
  expect(keys).toEqual([KEY]);
  expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain('About doors.');
});

it('the variable with the key of web_search is withheld from commands, whatever its name', async () => {
  const fixture = await cliFixture([call('bash', { command: 'env' }), textAnswer('Done.')]);
  fixture.configure('web_search: { provider: brave, key_env: MINE }\npermissions: { mode: full-access }\n');
  const env = { ...fixture.env, MINE: 'plain words', OTHER: 'other words' };
  await polypod([...run, '-C', fixture.project], { env });
  const body = JSON.stringify(fixture.sim.requests.at(-1)?.body);
  expect(body).toContain('OTHER=other words');
  expect(body).not.toContain('plain words');
});

it('polypod doctor and the configuration name what web_search lacks', async () => {
  const fixture = await cliFixture();
  fixture.configure('web_search: { provider: tavily }\n');
  const { stdout } = await fixture.polypod('doctor');
  expect(stdout).toContain('there is no key in TAVILY_API_KEY: set TAVILY_API_KEY');
  fixture.configure('web_search: { provider: searxng }\n');
  const invalid = await fixture.polypod('doctor');
  expect(invalid.stdout).toContain('needs base_url, the address of your SearXNG server');
});
