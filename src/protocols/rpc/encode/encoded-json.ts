import type { RpcEvent, RpcResponse } from '../wire.ts';

/** A value that is already JSON text, because JSON.stringify cannot encode it: it is recursive, and the tree of a long session is deep. */
export class EncodedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Encodes one frame as a line of JSON. Only the `data` of a response can be encoded in advance. */
export function encodeFrame(frame: RpcEvent | RpcResponse): string {
  if (!('data' in frame) || !(frame.data instanceof EncodedJson)) return JSON.stringify(frame);
  const { data, ...head } = frame;
  return `${JSON.stringify(head).slice(0, -1)},"data":${data.text}}`;
}
