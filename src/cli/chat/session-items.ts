import type { Row } from '../../pod/sessions.ts';
import { shortIds } from '../../setup/index.ts';
import type { PickerItem } from '../../terminal/index.ts';
import { relativeTime } from '../output/relative-time.ts';

/** The sessions to choose from, most recently changed first, without archived ones. */
export function sessionItems(rows: readonly Row[], now: Date): readonly PickerItem[] {
  const ids = shortIds(rows.map(({ id }) => id));
  return rows
    .filter(({ archived }) => !archived)
    .map(({ id, name, updatedAt, firstPrompt = '' }) => ({
      value: id,
      label: name ?? ids.get(id) ?? id,
      detail: [relativeTime(updatedAt, now).padStart(6), firstPrompt.replace(/\s+/g, ' ').slice(0, 200)]
        .join('  ')
        .trimEnd(),
    }));
}
