import type { Transport } from '@modelcontextprotocol/client';

/** Marks the error of a request whose answer will never come, apart from errors that the server sent. */
export const LOST_REQUEST = Object.freeze({ answer: 'lost' });

/**
 * Lets a request fail whose answer will never come: over HTTP each has a stream of its own for its answer, and when that breaks
 * off the SDK lets the request wait until its time is over.
 */
export function answerLostRequests(transport: Transport): void {
  const waiting = new Set<string | number>();
  const send = transport.send.bind(transport);
  // The client puts its own reader behind this one.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no other way to be heard
  transport.onmessage = (message) => {
    if ('id' in message && message.id !== undefined && !('method' in message)) waiting.delete(message.id);
  };
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const { id } = message;
    waiting.add(id);
    const onRequestStreamEnd = (): void => {
      if (!waiting.delete(id)) return;
      const error = { code: -32_000, message: 'the answer broke off', data: LOST_REQUEST };
      transport.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return send(message, { ...options, onRequestStreamEnd }).catch((thrown: unknown) => {
      waiting.delete(id);
      throw thrown;
    });
  };
}
