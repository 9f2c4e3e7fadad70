import type { Mode } from '../../tools/index.ts';

export const MODES: readonly Mode[] = ['read-only', 'workspace-write', 'full-access'];
