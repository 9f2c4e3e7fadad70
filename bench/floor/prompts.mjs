const DEFAULTS = { work: 'text', size: 20, batch: 16, delayMs: 0 };

/** A prompt that makes the provider answer with `count` deltas of `size` characters, `batch` of them per write. */
export function promptFor(asked) {
  return `go ${JSON.stringify({ ...DEFAULTS, ...asked })}`;
}

export function askedIn(prompt) {
  return JSON.parse(prompt.slice(prompt.indexOf('{')));
}
