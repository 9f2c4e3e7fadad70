import { describe, expect, it } from 'vitest';
import { readCommand } from '../../src/pod/index.ts';
import { RECORDED_SETTINGS } from '../../src/pod/settings.ts';

describe('the name of a session', () => {
  it.each(['a/b c', '日本語', '👩‍🚀', 'a\u2028b', 'x'.repeat(200)])('may be %j', (name) => {
    expect(readCommand({ type: 'configure', set: { name } })).toEqual({ type: 'configure', set: { name } });
  });

  it.each(['a\nb', '\u001b[2J', 'a\u0000', 'a\u007f', '\u009b31m', '\u202etxt.exe', 'x'.repeat(201)])(
    'is rejected if it is %j; a recorded one is still read',
    (name) => {
      expect(() => readCommand({ type: 'configure', set: { name } })).toThrow(
        'set.name must be a name of at most 200 characters, without line breaks and control characters',
      );
      expect(RECORDED_SETTINGS.read({ name }, [], () => {})).toEqual({ name });
    },
  );
});
