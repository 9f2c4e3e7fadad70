/**
 * A minimal transport over the built-in fetch: the reader instead of the iterator, no copies. It cannot detect when the
 * connection is established, so an open timeout would also have to cover the wait for the response headers.
 */
export async function fetchTransport({ method, url, headers, body }, watch) {
  const response = await fetch(url, { method, headers, body, signal: watch.signal, redirect: 'manual' });
  watch.onOpen();
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: piecesOf(response.body.getReader()),
  };
}

async function* piecesOf(reader) {
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
