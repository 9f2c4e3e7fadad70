import type { ClientOptions, DoorClient, WireName } from './client.ts';
import { AcpClient } from './acp.ts';
import { HldClient } from './hld.ts';
import { PodClient } from './pod.ts';
import { RpcClient } from './rpc.ts';
import { TasksSseClient, TasksWebSocketClient } from './tasks.ts';

/** Creates a client of a wire, not connected yet. */
export function newClient(wire: WireName, options: ClientOptions): DoorClient {
  switch (wire) {
    case 'pod':
    case 'pod plain':
      return new PodClient(wire, options);
    case 'rpc':
    case 'rpc stdio':
      return new RpcClient(wire, options);
    case 'hld':
      return new HldClient(options);
    case 'acp':
    case 'acp stdio':
      return new AcpClient(wire, options);
    case 'tasks SSE':
      return new TasksSseClient(options);
    case 'tasks WebSocket':
      return new TasksWebSocketClient(options);
  }
}
