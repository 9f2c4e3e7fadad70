/** One input of the user, by kind. */
export type Input =
  | { readonly type: 'prompt'; readonly text: string }
  | { readonly type: 'slash'; readonly name: string; readonly rest: string }
  /** A shell command of the user; the model does not receive the output of a private one. */
  | { readonly type: 'shell'; readonly command: string; readonly isPrivate: boolean };

/** Parses `/name rest`, `!command`, `!!private command`, or a prompt. A path such as `/etc/hosts` is a prompt. */
export function inputIn(text: string): Input {
  const [, name, rest = ''] = /^\/([a-z][\w-]*)(?:\s+([^]*))?$/.exec(text.trim()) ?? [];
  if (name !== undefined) return { type: 'slash', name, rest: rest.trim() };
  const [, marks = '', command = ''] = /^(!!?)\s*([^]*)$/.exec(text.trim()) ?? [];
  if (command !== '') return { type: 'shell', command, isPrivate: marks === '!!' };
  return { type: 'prompt', text };
}
