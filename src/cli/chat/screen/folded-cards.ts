import type { Card } from '../view/card.ts';
import { type CardStyle, cardLines, isFolded } from './cards.ts';
import type { Line } from '../../../terminal/index.ts';

const MOST = 50;

/** The cards that were printed folded. Each key press prints the next older one in full. */
export class FoldedCards {
  #cards: Card[] = [];
  #next = 0;

  /** Returns the folded lines of a card. */
  print(card: Card, style: Omit<CardStyle, 'expanded'>): Line[] {
    if (isFolded(card, { ...style, expanded: false })) {
      this.#cards = [...this.#cards, card].slice(-MOST);
      this.#next = this.#cards.length - 1;
    }
    return cardLines(card, { ...style, expanded: false });
  }

  /** Returns the newest card that was not expanded yet, in full; undefined if there is none. */
  expand(style: Omit<CardStyle, 'expanded'>): Line[] | undefined {
    const card = this.#cards[this.#next];
    if (card === undefined) return undefined;
    this.#next -= 1;
    return cardLines(card, { ...style, expanded: true });
  }
}
