import type { RpcEvent, RpcResponse } from '../wire.ts';

/** A value that is JSON text already, because JSON.stringify could not write it: it is recursive, and a long session's tree is deep. */
export class EncodedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** One frame as a line of JSON. Only a response may carry a value that is encoded already, as its `data`. */
export function encodeFrame(frame: RpcEvent | RpcResponse): string {
  if (!('data' in frame) || !(frame.data instanceof EncodedJson)) return JSON.stringify(frame);
  const { data, ...head } = frame;
  return `${JSON.stringify(head).slice(0, -1)},"data":${data.text}}`;
}
