import { matchesTool, type Rule } from '../../../tools/index.ts';

const EDITORS = ['edit', 'write'];

/** Relative patterns only fit inside of the scope. */
const ACCEPT: readonly Rule[] = EDITORS.map((tool) => ({ tool, path: '**', action: 'auto' }));

/** Rules under which edits are accepted: that answers what would be asked, and what is forbidden stays forbidden. */
export function acceptingEdits(rules: readonly Rule[]): readonly Rule[] {
  const decided = EDITORS.flatMap((tool) =>
    rules.flatMap((rule) => (decides(rule) && matchesTool(rule, tool) ? [{ ...rule, tool }] : [])),
  );
  return [...decided, ...ACCEPT, ...rules];
}

/** A rule that allows a tool and no path says nothing of files. */
function decides({ action, path }: Rule): boolean {
  return action === 'deny' || (action === 'auto' && path !== undefined);
}
