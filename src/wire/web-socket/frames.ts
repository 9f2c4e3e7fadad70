import { GrowingBuffer } from '../growing-buffer.ts';

/** The opcodes of RFC 6455. */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
}

/** A protocol violation of the peer, with the code for the close frame. */
export interface FrameProblem {
  readonly closeCode: number;
  readonly reason: string;
}

/** Reads a client's frames from bytes in any chunking. Reads nothing more after a problem. */
export class FrameReader {
  readonly #limit: number;
  readonly #unfinished = new GrowingBuffer();
  #problem: FrameProblem | undefined;

  /** `limit`: maximum bytes of one frame. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get problem(): FrameProblem | undefined {
    return this.#problem;
  }

  /** Whether a frame has started and is not complete. */
  get isInFrame(): boolean {
    return this.#unfinished.length > 0;
  }

  push(bytes: Uint8Array): readonly Frame[] {
    if (this.#problem !== undefined) return [];
    // Most chunks are complete frames and are read in place.
    const isFirst = this.#unfinished.length === 0;
    if (!isFirst) this.#unfinished.append(bytes);
    const source = isFirst
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      : this.#unfinished.view;
    const frames: Frame[] = [];
    let offset = 0;
    for (let read = this.#next(source); read !== undefined; read = this.#next(source.subarray(offset))) {
      frames.push(read.frame);
      offset += read.size;
    }
    if (this.#problem !== undefined) this.#unfinished.clear();
    else if (!isFirst) this.#unfinished.consume(offset);
    else if (offset < source.length) this.#unfinished.append(source.subarray(offset));
    return frames;
  }

  #next(rest: Buffer): { readonly frame: Frame; readonly size: number } | undefined {
    if (rest.length < 2) return undefined;
    const [first = 0, second = 0] = rest;
    const opcode = first & 0x0f;
    const isLast = (first & 0x80) !== 0;
    const short = second & 0x7f;
    const isControl = opcode >= OPCODES.close;
    if ((first & 0x70) !== 0) return this.#refuse('a reserved bit is set');
    if (!KNOWN_OPCODES.has(opcode)) return this.#refuse('an unknown opcode');
    if ((second & 0x80) === 0) return this.#refuse('frames of clients must be masked');
    if (isControl && (!isLast || short > 125))
      return this.#refuse('a control frame is too long or fragmented');
    const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const start = 2 + sizeBytes + 4;
    if (rest.length < start) return undefined;
    const size =
      sizeBytes === 0 ? short : sizeBytes === 2 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    if (size > this.#limit) return this.#refuse(`a frame is larger than ${this.#limit} bytes`, TOO_BIG);
    if (rest.length < start + size) return undefined;
    const payload = unmask(rest.subarray(start, start + size), rest.subarray(start - 4, start));
    return { frame: { opcode, isLast, payload }, size: start + size };
  }

  #refuse(reason: string, closeCode: number = PROTOCOL_ERROR): undefined {
    this.#problem = { closeCode, reason };
  }
}

function unmask(bytes: Buffer, mask: Buffer): Buffer {
  const plain = Buffer.allocUnsafe(bytes.length);
  for (let offset = 0; offset < bytes.length; offset += 1)
    plain[offset] = (bytes[offset] ?? 0) ^ (mask[offset & 3] ?? 0);
  return plain;
}

/** Encodes a complete, unmasked frame of a server. */
export function encodeFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const sizeBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + sizeBytes + length);
  frame[0] = 0x80 | opcode;
  frame[1] = sizeBytes === 0 ? length : sizeBytes === 2 ? 126 : 127;
  if (sizeBytes === 2) frame.writeUInt16BE(length, 2);
  if (sizeBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(payload, 2 + sizeBytes);
  return frame;
}

const KNOWN_OPCODES: ReadonlySet<number> = new Set(Object.values(OPCODES));
const PROTOCOL_ERROR = 1002;
const TOO_BIG = 1009;
