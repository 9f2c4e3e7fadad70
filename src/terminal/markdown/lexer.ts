import {
  Hooks,
  Lexer,
  type MarkedOptions,
  type MarkedToken,
  type Token,
  Tokenizer,
  type Tokens,
  type TokensList,
} from 'marked';
import { IDEOGRAPHIC } from '../wrap.ts';
import { indentItems } from './item-indent.ts';

/** Returns the block tokens of a sanitized text. Their inline tokens are not lexed: see `lexInline`. */
export function lexBlocks(source: string): Token[] {
  return new BoundedLexer(OPTIONS).blockTokens(source, []);
}

/** Returns the inline tokens of a text; a text that would take too long is one token. */
export function lexInline(text: string): Token[] {
  const isPlain = !SPECIAL.test(text) || (text.match(MARKUP)?.length ?? 0) > MAX_MARKUP;
  return isPlain ? [plainToken(text)] : new BoundedLexer(OPTIONS).inlineTokens(text, []);
}

/** Returns the tokens with their types. */
export function ownTokens(tokens: readonly Token[]): readonly MarkedToken[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only extensions of marked, which we have none of, add other types
  return tokens as readonly MarkedToken[];
}

/** The deepest nesting of blocks. */
export const MAX_DEPTH = 10;
/** The deepest nesting of emphasis and links. */
const MAX_INLINE_DEPTH = 6;
/** marked lexes the lines of nested quotes again at each level if the last of them has no `>`. */
const MAX_CALLS = 250;
const SPECIAL = /[\\`*_~[!<\n]|https?:|www\./i;
/** marked searches the rest of the text at each of these characters, so their number is limited. */
const MARKUP = /[\\`*_~[<!]/g;
const MAX_MARKUP = 400;

/** Limits depth and work: the text comes from a model, and marked has no limits. */
class BoundedLexer extends Lexer {
  #depth = 0;
  #calls = 0;

  override blockTokens(source: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(source: string, tokens?: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): Token[] {
    this.#calls += 1;
    if (this.#depth >= MAX_DEPTH || this.#calls > MAX_CALLS) {
      if (source.trim() !== '') tokens.push(plainToken(source));
      return tokens;
    }
    return this.#deeper(() => super.blockTokens(indentItems(source), tokens, isClipped));
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (this.#depth < MAX_INLINE_DEPTH) return this.#deeper(() => super.inlineTokens(source, tokens));
    tokens.push(plainToken(source));
    return tokens;
  }

  #deeper(lex: () => Token[]): Token[] {
    this.#depth += 1;
    try {
      return lex();
    } finally {
      this.#depth -= 1;
    }
  }
}

function plainToken(text: string): Tokens.Text {
  return { type: 'text', raw: text, text };
}

/** marked's grammar without HTML, reference links and e-mail addresses, and with emphasis in Chinese and Japanese. */
class ChatTokenizer extends Tokenizer {
  override html(): undefined {
    return undefined;
  }

  /** A definition usually follows its references, whose lines are already finished. */
  override def(): undefined {
    return undefined;
  }

  override reflink(): undefined {
    return undefined;
  }

  /** Limits the cells: a row of two characters has as many cells as the header. */
  override table(source: string): Tokens.Table | undefined {
    const [, header] = TABLE_START.exec(source) ?? [];
    if (header === undefined) return undefined;
    const columns = header.split('|').length;
    return columns > MAX_COLUMNS
      ? undefined
      : super.table(firstLines(source, Math.floor(MAX_CELLS / columns) + 2));
  }

  override tag(source: string): Tokens.Tag | undefined {
    const [raw] = BREAK.exec(source) ?? [];
    return raw === undefined
      ? undefined
      : { type: 'html', raw, text: raw, inLink: false, inRawBlock: false, block: false };
  }

  /** CommonMark's rules for punctuation assume spaces between words: `これは**「強調」**です` is emphasis too. */
  override emStrong(source: string, masked: string, previous = ''): Tokens.Em | Tokens.Strong | undefined {
    return super.emStrong(source, masked, IDEOGRAPHIC.test(previous) ? '' : previous);
  }

  override del(source: string, masked: string, previous = ''): Tokens.Del | undefined {
    return super.del(source, masked, IDEOGRAPHIC.test(previous) ? '' : previous);
  }

  /** An address also ends at Japanese punctuation. */
  override url(source: string): Tokens.Link | undefined {
    const [address] = ADDRESS.exec(source.slice(0, MAX_ADDRESS)) ?? [];
    return address === undefined ? undefined : super.url(address);
  }

  /** marked's own rule searches for an e-mail address at each character. */
  override inlineText(source: string): Tokens.Text | undefined {
    const [text] = TEXT.exec(source) ?? [];
    return text === undefined ? undefined : plainToken(text);
  }
}

class ChatHooks extends Hooks {
  /** Lets emphasis end between punctuation and a letter without a space: `**「強調」**の`. */
  override emStrongMask(masked: string): string {
    return masked.replace(BEFORE_CLOSING, (character) => 'a'.repeat(character.length));
  }
}

const TABLE_START = /^([^\n]+)\n *[|:-][ |:-]*(?:\n|$)/;
const MAX_COLUMNS = 64;
export const MAX_CELLS = 1000;
const BREAK = /^<br ?\/?>/i;
const BEFORE_CLOSING = new RegExp(`(?![*_~])[\\p{P}\\p{S}](?=(?:\\*+|~~?)${IDEOGRAPHIC.source})`, 'gu');
const ADDRESS = /^(?:https?:\/\/|www\.)[^\s<>"`、。」）]+/i;
const MAX_ADDRESS = 2000;
/** At least one character or a run of markers, then everything that cannot start another token. */
const TEXT = /^(?:`+|~+|[^])(?:[^\\`*_~[!< \nhw]| (?! \n)|(?<=\w)[hw]|h(?!ttps?:)|w(?!ww\.))*/i;

const OPTIONS: MarkedOptions = { gfm: true, tokenizer: new ChatTokenizer(), hooks: new ChatHooks() };

function firstLines(text: string, count: number): string {
  return new RegExp(`^(?:[^\\n]*\\n){${count}}`).exec(text)?.[0] ?? text;
}
