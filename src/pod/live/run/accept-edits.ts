import { matchesTool, type Rule } from '../../../tools/index.ts';

const EDITORS = ['edit', 'write'];

/** Relative patterns match only paths inside the scope. */
const ACCEPT: readonly Rule[] = EDITORS.map((tool) => ({ tool, path: '**', action: 'auto' }));

/** Rules that accept edits without approval. Forbidden edits stay forbidden. */
export function acceptingEdits(rules: readonly Rule[]): readonly Rule[] {
  const decided = EDITORS.flatMap((tool) =>
    rules.flatMap((rule) => (decides(rule) && matchesTool(rule, tool) ? [{ ...rule, tool }] : [])),
  );
  return [...decided, ...ACCEPT, ...rules];
}

/** A rule that allows a tool without a path does not apply to files. */
function decides({ action, path }: Rule): boolean {
  return action === 'deny' || (action === 'auto' && path !== undefined);
}
