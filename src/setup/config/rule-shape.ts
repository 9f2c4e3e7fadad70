import { RULE_ACTIONS } from '../../tools/index.ts';
import { shape } from '../../base/index.ts';

const { choice, fields, boolean, text } = shape;

/** A permission rule, in the configuration and in the file of saved rules. */
export const RULE = fields(
  { action: choice(RULE_ACTIONS) },
  {
    tool: text("a pattern for a tool's name"),
    command: text('the first words of a command'),
    exact: boolean,
    path: text('a pattern for a path'),
  },
);
