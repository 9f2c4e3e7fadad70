// Loaded into the daemon under test: measures the live heap and its buffers, after garbage collection, on request.
process.on('message', (word) => {
  if (word === 'heap') {
    globalThis.gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    process.send({ heapUsed: heapUsed + arrayBuffers });
  }
  // For the tests of the uncaught error handler: errors that no request can cause.
  if (word === 'throw') setImmediate(() => throwDeep());
  if (word === 'reject') void Promise.reject(new Error('planted rejection'));
});
process.channel?.unref();

function throwDeep() {
  const value = JSON.parse('['.repeat(10_000) + ']'.repeat(10_000));
  JSON.stringify(value);
}
