/** Bytes to messages and back: lines, server-sent events, JSON-RPC, HTTP, Unix sockets. */
export {
  CHALLENGE_HEADER,
  type Challenge,
  decodeChallenge,
  encodeChallenge,
  isSameProof,
  PROOF_HEADER,
  computeProof,
} from './http/agent-proof.ts';
export { type Backoff, backoffMs, DEFAULT_BACKOFF, waitBeforeAttempt } from './backoff.ts';
export {
  type HttpRequest,
  type HttpResponse,
  type HttpWatch,
  httpTransport,
  type Transport,
  createHttpTransport,
  proxiedTransport,
  transportFrom,
  type TlsTrust,
} from './http/client.ts';
export { loopbackTransport } from './http/loopback-transport.ts';
export { isLoopbackUrl } from './http/loopback-url.ts';
export { proxiesFrom, type Proxies, proxyFor, proxySecrets } from './http/proxy.ts';
export { PROXY_REFUSED } from './http/proxy-error.ts';
export { fetchFrom } from './http/transport-fetch.ts';
export {
  HTTP_SERVER_LIMITS,
  type HttpServer,
  type HttpServerLimits,
  type HttpServerOptions,
  type RefusedConnection,
  serveHttp,
} from './http/server.ts';
export { containFailures } from './contain-failures.ts';
export { drained } from './drained.ts';
export { encodeEventStream, type EventStreamHeaders, eventStreamReader } from './event-stream.ts';
export { type BodyLimits, parseJsonBody, unreadableMessage } from './http/server-body.ts';
export { type GuardOptions, guardRequest, refuseDuplicates } from './http/server-guard.ts';
export { type HttpRefusal, httpRefusal, httpRefusalFrom } from './http/server-refusal.ts';
export {
  answerRpc,
  NO_ID,
  parseRpcLine,
  RPC_CODES,
  type RpcCall,
  rpcError,
  type RpcError,
  rpcResult,
  type RpcService,
} from './json-rpc.ts';
export { firstLine } from './first-line.ts';
export { type FrameReader, LineReader, MAX_LINE } from './lines.ts';
export { isLoopback, networkKey } from './http/network-address.ts';
export { openFileLimit } from './unix/open-file-limit.ts';
export { type Rate, RateTable, TokenBucket } from './http/rate-limit.ts';
export {
  type AfterEnd,
  LastReceived,
  reconnectingStream,
  type StreamPosition,
  type StreamUpdate,
} from './reconnecting-stream.ts';
export { releaseHalfClosed } from './unix/release-half-closed.ts';
export { encodeSse, sseReader } from './sse.ts';
export { type RefusedPeer, socketPeers } from './unix/socket-peers.ts';
export {
  connectUnix,
  listenUnix,
  MAX_SOCKET_PATH_BYTES,
  ensurePrivateDirectory,
} from './unix/unix-socket.ts';
