import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isObject, objectOf, stringOf } from '../../../src/base/index.ts';
import type { Line } from './client.ts';
import { Program } from './program.ts';

const PAGE = 'docs/protocols/rpc.md';

/** Transcripts that show only a part of the output: other lines may come between theirs. */
const EXCERPTS = ['queue', 'host-tool', 'approval'];
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { approval: ['--ask'] };

const TRANSCRIPTS = [
  ...readFileSync(PAGE, 'utf8').matchAll(/<!-- transcript: (\S+) -->\n```jsonl\n([\s\S]*?)```/g),
].map(([, name = '', text = '']) => ({ name, lines: text.trimEnd().split('\n') }));

describe(PAGE, () => {
  it('has transcripts', () => {
    expect(TRANSCRIPTS.length).toBeGreaterThan(7);
  });

  it.each(TRANSCRIPTS)('$name matches the output of the program', async ({ name, lines }) => {
    const program = new Program(['--offline', ...(ARGUMENTS[name] ?? [])]);
    await program.waitFor(({ type }) => type === 'ready');
    let at = lines[0]?.startsWith('← {"type":"ready"') === true ? 0 : 1;
    for (const line of lines) {
      const text = line.slice(2);
      if (line.startsWith('→')) {
        program.write(`${text}\n`);
        continue;
      }
      const wanted: unknown = JSON.parse(text);
      if (EXCERPTS.includes(name)) {
        const found = await program.waitFor((received) => matches(received, wanted), at);
        at = program.lines.indexOf(found) + 1;
        continue;
      }
      // Tool updates are optional, and a text may be split; everything else must match.
      const isFree = (received: Line): boolean =>
        received.type === 'tool_execution_update' || isFurtherDelta(received, program.lines[at - 1]);
      const next = await program.waitFor((received) => !isFree(received), at);
      at = program.lines.indexOf(next) + 1;
      if (!matches(next, wanted)) expect(next).toEqual(wanted);
    }
  });
});

function isFurtherDelta(line: Line, before: Line | undefined): boolean {
  const [kind, last] = [line, before].map((line) => stringOf(objectOf(line?.assistantMessageEvent).type));
  return kind !== undefined && kind.endsWith('_delta') && kind === last;
}

/** Compares lines, except for what the page leaves open. */
function matches(actual: unknown, wanted: unknown): boolean {
  if (wanted === '…') return actual !== undefined;
  if (Array.isArray(wanted))
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((part, at) => matches(actual[at], part))
    );
  if (!isObject(wanted)) return actual === wanted;
  if (!isObject(actual)) return false;
  const { '…': rest, ...named } = wanted;
  const isComplete = rest !== undefined || Object.keys(actual).length === Object.keys(named).length;
  return isComplete && Object.entries(named).every(([key, value]) => matches(actual[key], value));
}
