import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isObject, stringOf } from '../../../src/base/index.ts';
import { METHODS } from '../../../src/protocols/hld/methods.ts';
import { EVENT_TYPES } from '../../../src/protocols/hld/wire.ts';
import type { SimAnswer, SimRequest } from '../../../src/sim/index.ts';
import { RPC_CODES } from '../../../src/wire/index.ts';
import { ADA, promptCommand } from '../../pod/fixture.ts';
import { asks, calls, type Client, type HldFixture, hldFixture, textAnswer, STALLS } from './fixture.ts';

/** The transcripts of the page, each with its heading. */
const transcripts = [
  ...readFileSync('docs/protocols/hld.md', 'utf8').matchAll(
    /^(?:## (.*)|<!-- replayed -->\n```text\n([^`]*)```)$/gm,
  ),
]
  .reduce<{ readonly heading: string; readonly lines: readonly string[] }[]>((found, [, heading, text]) => {
    const current = heading ?? found.at(-1)?.heading ?? '';
    return [...found, { heading: current, lines: (text ?? '').split('\n').filter((line) => line !== '') }];
  }, [])
  .filter(({ lines }) => lines.length > 0);

function model({ messages }: SimRequest): SimAnswer {
  const last = messages.at(-1);
  if (last?.text === 'Read the notes.') return calls('read', { path: 'notes.txt' });
  if (last?.text === 'Fail.') return { parts: [], fault: { kind: '401' } };
  if (last?.role === 'tool') return textAnswer('Then not.');
  if (last?.text.startsWith('Delete')) return asks('rm -r build');
  // Output from before the interruption may come first.
  return last?.text.endsWith('Wait.') ? STALLS : textAnswer('Hello.');
}

/** Performs an action at another door, as the page describes it. */
async function atAnotherDoor(sentence: string, { host, cwd }: HldFixture, names: Map<string, string>) {
  const [what, text = ''] = sentence.split(': ');
  if (what === 'another door creates a session') {
    const { id } = await host.create({ cwd });
    names.set('elsewhere', id).set(text.slice(1), id);
    return;
  }
  const pod = host.pod(names.get('elsewhere') ?? '');
  switch (what) {
    case 'another door sends a prompt':
      await pod.handle(promptCommand(text), ADA);
      return;
    case 'another door cancels the run':
      await pod.handle({ type: 'cancel' }, ADA);
      return;
    case 'another door closes the session':
      await pod.handle({ type: 'close' }, ADA);
      return;
    default:
      throw new Error(`unknown action: ${sentence}`);
  }
}

describe('the page replays', () => {
  it.each(transcripts.map((transcript, index) => ({ index, ...transcript })))(
    '$heading ($index)',
    async ({ heading, lines }) => {
      // Compared only where it is shown: elsewhere it would interleave.
      const heartbeatMs = heading === 'Events' ? 10 : 30_000;
      const fixture = await hldFixture(model, { hld: { heartbeatMs } });
      writeFileSync(join(fixture.cwd, 'notes.txt'), 'Buy tea.\n');
      const links = { client: await fixture.client(), other: await fixture.client() };
      const receivedCounts = new Map<Client, number>();
      const names = new Map([['cwd', fixture.cwd]]);
      for (const line of lines) {
        const mark = line.slice(0, line.indexOf(' '));
        const text = line.slice(mark.length + 1);
        const link = mark.length === 2 ? links.other : links.client;
        if (mark === '#') await atAnotherDoor(text, fixture, names);
        else if (mark.startsWith('>')) link.write(`${filled(text, names)}\n`);
        else {
          const at = receivedCounts.get(link) ?? 0;
          receivedCounts.set(link, at + 1);
          const got = await link.line(at);
          const actual: unknown = JSON.parse(got);
          expect(actual).toEqual(bound(JSON.parse(text), actual, names));
          // Numbers that JSON parsers change are compared as text.
          if (!text.includes('$')) expect(got).toBe(text);
        }
      }
    },
  );
});

describe('the page shows', () => {
  const lines = transcripts.flatMap(({ lines }) => lines);
  const requests = lines.filter((line) => line.startsWith('>')).join('\n');
  const responses = lines.filter((line) => line.startsWith('<')).join('\n');

  it.each([...METHODS.keys(), 'Subscribe'])('the method %s and its response', (method) => {
    expect(requests).toContain(`"method":"${method}"`);
  });

  it.each(EVENT_TYPES)('the event %s', (type) => {
    expect(responses).toContain(`"event":{"type":"${type}"`);
  });

  it.each(Object.values(RPC_CODES))('the error %d', (code) => {
    expect(responses).toContain(`"error":{"code":${code},`);
  });

  it.each([
    ['starting', 'running'],
    ['starting', 'failed'],
    ['running', 'waiting_input'],
    ['waiting_input', 'running'],
    ['running', 'completed'],
    ['completed', 'running'],
    ['running', 'failed'],
  ])('the change from %s to %s', (before, after) => {
    expect(responses).toContain(`"old_status":"${before}","new_status":"${after}"`);
  });
});

describe('the page shows of a session', () => {
  const responses = transcripts.flatMap(({ lines }) => lines).filter((line) => line.startsWith('<'));

  it.each([
    ['running', 'running', 'interrupting'],
    ['waiting_input', 'running', 'interrupting'],
    ['running', 'completed', 'interrupted'],
  ])('the change from %s to %s, which is %s', (before, after, detail) => {
    const change = `"old_status":"${before}","new_status":"${after}","detail":"${detail}"`;
    expect(responses.join('\n')).toContain(change);
  });

  it.each([
    ['starting', 'draft'],
    ['completed', 'discarded'],
  ])('the status %s, which is %s', (status, detail) => {
    expect(responses.join('\n')).toContain(`"status":"${status}","detail":"${detail}"`);
  });
});

/** The text with its placeholders replaced by their values. */
function filled(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$([a-z]+)/g, (whole, name: string) => names.get(name) ?? whole);
}

/** What is expected: a placeholder takes the value of its first occurrence. Times and numbers always differ. */
function bound(expected: unknown, actual: unknown, names: Map<string, string>): unknown {
  if (Array.isArray(expected))
    return expected.map((part, index) =>
      bound(part, Array.isArray(actual) ? actual[index] : undefined, names),
    );
  if (isObject(expected))
    return Object.fromEntries(
      Object.entries(expected).map(([key, part]) => [
        key,
        bound(part, isObject(actual) ? actual[key] : undefined, names),
      ]),
    );
  if (typeof expected !== 'string') return expected;
  if (expected === '$time') return expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
  if (expected === '$number') return expect.any(Number);
  const [, name] = /^\$([a-z]+)$/.exec(expected) ?? [];
  if (name === undefined) return filled(expected, names);
  if (!names.has(name)) names.set(name, stringOf(actual));
  return names.get(name);
}
