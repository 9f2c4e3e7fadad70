/** Elements without text for a reader. */
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'title']);
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody tfoot thead tr ul title'.split(
    ' ',
  ),
);
const MARKS: Readonly<Record<string, string>> = {
  h1: '# ',
  h2: '## ',
  h3: '### ',
  h4: '#### ',
  h5: '##### ',
  h6: '###### ',
  li: '- ',
  td: ' | ',
  th: ' | ',
};
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '—',
  ndash: '–',
  hellip: '…',
  copy: '©',
};

/** The text of an HTML page, one block per line. It takes time in proportion to the length of the page. */
export function htmlText(html: string): string {
  // Only ASCII, because other letters can have another length in lower case.
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const pieces: string[] = [];
  const title = between(html, lower, '<title', '</title');
  if (title !== '') pieces.push(title, '\n');
  let isPreformatted = false;
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    const text = html.slice(at, open === -1 ? html.length : open);
    pieces.push(isPreformatted ? text.replace(/[ \t]/g, (blank) => KEPT[blank] ?? blank) : text);
    if (open === -1) break;
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4);
      continue;
    }
    const [, slash = '', name = ''] = TAG.exec(lower.slice(open, open + 40)) ?? [];
    if (name === '') {
      // A comparison such as a < b, or a declaration.
      if (!/[!?/]/.test(lower[open + 1] ?? '')) pieces.push('<');
      at = /[!?/]/.test(lower[open + 1] ?? '') ? after(html, '>', open) : open + 1;
      continue;
    }
    if (BLOCKS.has(name)) pieces.push('\n');
    if (name === 'pre') isPreformatted = slash === '';
    if (slash === '') pieces.push(MARKS[name] ?? '');
    at = after(html, '>', open);
    if (slash === '' && SKIPPED.has(name)) at = after(html, '>', indexOrEnd(lower, `</${name}`, at));
  }
  return decodeEntities(pieces.join(''))
    .split('\n')
    .map((line) => line.replace(/[^\S\n]+/g, ' ').trim())
    .filter((line, index, lines) => line !== '' || (lines[index - 1] ?? '') !== '')
    .join('\n')
    .trim()
    .replace(/[\uE000\uE001]/g, (kept) => (kept === KEPT['\t'] ? '\t' : ' '));
}

/** Characters for private use that replace the blanks of preformatted text, where an indentation has a meaning. */
const KEPT: Readonly<Record<string, string>> = { ' ': '\uE000', '\t': '\uE001' };

const TAG = /^<(\/?)([a-z][a-z\d]*)/;

function between(html: string, lower: string, start: string, end: string): string {
  const open = lower.indexOf(start);
  if (open === -1) return '';
  const from = after(html, '>', open);
  return html.slice(from, indexOrEnd(lower, end, from));
}

function after(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found + mark.length;
}

function indexOrEnd(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found;
}

function decodeEntities(text: string): string {
  return text.replace(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
