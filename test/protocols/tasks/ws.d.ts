/** The part of the `ws` package that the tests use: it has no types. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';

  export class WebSocket {
    constructor(url: string, protocols?: readonly string[], options?: WebSocketOptions);
    readonly on: EventEmitter['on'];
    readonly protocol: string;
    send(text: string): void;
    pause(): void;
    resume(): void;
    close(code?: number): void;
    terminate(): void;
  }

  export interface WebSocketOptions {
    readonly headers?: Readonly<Record<string, string>>;
    readonly ca?: string;
  }
}
