/** A call in a few words, as a confirmation names it: `bash npm test`. */
export function callName({ tool, title }: { readonly tool: string; readonly title: string }): string {
  return title === tool || title.startsWith(`${tool} `) ? title : `${tool} ${title}`;
}
