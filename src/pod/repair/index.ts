/** Damaged session files: how they are found, and how they are repaired. */
export {
  damagedSession,
  looksLikeSession,
  noSession,
  refuseDamaged,
  repairCommand,
} from './refuse-damaged.ts';
export type { Note } from './note.ts';
export { type RepairOptions, type RepairReport, repairSession } from './repair-session.ts';
export { type Defect, isDamage, type Survey, surveySession } from './survey.ts';
