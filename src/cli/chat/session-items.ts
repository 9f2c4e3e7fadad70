import { promptTitle } from '../../base/index.ts';
import type { Row } from '../../pod/sessions.ts';
import { shortIds } from '../../setup/index.ts';
import type { PickerItem } from '../../terminal/index.ts';
import { relativeTime } from '../output/relative-time.ts';

/** The sessions to choose from, most recently changed first, without archived ones and those of sub-agents. */
export function sessionItems(rows: readonly Row[], now: Date): readonly PickerItem[] {
  const ids = shortIds(rows.map(({ id }) => id));
  return rows
    .filter(({ archived, spawned = false }) => !archived && !spawned)
    .map(({ id, name, title, updatedAt, firstPrompt = '' }) => {
      const shortId = ids.get(id) ?? id;
      const given = name ?? title;
      // The title from a prompt would repeat it.
      const about = given === undefined ? '' : firstPrompt.replace(/\s+/g, ' ').slice(0, 200);
      return {
        value: id,
        label: given ?? promptTitle(firstPrompt) ?? shortId,
        detail: [relativeTime(updatedAt, now).padStart(6), shortId, about].join('  ').trimEnd(),
      };
    });
}
