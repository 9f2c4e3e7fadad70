/** Arguments to one call: the commands of the `polypod` program. */
export { COMMANDS } from './commands.ts';
