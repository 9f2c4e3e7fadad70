/** Detects and repairs damaged session files. */
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
