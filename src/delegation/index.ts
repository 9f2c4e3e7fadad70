/** Coordinators and their colleagues: an agent delegates work to child pods that have roles. */
export { Delegations, type DelegationsOptions } from './delegations.ts';
export { coordinatorSystem, type Role } from './roles.ts';
export type { WorkOutcome, WorkRecords } from './work-records.ts';
