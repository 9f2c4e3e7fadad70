/** A short name of a call for confirmations: `bash npm test`. */
export function callName({ tool, title }: { readonly tool: string; readonly title: string }): string {
  return title === tool || title.startsWith(`${tool} `) ? title : `${tool} ${title}`;
}
