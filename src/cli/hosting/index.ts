/** Where the pods of a command live: in this process or in the daemon, on the same files. */
export {
  AGENT_OPTIONS,
  type AgentRequest,
  readAgentRequest,
  exclusive,
  refuseContradictions,
} from '../args/agent-options.ts';
export { hostInThisProcess } from './in-this-process.ts';
export { socketOfOwner } from './session-owner.ts';
export { hostInDaemon } from './in-daemon.ts';
export { NoticeBoard } from './notice-board.ts';
export type { PodLocation } from './pod-location.ts';
export { reconnectingWatch } from './reconnecting-watch.ts';
