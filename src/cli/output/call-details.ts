import { type AskedCall, callLines } from './call-lines.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** The title of a call is one line and can be truncated: this renders the complete call below it. */
export function callDetails(call: AskedCall): string {
  if (call.arguments === undefined) return '';
  const lines = callLines(call);
  const isInTitle = lines.length === 1 && lines[0]?.endsWith(`: ${sanitizeLine(call.title)}`) === true;
  return isInTitle ? '' : lines.map((line) => `    ${line}\n`).join('');
}
