/** Computes a value once per object: all readers of a session get the same lists. */
export function oncePer<K extends object, V extends {}>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
