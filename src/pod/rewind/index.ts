/** Returns files and the conversation to an earlier point: saved versions, the plan, and the restoration. */
export { planRewind, type RewindPoint, type RewindPoints, rewindPoints } from './plan.ts';
export {
  type FilePreview,
  previewFiles,
  recordedVersion,
  restoreFiles,
  type RestoreParts,
  type WriteVerdict,
} from './restore-files.ts';
export { SavedFiles } from './saved-files.ts';
