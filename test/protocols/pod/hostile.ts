/** Pseudo-random numbers that are the same for the same seed. */
export type Random = (below: number) => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const METHODS = [
  'run',
  'resume',
  'cancel',
  'get_status',
  'get_history',
  'subscribe',
  'decide',
  'configure',
  'steer',
  'shell',
  'ask',
  'branch',
];
const VALUES = [
  'null',
  '0',
  '-1',
  '1e400',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '[]',
  '{}',
  'true',
  '"__proto__"',
  '{"__proto__":{"a":1}}',
  '{"constructor":1}',
  '{"input":1}',
  '{"input":null}',
  '{"input":""}',
  '{"after":-1}',
  '{"after":"x"}',
  '{"after":1.5}',
  '{"input":"x","images":[{"media_type":1}]}',
  '{"approval_id":"x","decision":"maybe"}',
  '{"set":{"rules":5}}',
  '{"set":{"__proto__":1}}',
  '{"entry_id":[]}',
  '{"command":{}}',
  '{"tool":"x"}',
];

/** A line that no correct client sends. None of them is an acceptable command. */
export function hostileLine(random: Random): Uint8Array {
  const pick = (list: readonly string[]): string => list[random(list.length)] ?? '';
  switch (random(12)) {
    case 0:
      return Uint8Array.from({ length: random(200) }, () => random(256)).filter((byte) => byte !== 10);
    case 1:
      return Buffer.from('['.repeat(1 + random(20_000)));
    case 2:
      return Buffer.from('{"method":'.repeat(1 + random(500)));
    case 3:
      return Buffer.from(`{"method":"${pick(METHODS)}","params":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`);
    case 4:
      return Buffer.from(`{"method":"${pick(METHODS)}x${random(10)}"}`);
    case 5:
      return Buffer.from(JSON.stringify({ method: 'x'.repeat(random(50_000)) }));
    case 6:
      return Buffer.from(JSON.stringify({ method: 'get_status', request_id: 'r'.repeat(random(5_000)) }));
    case 7:
      return Buffer.from(
        JSON.stringify({
          method: 'subscribe',
          params: { after: random(40) === 0 ? random(300) : random(2 ** 31) },
        }),
      );
    case 8:
      return Buffer.from(JSON.stringify({ method: 'get_history', request_id: random(1_000) }));
    case 9:
      return Buffer.from([0x22, 0xc3, 0x28, 0xf0, 0x9f, 0x92, 0x22]);
    case 10:
      return Buffer.from(`{"method":${pick(VALUES)},"params":${pick(VALUES)},"request_id":${pick(VALUES)}}`);
    default: {
      const [method, params] = [pick(METHODS), pick(VALUES)];
      // Without an error these would be valid.
      const isSound = params === '{}' || params === 'null';
      return Buffer.from(`{"method":"${method}","params":${isSound ? '[]' : params}}`);
    }
  }
}
