import type { Wish } from '../arguments.ts';
import type { Seat } from '../seat.ts';

/**
 * What a command does. It answers with the data of its response; one that has to answer before it is done calls `answer`,
 * and what it throws after that is told as a second response.
 */
export type Command = (wish: Wish, seat: Seat, answer: (data?: unknown) => void) => Promise<unknown>;
