import { atMost, below } from '../report.mjs';
import { candidatesFor, COMPARED, TOOL_COUNTS } from './plan.mjs';

const LINEAR = 1.05;
const TOOL_US_PER_PIECE = 15;

/** The bars of the decode benchmark for a plan. */
export function decodeBars(figures, { wires, toolWires, counts }) {
  return [
    ...wires.flatMap((wire) => textBars(figures, wire, counts)),
    ...toolWires.flatMap((wire) => toolBars(figures, wire)),
  ];
}

function textBars(figures, wire, counts) {
  const at = (candidate) => ({ candidate, wire, work: 'text', count: COMPARED });
  const compared = candidatesFor(wire)
    .filter((candidate) => candidate !== 'polypod')
    .map((candidate) => COMPARISONS[candidate](wire, figures.ratio(at('polypod'), at(candidate))));
  return [...compared, atMost(`${wire} growth exponent`, figures.growth(at('polypod'), counts), LINEAR)];
}

const COMPARISONS = {
  floor: (wire, ratio) => atMost(`${wire} x floor`, ratio, 3),
  'official SDK': (wire, ratio) => below(`${wire} / official SDK`, ratio, 1),
  'pi-ai': (wire, ratio) => atMost(`${wire} / pi-ai`, ratio, 0.5),
  'AI SDK': (wire, ratio) => atMost(`${wire} / AI SDK`, ratio, 0.1),
};

function toolBars(figures, wire) {
  const point = { candidate: 'polypod', wire, work: 'tool' };
  const perPiece = TOOL_COUNTS.map((count) => figures.perDelta({ ...point, count }));
  return [
    atMost(`${wire} tool arguments growth exponent`, figures.growth(point, TOOL_COUNTS), LINEAR),
    atMost(`${wire} tool arguments µs per piece`, Math.max(...perPiece), TOOL_US_PER_PIECE),
  ];
}
