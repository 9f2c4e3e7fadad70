/** One way to damage a file. */
export interface Damage {
  readonly name: string;
  readonly bytes: Buffer;
  /** Whether the repair must restore the file exactly. */
  readonly isUndone?: boolean;
}

/** All damages to a file. `step`: tests every n-th byte. */
export function* damagesOf(bytes: Buffer, isSealed: boolean, step: number): Generator<Damage> {
  const lines = linesOf(bytes);
  yield* flips(bytes, lines, isSealed, step);
  yield* withoutLines(lines, step > 1 ? 2 : 1);
  for (let at = 1; at < lines.length; at += step > 1 ? 7 : 1) {
    yield {
      name: `line ${at} twice`,
      bytes: joined(lines.slice(0, at), lines.slice(at - 1)),
      isUndone: true,
    };
    yield {
      name: `line ${at} again at the end`,
      bytes: joined(lines, lines.slice(at, at + 1)),
      isUndone: true,
    };
  }
  yield* truncations(bytes, lines, step);
  yield { name: 'an empty file', bytes: Buffer.alloc(0) };
  yield* garbage(bytes, lines);
  yield* joins(lines, step > 1 ? 9 : 1);
  yield* encodings(bytes, isSealed);
  yield* parents(lines, step > 1 ? 9 : 1);
}

function* flips(bytes: Buffer, lines: readonly Buffer[], isSealed: boolean, step: number): Generator<Damage> {
  const header = lines[0]?.length ?? 0;
  for (let at = 0; at < bytes.length; at += at < header ? Math.ceil(step / 4) : step) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    yield { name: `bit ${at % 8} of byte ${at} flipped`, bytes: damaged, isUndone: isSealed };
  }
  // Every newline, and each byte of a checksum.
  for (const [number, end] of endsOf(lines).entries()) {
    if (step > 1 && number % 8 !== 0) continue;
    for (const at of [end - 1, end - 2, end - 5, end - 12, end - 15]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = damaged[at] === 120 ? 121 : 120;
      yield { name: `byte ${at} is an x`, bytes: damaged, isUndone: isSealed };
    }
    // A byte that becomes a newline splits a line.
    const damaged = Buffer.from(bytes);
    damaged[end - 40] = 10;
    yield { name: `byte ${end - 40} is a newline`, bytes: damaged, isUndone: isSealed };
  }
  for (const number of [0, 3, lines.length - 1]) {
    const damaged = Buffer.from(bytes);
    const start = endsOf(lines)[number - 1] ?? 0;
    for (let at = start + 20; at < start + 90; at += 9) damaged[at] = 33;
    yield { name: `many bytes of line ${number + 1} are wrong`, bytes: damaged };
  }
}

function* withoutLines(lines: readonly Buffer[], each: number): Generator<Damage> {
  for (let at = 0; at < lines.length; at += each) {
    yield { name: `line ${at + 1} is missing`, bytes: joined(lines.slice(0, at), lines.slice(at + 1)) };
    if (at % 4 === 0)
      yield {
        name: `3 lines from ${at + 1} on are missing`,
        bytes: joined(lines.slice(0, at), lines.slice(at + 3)),
      };
    if (at % 6 === 0)
      yield {
        name: `lines ${at + 1} and ${at + 5} are missing`,
        bytes: joined(lines.filter((_, line) => line !== at && line !== at + 4)),
      };
  }
}

function* truncations(bytes: Buffer, lines: readonly Buffer[], step: number): Generator<Damage> {
  const start = bytes.length - joined(lines.slice(-3)).length;
  for (let end = start; end < bytes.length; end += Math.ceil(step / 12))
    yield { name: `truncated after byte ${end}`, bytes: bytes.subarray(0, end) };
  for (const end of [1, 10, (lines[0]?.length ?? 0) - 1, lines[0]?.length ?? 0])
    yield { name: `truncated after byte ${end}, in the header`, bytes: bytes.subarray(0, end) };
  // In the middle of a multi-byte character.
  for (let at = bytes.length - 1, found = 0; at > 0 && found < 4; at -= 1)
    if ((bytes[at] ?? 0) >> 6 === 2) {
      found += 1;
      yield { name: `truncated in a character, after byte ${at}`, bytes: bytes.subarray(0, at) };
      const end = bytes.indexOf(10, at);
      yield {
        name: `a line ends in a character, after byte ${at}`,
        bytes: joined([bytes.subarray(0, at), bytes.subarray(end)]),
      };
    }
}

function* garbage(bytes: Buffer, lines: readonly Buffer[]): Generator<Damage> {
  const middle = Math.floor(lines.length / 2);
  const trash: readonly (readonly [string, Buffer])[] = [
    ['text', Buffer.from('what is this doing here')],
    ['lines of text', Buffer.from('one\ntwo\n{"three":\n')],
    ['half a line', (lines[2] ?? Buffer.alloc(0)).subarray(0, 50)],
    ['NUL bytes', Buffer.alloc(4096)],
    ['a line of NUL bytes', Buffer.concat([Buffer.alloc(512), Buffer.from('\n')])],
    ['bytes of no text', Buffer.from(Array.from({ length: 600 }, (_, at) => (at * 37) % 256))],
    ['another header', lines[0] ?? Buffer.alloc(0)],
    ['JSON that is no entry', Buffer.from('{"hello":1}\n[1,2]\n"x"\nnull\n{}\n')],
    ['a huge line', Buffer.from(`{"type":"message","id":"${'x'.repeat(3_000_000)}\n`)],
  ];
  for (const [name, what] of trash) {
    yield { name: `${name} at the end`, bytes: joined([bytes, what]) };
    yield {
      name: `${name} in the middle`,
      bytes: joined(lines.slice(0, middle), [what], lines.slice(middle)),
    };
    yield { name: `${name} at the start`, bytes: joined([what, bytes]) };
  }
  const zeroed = Buffer.from(bytes);
  zeroed.fill(0, 600, 1600);
  yield { name: '1000 NUL bytes over lines', bytes: zeroed };
}

function* joins(lines: readonly Buffer[], each: number): Generator<Damage> {
  for (let at = 1; at + 1 < lines.length; at += each) {
    const [one, two] = [lines[at] ?? Buffer.alloc(0), lines[at + 1] ?? Buffer.alloc(0)];
    const others = (line: Buffer): Buffer => joined(lines.slice(0, at), [line], lines.slice(at + 2));
    yield {
      name: `half of line ${at + 1} before line ${at + 2}`,
      bytes: others(joined([one.subarray(0, 60), two])),
    };
    yield {
      name: `halves of lines ${at + 1} and ${at + 2}`,
      bytes: others(joined([one.subarray(0, one.length / 2), two.subarray(two.length / 2)])),
    };
    yield { name: `no newline after line ${at + 1}`, bytes: others(joined([one.subarray(0, -1), two])) };
  }
}

function* encodings(bytes: Buffer, isSealed: boolean): Generator<Damage> {
  const text = bytes.toString();
  yield { name: 'a byte order mark', bytes: Buffer.from(`\uFEFF${text}`) };
  yield { name: 'UTF-16', bytes: Buffer.from(`\uFEFF${text}`, 'utf16le') };
  yield { name: 'UTF-16, big-endian', bytes: Buffer.from(`\uFEFF${text}`, 'utf16le').swap16() };
  // Characters outside Latin-1 are lost.
  yield { name: 'Latin-1', bytes: Buffer.from(text.replaceAll(/[\u{100}-\u{10FFFF}]/gu, '?'), 'latin1') };
  yield { name: 'encoded twice', bytes: Buffer.from(bytes.toString('latin1')), isUndone: isSealed };
  yield { name: 'other line ends', bytes: Buffer.from(text.replaceAll('\n', '\r\n')) };
}

/** By a program that writes no checksums. */
function* parents(lines: readonly Buffer[], each: number): Generator<Damage> {
  const ids = lines.map((line) => /"id":"([^"]+)"/.exec(line.toString())?.[1] ?? '');
  for (let at = 2; at < lines.length; at += each) {
    const under = (parent: string): Buffer => {
      const value = JSON.parse(lines[at]?.toString() ?? '') as { crc?: string };
      delete value.crc;
      const line = Buffer.from(`${JSON.stringify({ ...value, parentId: parent })}\n`);
      return joined(lines.slice(0, at), [line], lines.slice(at + 1));
    };
    yield { name: `line ${at + 1} hangs on nothing`, bytes: under('ffffffff') };
    yield { name: `line ${at + 1} hangs on itself`, bytes: under(ids[at] ?? '') };
    yield { name: `line ${at + 1} hangs on what hangs on it`, bytes: under(ids.at(-1) ?? '') };
    yield {
      name: `lines ${at} and ${at + 1} the other way round`,
      bytes: joined(
        lines.slice(0, at - 1),
        lines.slice(at, at + 1),
        lines.slice(at - 1, at),
        lines.slice(at + 1),
      ),
    };
  }
}

export function linesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(start, end));
    start = end;
  }
  return lines;
}

/** The end of each line. */
function endsOf(lines: readonly Buffer[]): readonly number[] {
  let end = 0;
  return lines.map((line) => (end += line.length));
}

function joined(...parts: readonly (readonly Buffer[])[]): Buffer {
  return Buffer.concat(parts.flat());
}
