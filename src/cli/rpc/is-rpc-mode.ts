/** Whether the command line selects rpc mode: options in any order, but no command before them. */
export function isRpcMode(argv: readonly string[]): boolean {
  if (argv[0]?.startsWith('-') !== true) return false;
  return argv.some((word, at) => word === '--mode=rpc' || (word === '--mode' && argv[at + 1] === 'rpc'));
}
