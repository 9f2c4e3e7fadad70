/** What a rewind returns to its earlier state. */
export const REWIND_PARTS = ['both', 'files', 'conversation'] as const;
export type RewindParts = (typeof REWIND_PARTS)[number];
