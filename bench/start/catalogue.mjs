import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Creates a data directory with a catalogue of this many sessions, as Polypod writes it. */
export async function writeCatalogue(directory, count) {
  const { sealRecords } = await import(new URL('../../dist/store/index.js', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const rows = Array.from({ length: count }, (_, at) => ({ type: 'row', row: rowOf(at) }));
  const records = [{ type: 'catalogue', version: 1 }, ...rows].map((record) => JSON.stringify(record));
  writeFileSync(join(directory, 'catalogue.jsonl'), sealRecords(records));
}

function rowOf(at) {
  const id = `01a1de9a-${(0x1000 + at).toString(16)}-7000-8000-${String(at).padStart(12, '0')}`;
  return {
    id,
    file: `sessions/${id}.jsonl`,
    cwd: `/home/someone/projects/number-${at % 7}`,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: new Date(1.79e12 + at * 1000).toISOString(),
    model: 'anthropic/claude-sonnet-4-5',
    state: 'idle',
    archived: false,
    firstPrompt: `Find out why test number ${at} fails. ${'It did not fail yesterday. '.repeat(5)}`,
    lastText: 'The reason is a clock that runs backwards. '.repeat(4),
    totals: {
      turns: 12,
      toolCalls: 30,
      inputTokens: 120_000,
      outputTokens: 4000,
      cacheReadInputTokens: 90_000,
      cacheCreationInputTokens: 9000,
      cost: 0.42,
    },
    lastRun: { runId: id, status: 'finished' },
    approvals: [],
    queued: 0,
    tasks: [],
  };
}
