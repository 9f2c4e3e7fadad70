/**
 * Expands `a{b,c{d,e}}` to `ab`, `acd`, `ace`. Braces without a comma are literal. Returns undefined if there are too many
 * alternatives or they are too long.
 */
export function expandBraces(glob: string): readonly string[] | undefined {
  const expanded: string[] = [];
  let total = 0;
  for (const waiting = [glob]; waiting.length > 0; ) {
    const next = waiting.pop() ?? '';
    total += next.length;
    const [open, close] = innermostBraces(next) ?? [];
    if (open === undefined || close === undefined) expanded.push(next);
    else {
      const choices = next.slice(open + 1, close).split(',');
      for (const choice of choices.slice(0, MAX_ALTERNATIVES + 1))
        waiting.push(`${next.slice(0, open)}${choice}${next.slice(close + 1)}`);
    }
    if (expanded.length + waiting.length > MAX_ALTERNATIVES || total > MAX_TOTAL) return undefined;
  }
  return expanded;
}

/** Returns the positions of the first braces that contain a comma and no other braces. */
function innermostBraces(glob: string): readonly [number, number] | undefined {
  let open: number | undefined;
  let hasComma = false;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at];
    if (character === '\\') at += 1;
    else if (character === '{') [open, hasComma] = [at, false];
    else if (character === ',') hasComma = true;
    else if (character === '}' && open !== undefined) {
      if (hasComma) return [open, at];
      open = undefined;
    }
  }
  return undefined;
}

/** How many alternatives the braces of a glob may have. */
export const MAX_ALTERNATIVES = 200;
/** The lengths of all alternatives and the steps to them. */
const MAX_TOTAL = 200_000;
