import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import type { AgentMessage } from '../session/index.ts';

/** The text of a message, without images and calls. */
export function messageText({ content }: AgentMessage): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map(objectOf)
    .flatMap(({ type, text }) => (type === 'text' ? [stringOf(text)] : []))
    .join('');
}
