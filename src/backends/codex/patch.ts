import { isAbsolute, relative, resolve } from 'node:path';
import { applyPatch } from 'diff';
import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { Access } from '../../tools/index.ts';

/** The change of one file. */
export interface FileChange {
  readonly kind: 'add' | 'delete' | 'update';
  /** Absolute. */
  readonly path: string;
  /** The new path of a file that is moved. */
  readonly moveTo?: string;
  /** The content of an added or deleted file; the hunks of an update. */
  readonly text: string;
}

export function fileChanges(value: unknown, cwd: string): readonly FileChange[] {
  return arrayOf(value).flatMap((change): readonly FileChange[] => {
    if (!isObject(change)) return [];
    const { type, move_path: moved } = objectOf(change.kind);
    const path = resolve(cwd, stringOf(change.path));
    const text = stringOf(change.diff);
    if (type === 'add' || type === 'delete') return [{ kind: type, path, text }];
    if (typeof moved !== 'string') return [{ kind: 'update', path, text }];
    // Codex adds a note to the hunks of a moved file.
    const hunks = text.replace(/\n\nMoved to: [^\n]*$/, '');
    return [{ kind: 'update', path, moveTo: resolve(cwd, moved), text: hunks }];
  });
}

/** What the changes touch. */
export function changeAccess(changes: readonly FileChange[]): readonly Access[] {
  return changes.flatMap(({ kind, path, moveTo, text }): readonly Access[] => {
    if (kind === 'add') return [{ type: 'write', path, after: () => text }];
    if (kind === 'delete') return [{ type: 'write', path }];
    const after = (before: string | undefined): string | undefined =>
      before === undefined ? undefined : applyPatch(before, patchText(text)) || undefined;
    const read: Access = { type: 'read', path };
    if (moveTo === undefined) return [read, { type: 'write', path, after }];
    // The content before that the policy passes is that of the new path, which tells nothing.
    return [read, { type: 'write', path }, { type: 'write', path: moveTo }];
  });
}

/** The arguments in the form of our own tools, so that every client shows them as it shows theirs. */
export function changeArguments(changes: readonly FileChange[], cwd: string): JsonObject {
  const [change] = changes;
  if (changes.length !== 1 || change === undefined || change.moveTo !== undefined || change.kind === 'delete')
    return { changes: changes.map((one) => changeLine(one, cwd)), diff: unifiedDiff(changes, cwd).text };
  const path = displayPath(change.path, cwd);
  if (change.kind === 'add') return { path, content: change.text };
  return { path, edits: hunksOf(change.text) };
}

export function changeTitle(changes: readonly FileChange[], cwd: string): string {
  const [first, second, ...rest] = changes;
  if (first === undefined) return 'edit';
  if (second === undefined) return changeLine(first, cwd);
  const others = rest.length === 0 ? '' : ` and ${rest.length} more`;
  return `edit ${displayPath(first.path, cwd)}, ${displayPath(second.path, cwd)}${others}`;
}

function changeLine({ kind, path, moveTo }: FileChange, cwd: string): string {
  const name = displayPath(path, cwd);
  if (moveTo !== undefined) return `move ${name} to ${displayPath(moveTo, cwd)}`;
  return `${VERBS[kind]} ${name}`;
}

const VERBS = { add: 'write', delete: 'delete', update: 'edit' } as const;

export interface ChangeDiff {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/** All changes in the unified format. */
export function unifiedDiff(changes: readonly FileChange[], cwd: string): ChangeDiff {
  const text = changes.map((change) => fileDiff(change, cwd)).join('');
  const lines = text.split('\n').filter((line) => !/^(?:---|\+\+\+) /.test(line));
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  return { text, added: count('+'), removed: count('-') };
}

function fileDiff({ kind, path, moveTo, text }: FileChange, cwd: string): string {
  const from = displayPath(path, cwd);
  const to = displayPath(moveTo ?? path, cwd);
  if (kind === 'update') return text === '' ? '' : `--- a/${from}\n+++ b/${to}\n${withLineEnd(text)}`;
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (lines.length === 0) return '';
  const body = (sign: string): string => withLineEnd(lines.map((line) => `${sign}${line}`).join(''));
  if (kind === 'add') return `--- /dev/null\n+++ b/${to}\n@@ -0,0 +1,${lines.length} @@\n${body('+')}`;
  return `--- a/${from}\n+++ /dev/null\n@@ -1,${lines.length} +0,0 @@\n${body('-')}`;
}

/** The text before and after each hunk. */
function hunksOf(text: string): readonly { readonly old: string; readonly new: string }[] {
  return text
    .split(/^@@.*@@.*\n/m)
    .filter((hunk) => hunk !== '')
    .map((hunk) => {
      const lines = (hunk.match(/[^\n]*\n|[^\n]+$/g) ?? []).filter((line) => !line.startsWith('\\'));
      const side = (sign: string): string =>
        lines
          .flatMap((line) => (line.startsWith(sign) || line.startsWith(' ') ? [line.slice(1)] : []))
          .join('');
      return { old: side('-'), new: side('+') };
    });
}

function patchText(hunks: string): string {
  return `--- a\n+++ b\n${withLineEnd(hunks)}`;
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

function displayPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}
