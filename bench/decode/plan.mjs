import { TOOL_WIRE_NAMES, WIRE_NAMES } from './answers.mjs';
import { CANDIDATES } from './candidates.mjs';

/** The count at which candidates are compared. */
export const COMPARED = 20_000;
/** The peers are far from their bars and slow, so they need fewer rounds. */
const PEER_ROUNDS = 3;
export const TOOL_COUNTS = [500, 2000, 6000];

const FULL = { rounds: 5, counts: [2000, COMPARED, 100_000] };
const QUICK = { rounds: 2, counts: [2000, COMPARED] };

/** The points to measure: every candidate on every API, or on one, at every count. */
export function plan({ quick, only }) {
  const { rounds, counts } = quick ? QUICK : FULL;
  const chosen = (wires) => wires.filter((wire) => only === undefined || wire === only);
  return { rounds, counts, wires: chosen(WIRE_NAMES), toolWires: chosen(TOOL_WIRE_NAMES) };
}

/**
 * The points of one round in order. Points that a bar compares are adjacent, so that a slow phase of the machine affects both.
 * Points without a bar are measured in the first round only.
 */
export function* pointsOf({ counts, wires, toolWires }, round) {
  for (const wire of wires) {
    for (const count of counts) {
      for (const candidate of candidatesFor(wire)) {
        const point = { candidate, wire, work: 'text', count };
        if (skipped(point) === undefined && (round === 0 || carriesBar(point, round))) yield point;
      }
    }
  }
  for (const wire of toolWires) {
    for (const count of TOOL_COUNTS) yield { candidate: 'polypod', wire, work: 'tool', count };
  }
}

export function candidatesFor(wire) {
  return Object.keys(CANDIDATES).filter((candidate) => CANDIDATES[candidate].wires.includes(wire));
}

/** Why a point is skipped; undefined if it is not. */
export function skipped({ candidate, count }) {
  return candidate === 'AI SDK' && count > COMPARED
    ? `AI SDK at ${count} deltas is left out: some ten seconds for each answer, and no bar looks at it`
    : undefined;
}

function carriesBar({ candidate, count }, round) {
  if (candidate === 'polypod') return true;
  return count === COMPARED && (candidate === 'floor' || round < PEER_ROUNDS);
}
