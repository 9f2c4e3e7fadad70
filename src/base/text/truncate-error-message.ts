/** Our own messages are shorter; a longer one quotes input from the client or the model. */
const MAX_LENGTH = 8_000;

/** Limits an error message before it is sent to a client, so that a reply is not much longer than the request that caused it. */
export function truncateErrorMessage(message: string): string {
  if (message.length <= MAX_LENGTH) return message;
  const omitted = message.length - MAX_LENGTH;
  return `${message.slice(0, MAX_LENGTH).replace(LONE_SURROGATE, '')}… (${omitted} more characters)`;
}

/** A high surrogate whose low surrogate was cut off. */
const LONE_SURROGATE = /[\ud800-\udbff]$/;
