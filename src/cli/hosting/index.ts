/** Where the pods of a command are hosted: in this process or in the daemon, on the same files. */
export {
  AGENT_OPTIONS,
  type AgentRequest,
  readAgentRequest,
  exclusive,
  refuseContradictions,
} from '../args/agent-options.ts';
export { hostInThisProcess } from './in-this-process.ts';
export { ownerOf } from './session-owner.ts';
export { ownerOfPodSocket } from './pod-socket-owner.ts';
export { hostInOtherProcess } from './in-other-process.ts';
export { hostInDaemon } from './in-daemon.ts';
export type { PodLocation } from './pod-location.ts';
export { reconnectingWatch } from './reconnecting-watch.ts';
