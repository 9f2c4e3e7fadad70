import { anyGlobExpression } from './glob.ts';
import { plainPath } from './secret-files.ts';

/**
 * Files that make another program run something later, outside of any question and any sandbox: git its hooks and what
 * its configuration names, a shell what it reads when it starts, an editor its tasks. Kept small on purpose: scripts of
 * the project itself (package.json, Makefile, workflows) are what an agent is there to edit, and people review them.
 */
const STARTUP = [
  '.git/**',
  '.gitconfig',
  '.config/git/**',
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.inputrc',
  '.config/fish/**',
  '.envrc',
  '.vscode/**',
];

const startup = anyGlobExpression(STARTUP);

/** Whether a write would decide what another program runs later. */
export function isStartupFile(path: string): boolean {
  return startup.test(plainPath(path));
}
