import { arrayOf, ellipsize, isObject, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { base64, escaped, imageType } from './escape.ts';

/** Renders the text and images of a message. */
export function contentHtml(content: unknown): string {
  if (typeof content === 'string') return textHtml(content);
  return arrayOf(content)
    .map((part) => partHtml(objectOf(part)))
    .join('');
}

function partHtml(part: JsonObject): string {
  if (part.type === 'text') return textHtml(stringOf(part.text));
  return part.type === 'image' ? imageHtml(part) : '';
}

export function textHtml(text: string): string {
  return text === '' ? '' : `<div class="text">${escaped(text)}</div>`;
}

function imageHtml({ data, mimeType }: JsonObject): string {
  const type = imageType(stringOf(mimeType));
  const bytes = base64(stringOf(data));
  if (type === undefined || bytes === '') return '<p class="error">[an image that cannot be shown]</p>';
  return `<img alt="" src="data:${type};base64,${bytes}">`;
}

/** Renders the thinking of a model, collapsed. */
export function thinkingHtml(text: string): string {
  if (text.trim() === '') return '';
  return `<details class="thinking"><summary>Thinking</summary>${textHtml(text)}</details>`;
}

/** Renders a call with its result, collapsed. */
export function callHtml(call: JsonObject, result: JsonObject | undefined): string {
  const name = stringOf(call.name);
  const args = objectOf(call.arguments);
  const failed = result?.isError === true ? ' <span class="failed">failed</span>' : '';
  const brought = result === undefined ? '<p class="error">no result</p>' : resultHtml(result);
  return `<details><summary><code>${escaped(`${name} ${shortArguments(args)}`)}</code>${failed}</summary>${argumentsHtml(args)}${brought}</details>`;
}

/** The argument that describes the call best. */
function shortArguments(args: JsonObject): string {
  const known = ['command', 'path', 'file_path', 'pattern', 'url', 'query'].find(
    (key) => typeof args[key] === 'string',
  );
  const text = known === undefined ? '' : stringOf(args[known]);
  return ellipsize(text, LONGEST);
}

const LONGEST = 100;

function argumentsHtml(args: JsonObject): string {
  return Object.keys(args).length === 0 ? '' : `<pre>${escaped(JSON.stringify(args, undefined, 2))}</pre>`;
}

function resultHtml({ content, details }: JsonObject): string {
  const diff = isObject(details) ? stringOf(details.diff) : '';
  if (diff !== '') return diffHtml(diff);
  const shown = contentHtml(content);
  return shown === '' ? '' : `<pre>${shown}</pre>`;
}

/** Renders added lines in green and removed lines in red. */
export function diffHtml(diff: string): string {
  const lines = diff.split('\n').map((line) => `<span class="${changeIn(line)}">${escaped(line)}</span>`);
  return `<pre>${lines.join('')}</pre>`;
}

function changeIn(line: string): string {
  if (line.startsWith('+') && !line.startsWith('+++')) return 'added';
  return line.startsWith('-') && !line.startsWith('---') ? 'removed' : 'same';
}
