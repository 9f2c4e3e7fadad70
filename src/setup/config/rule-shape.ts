import { RULE_ACTIONS } from '../../tools/index.ts';
import { shape } from '../../base/index.ts';

const { choice, fields, flag, text } = shape;

/** A rule about calls, as people write it: in the configuration, and in the file of those that they made by an answer. */
export const RULE = fields(
  { action: choice(RULE_ACTIONS) },
  {
    tool: text("a pattern for a tool's name"),
    command: text('the first words of a command'),
    exact: flag,
    path: text('a pattern for a path'),
  },
);
