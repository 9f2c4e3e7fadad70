import { type AskedCall, callLines } from './call-lines.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** A call's title is one line, and may be cut: whatever more would be done, in lines to stand under it. */
export function callDetails(call: AskedCall): string {
  if (call.arguments === undefined) return '';
  const lines = callLines(call);
  const isSaid = lines.length === 1 && lines[0]?.endsWith(`: ${sanitizeLine(call.title)}`) === true;
  return isSaid ? '' : lines.map((line) => `    ${line}\n`).join('');
}
