import { fitLine, type Line, MarkdownStream, span } from '../../../terminal/index.ts';
import { FoldedCards } from './folded-cards.ts';
import { messageLines, noticeLines } from './cards.ts';
import { questionLines } from './approval-lines.ts';
import type { Print } from '../view/print.ts';
import { questionAbout } from './question.ts';

export interface PresenterOptions {
  /** The current columns of the terminal. */
  readonly width: () => number;
  /** The key that expands a folded card; empty if there are no keys. */
  readonly key: string;
  /** Whether Markdown markers are shown, because there are no colours to replace them. */
  readonly marks: boolean;
}

/** Renders prints as lines. Tracks the width, the unfinished text, and the folded cards. */
export class Presenter {
  readonly #options: PresenterOptions;
  readonly #cards = new FoldedCards();
  #stream: MarkdownStream | undefined;
  #last: Print['type'] | undefined;

  constructor(options: PresenterOptions) {
    this.#options = options;
  }

  /** Returns the lines that these prints complete. */
  lines(prints: readonly Print[]): Line[] {
    return prints.flatMap((print) => this.#linesOf(print));
  }

  /** Returns the lines of the answer that can still change. */
  open(): Line[] {
    return this.#stream?.open() ?? [];
  }

  resized(): void {
    this.#stream?.resize(this.#options.width());
  }

  /** Returns the newest card that was not yet expanded. */
  expanded(): Line[] {
    return (
      this.#cards.expand(this.#cardStyle) ??
      noticeLines('nothing else is collapsed', 'quiet', this.#options.width())
    );
  }

  #linesOf(print: Print): Line[] {
    const width = this.#options.width();
    switch (print.type) {
      case 'text': {
        const gap = this.#gapBefore(print);
        this.#stream ??= new MarkdownStream({ width, base: {}, marks: this.#options.marks });
        return [...gap, ...this.#stream.push(print.text)];
      }
      case 'text-end':
        return this.#endText();
      case 'message': {
        const { text, from, images } = print;
        const who = from === undefined ? [] : noticeLines(`${from}:`, 'quiet', width);
        const pictures =
          images === 0
            ? []
            : noticeLines(`with ${images} ${images === 1 ? 'image' : 'images'}`, 'quiet', width);
        return this.#apart(print, [...who, ...messageLines(text, width), ...pictures]);
      }
      case 'card':
        return this.#apart(print, this.#cards.print(print.card, this.#cardStyle));
      case 'question':
        return this.#apart(print, questionLines(questionAbout(print.approval, print.number), width));
      case 'list':
        return this.#apart(
          print,
          print.rows.map((row) => fitLine([span(`  ${row}`)], width)),
        );
      case 'notice':
        return this.#apart(print, noticeLines(print.text, print.tone, width));
    }
  }

  get #cardStyle() {
    return { width: this.#options.width(), key: this.#options.key };
  }

  #apart(print: Print, lines: readonly Line[]): Line[] {
    const ended = this.#endText();
    return [...ended, ...this.#gapBefore(print), ...lines];
  }

  #endText(): Line[] {
    const lines = this.#stream?.end() ?? [];
    this.#stream = undefined;
    return lines;
  }

  /** An empty line between different kinds of prints; consecutive cards and notices are not separated. */
  #gapBefore({ type }: Print): Line[] {
    const last = this.#last;
    this.#last = type;
    if (last === undefined || (type === 'text' && last === 'text' && this.#stream !== undefined)) return [];
    const isSmall = (kind: Print['type']) => kind === 'card' || kind === 'notice';
    return isSmall(last) && isSmall(type) ? [] : [[]];
  }
}
