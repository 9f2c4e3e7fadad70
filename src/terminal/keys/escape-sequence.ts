import { chord, type Key } from './key.ts';

/** Decodes the escape sequence at the start of the input; returns undefined while it is incomplete. */
export function escapeSequence(
  input: string,
): { readonly key: Key | 'paste' | undefined; readonly length: number } | undefined {
  if (input.length < 2) return undefined;
  const second = input[1] ?? '';
  if (second === '[') return controlSequence(input);
  if (second === 'O') {
    const third = input[2];
    return third === undefined ? undefined : { key: namedKey(FINALS[third], 1), length: 3 };
  }
  // Escape twice, or escape before another sequence: the second one is decoded separately.
  if (second === '\u001b') return { key: chord('escape'), length: 1 };
  const character = String.fromCodePoint(input.codePointAt(1) ?? 0);
  return { key: altKey(character), length: 1 + character.length };
}

/** Returns the key name of a control character. */
export function controlKey(character: string): string {
  const name = CONTROLS[character];
  if (name !== undefined) return name;
  return `ctrl-${String.fromCharCode(character.charCodeAt(0) + 0x60)}`;
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
  '\u0000': 'ctrl-space',
  '\u001f': 'ctrl-_',
};

function altKey(character: string): Key {
  const name = /\p{Cc}/u.test(character) ? controlKey(character) : character;
  return chord(`alt-${name}`);
}

function controlSequence(input: string) {
  const [source, parameters = '', final = ''] = SEQUENCE.exec(input.slice(2)) ?? [];
  if (source === undefined) {
    // Longer than any key sequence, so it is not one.
    return input.length > 64 ? { key: undefined, length: 2 } : undefined;
  }
  return { key: decodeSequence(parameters, final), length: 2 + source.length };
}

/** The window of the terminal got or lost the focus: not keys, but they arrive as keys do. */
export const FOCUS_IN = 'focus-in';
export const FOCUS_OUT = 'focus-out';

/** After `ESC [`: parameters, intermediate bytes, and the final letter. */
const SEQUENCE = /^([0-?]*)[ -/]*([@-~])/;

function decodeSequence(parameters: string, final: string): Key | 'paste' | undefined {
  const [first = 1, modifiers = 1, third] = parameters
    .split(';')
    .map((part) => Number.parseInt(part, 10) || 1);
  if (final === 'u') return isRelease(parameters) ? undefined : keyFromCode(first, modifiers);
  if (final === 'Z') return chord('shift-tab');
  if (parameters === '' && (final === 'I' || final === 'O'))
    return chord(final === 'I' ? FOCUS_IN : FOCUS_OUT);
  if (final !== '~') return namedKey(FINALS[final], modifiers);
  if (first === 200) return 'paste';
  if (first === 27 && third !== undefined) return keyFromCode(third, modifiers);
  return namedKey(NUMBERED[first], modifiers);
}

/** Some terminals also report key releases. */
function isRelease(parameters: string): boolean {
  return /;\d*:3(?:;|$)/.test(parameters);
}

function keyFromCode(code: number, modifiers: number): Key | undefined {
  const name = CODES[code];
  if (name !== undefined) return namedKey(name, modifiers);
  // The private range contains keys without characters: volume, caps lock.
  if (code < 0x20 || code > 0x10ffff || (code >= 0xe000 && code <= 0xf8ff)) return undefined;
  const character = String.fromCodePoint(code);
  const modifierBits = modifiers - 1;
  if ((modifierBits & ~SHIFT) === 0)
    return { type: 'text', text: modifierBits === 0 ? character : character.toUpperCase() };
  return namedKey(character, modifiers);
}

const SHIFT = 1;

function namedKey(name: string | undefined, modifiers: number): Key | undefined {
  if (name === undefined) return undefined;
  const modifierBits = modifiers - 1;
  const prefix = `${modifierBits & 4 ? 'ctrl-' : ''}${modifierBits & 2 ? 'alt-' : ''}${modifierBits & SHIFT ? 'shift-' : ''}`;
  return chord(prefix + name);
}

const FINALS: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  M: 'enter',
};

const NUMBERED: Readonly<Record<number, string>> = {
  1: 'home',
  2: 'insert',
  3: 'delete',
  4: 'end',
  5: 'page-up',
  6: 'page-down',
  7: 'home',
  8: 'end',
};

const CODES: Readonly<Record<number, string>> = {
  8: 'backspace',
  9: 'tab',
  13: 'enter',
  27: 'escape',
  32: 'space',
  127: 'backspace',
  57414: 'enter',
};
