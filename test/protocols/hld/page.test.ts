import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isObject, stringOf } from '../../../src/base/index.ts';
import type { Answer, SimRequest } from '../../../src/sim/index.ts';
import { asks, type Client, hldStage, says, STALLS } from './stage.ts';

/** The transcripts of the page, each under the heading it stands below. */
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

function model({ messages }: SimRequest): Answer {
  const last = messages.at(-1);
  if (last?.role === 'tool') return says('Then not.');
  if (last?.text.startsWith('Delete')) return asks('rm -r build');
  // What was asked before it was interrupted may stand in front.
  return last?.text.endsWith('Wait.') ? STALLS : says('Hello.');
}

describe('the page replays', () => {
  it('has transcripts', () => {
    expect(transcripts.map(({ heading }) => heading)).toEqual([
      'A session',
      'Approvals',
      'Going on',
      'Errors',
    ]);
  });

  it.each(transcripts)('$heading', async ({ lines }) => {
    const stage = await hldStage(model);
    const links = { client: await stage.client(), other: await stage.client() };
    const heard = new Map<Client, number>();
    const names = new Map([['cwd', stage.cwd]]);
    for (const line of lines) {
      const mark = line.slice(0, line.indexOf(' '));
      const text = line.slice(mark.length + 1);
      const link = mark.length === 2 ? links.other : links.client;
      if (mark.startsWith('>')) link.write(`${filled(text, names)}\n`);
      else {
        const at = heard.get(link) ?? 0;
        heard.set(link, at + 1);
        const got = await link.line(at);
        const actual: unknown = JSON.parse(got);
        expect(actual).toEqual(bound(JSON.parse(text), actual, names));
        // Numbers that JSON readers change are compared as text.
        if (!text.includes('$')) expect(got).toBe(text);
      }
    }
  });
});

/** The text with the values that its names stand for. */
function filled(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$([a-z]+)/g, (whole, name: string) => names.get(name) ?? whole);
}

/** What is expected, where a name stands for what came when it was seen first. Times and numbers are never the same. */
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
