/** Where the pods of a command live: in this process or in the daemon, on the same files. */
export {
  AGENT_OPTIONS,
  type AgentWish,
  agentWish,
  exclusive,
  refuseContradictions,
} from '../args/agent-options.ts';
export { placeHere } from './in-this-process.ts';
export { socketElsewhere } from './session-owner.ts';
export { placeInDaemon } from './in-daemon.ts';
export { NoticeBoard } from './notice-board.ts';
export type { Place } from './pod-location.ts';
export { steadyWatch } from './reconnecting-watch.ts';
