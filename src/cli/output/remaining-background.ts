/** What happens to background commands that run when this process ends; undefined without any. */
export function remainingBackground(
  count: number,
  survivesExit: boolean,
  session: string,
): string | undefined {
  if (count === 0) return undefined;
  const [commands, s] = count === 1 ? ['1 background command', 's'] : [`${count} background commands`, ''];
  return survivesExit
    ? `${commands} continue${s}: /commands in polypod attach ${session} lists and ends them`
    : `${commands} end${s} with this process; a daemon keeps them running (polypod serve --detach)`;
}
