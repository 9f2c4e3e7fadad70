/** More than any error of ours needs; what is longer quotes the client or the model. */
const LONGEST = 8_000;

/** An error's message as it is sent to a client. A message must not come back many times as long as what caused it. */
export function errorText(message: string): string {
  if (message.length <= LONGEST) return message;
  const left = message.length - LONGEST;
  return `${message.slice(0, LONGEST).replace(LONE_HALF, '')}… (${left} more characters)`;
}

/** The first half of a character whose second half was cut off. */
const LONE_HALF = /[\ud800-\udbff]$/;
