import type { Transport } from '@modelcontextprotocol/client';

/** Marks the error of a request whose answer was lost, as opposed to errors that the server sent. */
export const LOST_REQUEST = Object.freeze({ answer: 'lost' });

/**
 * Fails requests whose answer was lost: over HTTP each answer has its own stream, and if that breaks, the SDK
 * lets the request wait for its timeout.
 */
export function answerLostRequests(transport: Transport): void {
  const waiting = new Set<string | number>();
  const send = transport.send.bind(transport);
  // The client wraps this handler with its own.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport has no other way
  transport.onmessage = (message) => {
    if ('id' in message && message.id !== undefined && !('method' in message)) waiting.delete(message.id);
  };
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const { id } = message;
    waiting.add(id);
    const onRequestStreamEnd = (): void => {
      if (!waiting.delete(id)) return;
      const error = { code: -32_000, message: 'the response stream broke', data: LOST_REQUEST };
      transport.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return send(message, { ...options, onRequestStreamEnd }).catch((thrown: unknown) => {
      waiting.delete(id);
      throw thrown;
    });
  };
}
