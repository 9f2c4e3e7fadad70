/** Delegation to child pods: the tool `subagent`, and coordinators with their colleagues. */
export { Delegations, type DelegationsOptions } from './delegations.ts';
export { coordinatorSystem, type Role } from './roles.ts';
export { BUILT_IN_TYPES, type SubagentType } from './subagent-types.ts';
export { SubagentSlots, subagentTool } from './subagent-tool.ts';
export type { WorkOutcome, WorkRecords } from './work-records.ts';
