import { arrayOf, objectOf, stringOf } from '../../../base/index.ts';
import type { AgentMessage } from '../../../pod/index.ts';

/** The text of a message, without images and calls. */
export function textIn({ content }: AgentMessage): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map(objectOf)
    .flatMap(({ type, text }) => (type === 'text' ? [stringOf(text)] : []))
    .join('');
}
