/** A keyboard input: text, a paste, or a key with its modifiers, such as `alt-enter` or `ctrl-w`. */
export type Key =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'paste'; readonly text: string }
  | { readonly type: 'chord'; readonly chord: string };

export function chord(name: string): Key {
  return { type: 'chord', chord: name };
}
