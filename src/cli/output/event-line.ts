import { isObject, type JsonObject, parseObject, stringOf } from '../../base/index.ts';
import { sanitizeLine, fitWidth } from '../../terminal/index.ts';

const WIDTH = 120;

/** Formats a pod event as one line: number, type, and the most useful fields. */
export function eventLine(line: string): string {
  const event = parseObject(line) ?? {};
  const text = sanitizeLine(gist(event).replaceAll(/\s+/g, ' ').trim());
  return (
    `${String(event.seq).padStart(6)}  ${sanitizeLine(stringOf(event.type)).padEnd(17)}  ${fitWidth(text, WIDTH)}`.trimEnd() +
    '\n'
  );
}

function gist(event: JsonObject): string {
  const { delta, call, approval, outcome, output, item, settings } = event;
  if (isObject(delta)) return stringOf(delta.text) || stringOf(delta.json);
  if (isObject(call)) return stringOf(call.title);
  if (isObject(approval)) return `${stringOf(approval.title)}  ${stringOf(approval.approvalId)}`;
  if (isObject(output)) return `${stringOf(event.status)} ${stringOf(output.summary)}`;
  if (isObject(outcome)) return stringOf(outcome.status);
  if (isObject(item)) return `${stringOf(event.by)} ${JSON.stringify(item.content)}`;
  if (isObject(settings)) return stringOf(settings.name);
  const words = [
    'state',
    'status',
    'outcome',
    'blockType',
    'name',
    'runId',
    'approvalId',
    'command',
    'text',
    'by',
  ];
  return words
    .map((word) => stringOf(event[word]))
    .filter(Boolean)
    .join(' ');
}
