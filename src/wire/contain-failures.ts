import type { Duplex } from 'node:stream';

/**
 * Limits what a listener of a connection throws to that connection: it is destroyed, and the error is reported instead of
 * ending the process. Errors in promises are not seen here.
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
