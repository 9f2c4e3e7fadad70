/** The words of a text in which the shell's own signs are only separators. */
export function looseWords(text: string): readonly string[] {
  return text
    .replaceAll(/\\\n|["'\\]/g, '')
    .replaceAll(/\$\{?IFS\}?/g, ' ')
    .split(/[\s;|&()<>`{}$=]+/)
    .filter((word) => word !== '');
}
