import { RULE_ACTIONS } from '../../tools/index.ts';
import { shape } from '../../base/index.ts';

const { choice, fields, boolean, text } = shape;

const isHostPattern = (name: string): boolean => /^(?:\*\.)?[\w.:-]+$/.test(name);

/** A permission rule, in the configuration and in the file of saved rules. */
export const RULE = fields(
  { action: choice(RULE_ACTIONS) },
  {
    tool: text("a pattern for a tool's name"),
    command: text('the first words of a command'),
    exact: boolean,
    path: text('a pattern for a path'),
    host: text('a host name such as docs.example.com or *.example.com', isHostPattern),
  },
);
