/** A word as the shell passes it to a program. */
export interface Word {
  readonly text: string;
  /** The positions of wildcards `*` and `?` in the text. */
  readonly wild: readonly number[];
  /** How many leading characters were written without quotes or backslashes. */
  readonly bare: number;
  /** Whether any part was quoted, even an empty one: `!""` is not `!`. */
  readonly quoted: boolean;
  /**
   * Set if the text is not what the program gets: `number` for `$?` and `"$PWD"`, which are one harmless word,
   * `unknown` for all other expansions.
   */
  readonly vague: 'number' | 'unknown' | undefined;
}

export type Token =
  | { readonly type: 'word'; readonly word: Word }
  | { readonly type: 'operator'; readonly operator: Operator }
  | { readonly type: 'redirection'; readonly operator: Redirector; readonly body?: string };

export type Operator = ';' | '&' | '&&' | '||' | '|' | '|&' | '(' | ')' | 'newline';
export type Redirector = '<' | '<>' | '<&' | '>' | '>>' | '>|' | '>&' | '&>' | '&>>' | '<<' | '<<-' | '<<<';

/** A command line that was not fully parsed, and why. Nothing may be concluded from it. */
export interface Opaque {
  readonly opaque: string;
}

/**
 * Splits a command line like bash. Whatever may be read differently by bash makes the whole line opaque: a
 * lexer that guesses is worse than none.
 */
export function lex(text: string): readonly Token[] | Opaque {
  if (UNSEEN.test(text)) return { opaque: 'it contains control characters or invisible characters' };
  const reader = new Reader(text);
  while (reader.trouble === undefined && !reader.atEnd()) reader.step();
  reader.finish();
  return reader.trouble === undefined ? reader.tokens : { opaque: reader.trouble };
}

/** Bash does not treat these as blanks, but other programs and people may. */
const UNSEEN = /[^\P{Cc}\t\n]|\p{Cf}|[^\P{Zs} ]|\p{Zl}|\p{Zp}|\p{Cs}/u;

/** Longest first: the shell matches the longest operator. */
const OPERATORS: readonly (Operator | Redirector)[] = [
  '<<<',
  '<<-',
  '&>>',
  '<<',
  '<>',
  '<&',
  '>>',
  '>&',
  '>|',
  '&>',
  '&&',
  '||',
  '|&',
  ';',
  '&',
  '|',
  '(',
  ')',
  '<',
  '>',
];

/** Longer than an operator above and different: the parts of `case`, process substitution, arithmetic. */
const BEYOND = [';;', ';&', '<(', '>(', '(('];

const META = new Set([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')', '']);

interface Heredoc {
  readonly strips: boolean;
  readonly index: number;
  readonly end: Word;
}

class Reader {
  readonly tokens: Token[] = [];
  trouble: string | undefined;
  readonly #text: string;
  #at = 0;
  /** Heredocs whose bodies start after this line. */
  #awaited: Heredoc[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads one token, or one separator. */
  step(): void {
    const char = this.#peek();
    if (char === ' ' || char === '\t') this.#at += 1;
    else if (char === '\n') this.#newline();
    else if (char === '#') this.#skipComment();
    else if (char === '\\' && this.#peek(1) === '\n') this.#continueLine();
    else if (META.has(char)) this.#operator();
    else this.#word();
  }

  finish(): void {
    if (this.#awaited.length > 0) this.#refuse('a heredoc has no end');
  }

  #peek(ahead = 0): string {
    return this.#text.charAt(this.#at + ahead);
  }

  #refuse(reason: string): void {
    this.trouble ??= reason;
    this.#at = this.#text.length;
  }

  #newline(): void {
    this.#at += 1;
    this.tokens.push({ type: 'operator', operator: 'newline' });
    for (const heredoc of this.#awaited.splice(0)) this.#body(heredoc);
  }

  #skipComment(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  /** Between blanks a line continuation is nothing; elsewhere it joins both sides. */
  #continueLine(): void {
    const before = this.#text.charAt(this.#at - 1);
    if (before !== ' ' && before !== '\t') return this.#refuse('a line is continued inside a word');
    this.#at += 2;
  }

  #operator(): void {
    const startsHere = (candidate: string) => this.#text.startsWith(candidate, this.#at);
    const operator = OPERATORS.find(startsHere);
    if (operator === undefined || BEYOND.some(startsHere))
      return this.#refuse(`it uses ${this.#text.slice(this.#at, this.#at + 2)}`);
    this.#at += operator.length;
    if (isRedirector(operator)) this.tokens.push({ type: 'redirection', operator });
    else this.tokens.push({ type: 'operator', operator });
  }

  #word(): void {
    const writer = new WordWriter();
    while (this.trouble === undefined && !META.has(this.#peek())) this.#piece(writer);
    if (this.trouble !== undefined) return;
    const word = writer.word();
    const next = this.#peek();
    const isGlued = (next === '<' || next === '>') && !word.quoted;
    // `2>file` names a descriptor, which does not matter here; `{name}>file` would set a variable.
    if (isGlued && /^\d+$/.test(word.text)) return;
    if (isGlued && /^\{\w+\}$/.test(word.text)) return this.#refuse('it names a file descriptor');
    this.#expectHeredoc(word);
    this.tokens.push({ type: 'word', word });
  }

  #expectHeredoc(end: Word): void {
    const index = this.tokens.length - 1;
    const last = this.tokens[index];
    if (last?.type !== 'redirection' || (last.operator !== '<<' && last.operator !== '<<-')) return;
    if (end.vague !== undefined || end.text.includes('\n'))
      return this.#refuse('the end of a heredoc is unknown');
    this.#awaited.push({ strips: last.operator === '<<-', index, end });
  }

  #piece(writer: WordWriter): void {
    const char = this.#peek();
    if (char === "'") return this.#singleQuotes(writer);
    if (char === '"') return this.#doubleQuotes(writer);
    if (char === '\\') return this.#escape(writer);
    if (char === '$') return this.#dollar(writer, false);
    if (char === '`') return this.#refuse('it substitutes a command');
    this.#at += 1;
    writer.bare(char);
  }

  #singleQuotes(writer: WordWriter): void {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end === -1) return this.#refuse('a quote is not closed');
    writer.quoted(this.#text.slice(this.#at + 1, end));
    this.#at = end + 1;
  }

  #doubleQuotes(writer: WordWriter): void {
    writer.quoted('');
    this.#at += 1;
    while (this.#peek() !== '"') {
      const char = this.#peek();
      if (char === '') return this.#refuse('a quote is not closed');
      if (char === '`') return this.#refuse('it substitutes a command');
      if (char === '$') this.#dollar(writer, true);
      else if (char === '\\') this.#escapeInQuotes(writer);
      else {
        writer.quoted(char);
        this.#at += 1;
      }
    }
    this.#at += 1;
  }

  #escape(writer: WordWriter): void {
    const next = this.#peek(1);
    if (next === '') return this.#refuse('it ends in a backslash');
    if (next === '\n') return this.#refuse('a line is continued inside a word');
    writer.quoted(next);
    this.#at += 2;
  }

  #escapeInQuotes(writer: WordWriter): void {
    const next = this.#peek(1);
    if (next !== '\n') writer.quoted('$`"\\'.includes(next) && next !== '' ? next : `\\${next}`);
    this.#at += next === '' ? 1 : 2;
  }

  #dollar(writer: WordWriter, inQuotes: boolean): void {
    const next = this.#peek(1);
    if ('({['.includes(next) && next !== '') return this.#refuse('it substitutes a command or expression');
    if (!inQuotes && (next === "'" || next === '"')) return this.#refuse("it uses $'…'");
    const [name] = /^(?:[A-Za-z_]\w*|[0-9?@*#$!-])/.exec(this.#text.slice(this.#at + 1, this.#at + 200)) ?? [
      '',
    ];
    this.#at += 1 + name.length;
    if (name !== '') writer.variable(name, inQuotes);
    else if (inQuotes) writer.quoted('$');
    else writer.bare('$');
  }

  #body({ strips, index, end }: Heredoc): void {
    const lines: string[] = [];
    for (;;) {
      if (this.atEnd()) return this.#refuse('a heredoc has no end');
      const stop = this.#text.indexOf('\n', this.#at);
      const line = this.#text.slice(this.#at, stop === -1 ? undefined : stop);
      this.#at = stop === -1 ? this.#text.length : stop + 1;
      const shown = strips ? line.replace(/^\t+/, '') : line;
      if (shown === end.text) break;
      lines.push(shown);
    }
    const body = lines.join('\n');
    const isLiteral = end.quoted;
    // A backslash may also join the line with the end of the heredoc, which is then none.
    if (!isLiteral && /[$`\\]/.test(body)) return this.#refuse('a heredoc is expanded');
    const start = this.tokens[index];
    if (start?.type === 'redirection') this.tokens[index] = { ...start, body };
  }
}

function isRedirector(operator: Operator | Redirector): operator is Redirector {
  return operator.includes('<') || operator.includes('>');
}

class WordWriter {
  #text = '';
  #bare: number | undefined;
  #vague: Word['vague'];
  #bracket = false;
  #brace = false;
  #last = '';
  readonly #wild: number[] = [];

  bare(char: string): void {
    if (char === '*' || char === '?') this.#wild.push(this.#text.length);
    this.#detectExpansion(char);
    this.#text += char;
    this.#last = char;
  }

  quoted(text: string): void {
    this.#bare ??= this.#text.length;
    this.#text += text;
    this.#last = '';
  }

  variable(name: string, inQuotes: boolean): void {
    this.#bare ??= this.#text.length;
    if (name === '?' || (name === 'PWD' && inQuotes)) this.#vague ??= 'number';
    else this.#vague = 'unknown';
    this.#text += `$${name}`;
    this.#last = '';
  }

  word(): Word {
    return {
      text: this.#text,
      wild: this.#wild,
      bare: this.#bare ?? this.#text.length,
      quoted: this.#bare !== undefined,
      vague: this.#vague,
    };
  }

  /** Character classes, braces and home directories: rare enough to be only detected, not understood. */
  #detectExpansion(char: string): void {
    if (char === '[') this.#bracket = true;
    if (char === '{') this.#brace = true;
    const isHome = char === '~' && (this.#text === '' || this.#last === '=' || this.#last === ':');
    const isClass = char === ']' && this.#bracket;
    const isBraces = this.#brace && (char === ',' || (char === '.' && this.#last === '.'));
    if (isHome || isClass || isBraces) this.#vague = 'unknown';
  }
}
