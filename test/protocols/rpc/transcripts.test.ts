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
        const heard = await program.waitFor((said) => fits(said, wanted), at);
        at = program.lines.indexOf(heard) + 1;
        continue;
      }
      // Tool updates are optional, and a text may be split; everything else must match.
      const isFree = (said: Line): boolean =>
        said.type === 'tool_execution_update' || isFurtherDelta(said, program.lines[at - 1]);
      const next = await program.waitFor((said) => !isFree(said), at);
      at = program.lines.indexOf(next) + 1;
      if (!fits(next, wanted)) expect(next).toEqual(wanted);
    }
  });
});

function isFurtherDelta(said: Line, before: Line | undefined): boolean {
  const [kind, last] = [said, before].map((line) => stringOf(objectOf(line?.assistantMessageEvent).type));
  return kind !== undefined && kind.endsWith('_delta') && kind === last;
}

/** Compares lines, except for what the page leaves open. */
function fits(said: unknown, wanted: unknown): boolean {
  if (wanted === '…') return said !== undefined;
  if (Array.isArray(wanted))
    return (
      Array.isArray(said) && said.length === wanted.length && wanted.every((part, at) => fits(said[at], part))
    );
  if (!isObject(wanted)) return said === wanted;
  if (!isObject(said)) return false;
  const { '…': rest, ...named } = wanted;
  const isWhole = rest !== undefined || Object.keys(said).length === Object.keys(named).length;
  return isWhole && Object.entries(named).every(([key, value]) => fits(said[key], value));
}
