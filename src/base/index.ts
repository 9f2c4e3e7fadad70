/** What knows nothing of agents: errors, loose JSON access, redaction. */
export { asPolypodError, type ErrorCode, messageOf, PolypodError, systemCodeOf } from './errors.ts';
export {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectIn,
  objectOf,
  stringOf,
  tryParse,
} from './json.ts';
export { REDACTED, type Redact, redactor } from './redact.ts';
