/** Where the pods of a command live: in this process or in the daemon, on the same files. */
export {
  AGENT_OPTIONS,
  type AgentWish,
  agentWish,
  exclusive,
  refuseContradictions,
} from './agent-options.ts';
export { placeHere } from './here.ts';
export { socketElsewhere } from './held-elsewhere.ts';
export { placeInDaemon } from './in-daemon.ts';
export { NoticeBoard } from './notice-board.ts';
export type { Place } from './place.ts';
export { steadyWatch } from './steady-watch.ts';
