import { expect, test } from 'vitest';
import { type LogEntry, type LogLevel, createLog, redactor } from '../../src/base/index.ts';

test('the log sends entries at or above the current level to all sinks, with nested secrets redacted', () => {
  const [one, other]: [LogEntry[], LogEntry[]] = [[], []];
  let level: LogLevel = 'warn';
  const log = createLog({
    sinks: [(entry) => one.push(entry), (entry) => other.push(entry)],
    level: () => level,
    redact: () => redactor(['hunter22']),
    now: () => new Date(0),
  });
  log.info('not wanted');
  log.warn('the key is hunter22', {
    url: 'x?k=hunter22',
    list: ['a', { deep: 'hunter22' }],
    count: 3,
    none: null,
  });
  level = 'debug';
  log.debug('wanted now');
  expect(one).toEqual([
    {
      time: '1970-01-01T00:00:00.000Z',
      level: 'warn',
      message: 'the key is [redacted]',
      fields: { url: 'x?k=[redacted]', list: ['a', { deep: '[redacted]' }], count: 3, none: null },
    },
    { time: '1970-01-01T00:00:00.000Z', level: 'debug', message: 'wanted now', fields: {} },
  ]);
  expect(other).toEqual(one);
});
