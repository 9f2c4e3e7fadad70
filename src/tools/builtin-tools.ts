import { bash } from './bash.ts';
import { bashKill } from './bash-kill.ts';
import { bashOutput } from './bash-output.ts';
import { edit } from './edit.ts';
import { find } from './find.ts';
import { grep } from './grep.ts';
import { ls } from './ls.ts';
import { read } from './read.ts';
import type { Tool } from './tool.ts';
import { write } from './write.ts';

/** The tools that every agent has. The todo list is separate, because it has state. */
export const builtinTools: readonly Tool[] = [read, write, edit, bash, bashOutput, bashKill, grep, find, ls];
