/** Replaces secrets in a text that goes to a log, an error, a metric or a cassette. */
export type Redact = (text: string) => string;

/**
 * Exact values first, because they are known and cannot be mistaken; then the shapes of the well-known keys,
 * as a second net for values that came from elsewhere (a provider that quotes a key back, for example).
 */
export function redactor(secrets: Iterable<string>): Redact {
  // Shorter values would hit ordinary words; longest first, so that a key containing another goes whole.
  const values = [...new Set(secrets)]
    .filter((value) => value.length >= 6)
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of values) clean = clean.replaceAll(value, REDACTED);
    return clean.replace(KEY_SHAPES, REDACTED);
  };
}

export const REDACTED = '[redacted]';

const KEY_SHAPES =
  /\b(?:sk-(?:ant-|or-|proj-)?[A-Za-z0-9_-]{16,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[A-Z0-9]{16}|ppk_[0-9a-z]{8,32}_[\w-]{20,}|ppt_[\w-]{20,})/g;
