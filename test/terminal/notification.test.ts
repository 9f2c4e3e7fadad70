import { describe, expect, it } from 'vitest';
import { notificationBytes, supportsOsc, WindowTitle } from '../../src/terminal/index.ts';

const ALL = { bell: true, desktop: true };
const NEWS = { title: 'Polypod', body: 'fix it: the run is finished' };
const XTERM = { TERM: 'xterm-256color' };

describe('a notification of the terminal', () => {
  it('requests a notification of the desktop and rings the bell', () => {
    expect(notificationBytes(NEWS, ALL, XTERM)).toBe(
      '\u001b]9;Polypod: fix it: the run is finished\u001b\\\u0007',
    );
    expect(notificationBytes(NEWS, { bell: true, desktop: false }, XTERM)).toBe('\u0007');
    expect(notificationBytes(NEWS, { bell: false, desktop: false }, XTERM)).toBe('');
  });

  it.each([
    ['GNOME', { ...XTERM, VTE_VERSION: '7800' }],
    ['rxvt', { TERM: 'rxvt-unicode-256color' }],
  ])('uses OSC 777 in terminals of %s', (_, env) => {
    expect(notificationBytes(NEWS, ALL, env)).toBe(
      '\u001b]777;notify;Polypod;fix it: the run is finished\u001b\\\u0007',
    );
  });

  it('passes the request through tmux, whose own bell also rings', () => {
    const env = { TERM: 'tmux-256color', TMUX: '/tmp/tmux-0/default,1,0' };
    expect(notificationBytes(NEWS, ALL, env)).toBe(
      '\u001bPtmux;\u001b\u001b]9;Polypod: fix it: the run is finished\u001b\u001b\\\u001b\\\u0007',
    );
  });

  it.each([
    ['GNU screen', { TERM: 'screen', STY: '1.pts' }],
    ['the Linux console', { TERM: 'linux' }],
    ['a terminal without capabilities', { TERM: 'dumb' }],
  ])('only rings the bell in %s', (_, env) => {
    expect(notificationBytes(NEWS, ALL, env)).toBe('\u0007');
  });

  it('contains no control characters and no separators of its text', () => {
    const hostile = '\u001b]0;owned\u0007;\u009c\n\u202Ex\u001b\\';
    const bytes = notificationBytes({ title: hostile, body: hostile }, ALL, { ...XTERM, VTE_VERSION: '1' });
    expect(bytes.startsWith('\u001b]777;notify;') && bytes.endsWith('\u001b\\\u0007')).toBe(true);
    const text = bytes.slice('\u001b]777;notify;'.length, -'\u001b\\\u0007'.length);
    expect(text).not.toMatch(/[\p{Cc}\u202E]/u);
    expect(text.split(';')).toHaveLength(2);
  });

  it('is limited in length, without splitting a grapheme', () => {
    const bytes = notificationBytes({ title: 'Polypod', body: '日本👩‍👩‍👧'.repeat(500) }, ALL, XTERM);
    expect(bytes.length).toBeLessThan(1_000);
    expect(bytes).not.toContain('\uFFFD');
  });
});

describe('the title of the window', () => {
  const titleFixture = () => {
    const written: string[] = [];
    return { written, title: new WindowTitle((bytes) => written.push(bytes)) };
  };

  it('is saved before the first change and restored at the end', () => {
    const { written, title } = titleFixture();
    title.set('working · a');
    title.set('working · a');
    title.set('idle · a');
    title.restore();
    title.restore();
    expect(written).toEqual([
      '\u001b[22;0t\u001b]0;working · a\u001b\\',
      '\u001b]0;idle · a\u001b\\',
      '\u001b]0;\u001b\\\u001b[23;0t',
    ]);
  });

  it('contains no control characters of a session name', () => {
    const { written, title } = titleFixture();
    title.set('a\u0007\u001b]52;c;eA==\u0007\u009c');
    const text = written.join('').slice('\u001b[22;0t\u001b]0;'.length, -'\u001b\\'.length);
    expect(text).not.toMatch(/\p{Cc}/u);
  });

  it('is not restored if it was never set', () => {
    const { written, title } = titleFixture();
    title.restore();
    expect(written).toEqual([]);
  });

  it('needs a terminal that knows such commands', () => {
    expect([XTERM, { TERM: 'dumb' }, { TERM: 'linux' }, {}].map(supportsOsc)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
