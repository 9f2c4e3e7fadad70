/** The commands of the `polypod` program. */
export { COMMANDS } from './commands.ts';
