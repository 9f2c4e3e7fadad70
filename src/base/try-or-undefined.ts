/** Returns the result of a function; undefined if it throws. For facts that may be missing, and clean-up that may fail. */
export function tryOrUndefined<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
