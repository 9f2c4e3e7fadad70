import type { Duplex } from 'node:stream';

/**
 * Limits errors thrown by listeners of a connection to that connection: it is destroyed and the error is
 * reported, instead of ending the process. Rejected promises are not covered.
 */
export function containFailures(connection: Duplex, report: (thrown: unknown) => void): void {
  const emit = connection.emit.bind(connection);
  connection.emit = (name: string | symbol, ...values: unknown[]): boolean => {
    try {
      return emit(name, ...values);
    } catch (thrown) {
      report(thrown);
      connection.destroy();
      return true;
    }
  };
}
