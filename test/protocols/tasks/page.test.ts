import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { TASKS } from '../../../src/setup/config/tasks-shape.ts';
import { parseYaml, readShape } from '../../../src/setup/config/yaml.ts';
import { ROUTES } from '../../../src/protocols/tasks/routes.ts';
import { TASKS_LIMITS } from '../../../src/protocols/tasks/settings.ts';
import { HTTP_SERVER_LIMITS } from '../../../src/wire/http/server.ts';
import { type Answered, type Client, textAnswer, tasksFixture } from './fixture.ts';

const PAGE = readFileSync('docs/protocols/tasks.md', 'utf8');

const transcripts = [...PAGE.matchAll(/^<!-- replayed -->\n```text\n([^`]*)```$/gm)].map(([, text = '']) =>
  [...text.matchAll(/^> (\S+) (\S+)(?: (.*))?\n< (\d+) (.*)$/gm)].map(
    ([, method, path, body, status, answer]) => ({
      method: method ?? '',
      path: path ?? '',
      body: body ?? '{}',
      status: Number(status),
      answer: JSON.parse(answer ?? '') as JsonObject,
    }),
  ),
);

describe('the page', () => {
  it.each(transcripts)('replays from %j on', async (...exchanges) => {
    const { client, cwd } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client();
    const names = new Map([['cwd', cwd]]);
    for (const { method, path, body, status, answer } of exchanges) {
      const filled = (text: string): string =>
        text.replaceAll(/\$(\w+)/g, (_, name: string) => names.get(name) ?? '');
      const address = filled(path);
      const got =
        method === 'POST'
          ? await ada.post(address, filled(body))
          : await settled(ada, address, stringOf(answer.state));
      expect(got.body).toEqual(bound(answer, got.body, names));
      expect(got.status).toBe(status);
    }
  });

  it('has three transcripts, every route with its permission, and the current limits', () => {
    expect(transcripts.map((exchanges) => exchanges.length)).toEqual([4, 7, 3]);
    const documented = [...PAGE.matchAll(/^\| `(GET|POST) (\S+)` +\| (`\w+`) /gm)].map(
      ([, method, path, scope]) => `${method} ${path} ${scope?.replaceAll('`', '')}`,
    );
    expect(documented.toSorted()).toEqual(
      ROUTES.map(({ method, path, scope }) => `${method} ${path} ${scope}`).toSorted(),
    );
    const { rate, wrongKeys, streams, ticketMs, unauthenticated } = TASKS_LIMITS;
    const { handshakes, connections, connectionsPerAddress } = HTTP_SERVER_LIMITS;
    const { handshakeMs, headersMs, requestMs, stalledMs } = HTTP_SERVER_LIMITS;
    for (const bound of [
      `${headersMs / 1000} s for the headers and ${requestMs / 1000} s for the request`,
      `${rate.perMinute.toLocaleString('en')} requests a minute per key, ${rate.burst} of them at once`,
      `${wrongKeys.perMinute} wrong keys a minute per address, ${wrongKeys.burst} of them at once`,
      `${streams.toLocaleString('en')} streams per key`,
      `once, within ${ticketMs / 1000} seconds`,
      `${unauthenticated.perMinute} a minute per address, ${unauthenticated.burst} of them at once`,
      `${handshakes.perMinute.toLocaleString('en')} a minute per address (\`handshakes_per_minute\`)`,
      `${connections.toLocaleString('en')} (\`connections\`), ${connectionsPerAddress.toLocaleString('en')} per address`,
      `${handshakeMs / 1000} s (\`handshake_timeout\`)`,
      `| a response that the client does not read | ${stalledMs / 1000} s `,
    ])
      expect(PAGE).toContain(bound);
    expect(TASKS_LIMITS).toMatchObject({
      body: { bytes: 1024 * 1024, depth: 32 },
      delegations: 8,
      keepAliveMs: 15_000,
    });
  });
});

describe('the configuration on the page', () => {
  const [, yaml = ''] = /^<!-- tested: every key -->\n```yaml\n([^`]*)```$/m.exec(PAGE) ?? [];

  it('is valid, and has every key', () => {
    const shown = readShape(parseYaml(yaml, 'agent-config.yaml'), TASKS);
    expect(Object.keys(shown).toSorted()).toEqual(Object.keys(objectOf(TASKS.schema.properties)).toSorted());
    const { limits = {} } = shown;
    const { rate, pending, streams, delegations, unauthenticated } = TASKS_LIMITS;
    const { handshakes, connections, connectionsPerAddress } = HTTP_SERVER_LIMITS;
    const { handshakeMs, headersMs, requestMs } = HTTP_SERVER_LIMITS;
    expect(limits).toEqual({
      ...{ pending, streams, delegations },
      ...{ requests_per_minute: rate.perMinute, burst: rate.burst },
      unauthenticated_per_minute: unauthenticated.perMinute,
      handshakes_per_minute: handshakes.perMinute,
      ...{ connections, connections_per_address: connectionsPerAddress },
      ...{ handshake_timeout: handshakeMs, headers_timeout: headersMs, request_timeout: requestMs },
    });
  });
});

/** Polls until the response has the state that the page shows. */
async function settled(client: Client, path: string, state: string): Promise<Answered> {
  for (;;) {
    const got = await client.get(path);
    if (!path.endsWith('/status') || got.body.state === state || got.status !== 200) return got;
  }
}

/** The content of the page, with its placeholders replaced by received values. */
function bound(shown: unknown, got: unknown, names: Map<string, string>): unknown {
  if (typeof shown === 'string' && shown.startsWith('$')) return value(shown.slice(1), got, names);
  if (Array.isArray(shown))
    return shown.map((part, at) => bound(part, Array.isArray(got) ? got[at] : undefined, names));
  if (!isObject(shown)) return shown;
  const from = isObject(got) ? got : {};
  return Object.fromEntries(Object.entries(shown).map(([key, part]) => [key, bound(part, from[key], names)]));
}

function value(name: string, got: unknown, names: Map<string, string>): unknown {
  if (name === 'number') return expect.any(Number);
  if (name === 'time') return expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  if (!names.has(name)) names.set(name, stringOf(got));
  return names.get(name);
}
