/** Bytes to messages and back: lines, server-sent events, JSON-RPC, HTTP, Unix sockets. */
export { ByteLines } from './byte-lines.ts';
export { type HttpRequest, type HttpResponse, httpTransport, type Transport } from './http-client.ts';
export {
  answerRpc,
  NO_ID,
  readRpc,
  RPC_CODES,
  type RpcCall,
  rpcError,
  type RpcError,
  rpcResult,
  type RpcService,
} from './json-rpc.ts';
export { type FrameReader, lineReader, MAX_LINE } from './lines.ts';
export { encodeSse, sseReader } from './sse.ts';
export { connectUnix, listenUnix } from './unix-socket.ts';
