/** Replaces secrets in a text that is written to a log, an error, a metric or a cassette. */
export type Redact = (text: string) => string;

/**
 * Creates a function that replaces these secrets, and then anything that looks like a well-known API key. The second step
 * covers keys that are not configured here, for example when a provider quotes a key back.
 */
export function redactor(secrets: Iterable<string>): Redact {
  // Shorter values would match ordinary words. Longest first, so that a key that contains another is replaced completely.
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
  /\b(?:sk-(?:ant-|or-|proj-)?[A-Za-z0-9_-]{16,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|A[KS]IA[A-Z0-9]{16}|ya29\.[\w-]{20,}|tvly-[\w-]{16,}|ppk_[0-9a-z]{8,32}_[\w-]{20,}|ppt_[\w-]{20,})/g;
