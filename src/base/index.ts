/** Code that knows nothing about agents: errors, lenient and strict JSON parsing, redaction, logging. */
export { type AgentCommand, agentCommands, CALL_MARK_VARIABLE } from './agent-commands.ts';
export { derivedAbort, onAbort, unlessAborted } from './abort.ts';
export { ellipsize, truncateText } from './text/truncate-text.ts';
export { truncateErrorMessage } from './text/truncate-error-message.ts';
export {
  asPolypodError,
  type ErrorCode,
  isCertificateError,
  messageOf,
  PolypodError,
  systemCodeOf,
  withTrustHint,
  isUnusableAccount,
  unusableAccount,
} from './errors.ts';
export {
  arrayOf,
  parseFrame,
  isObject,
  type JsonObject,
  numberOf,
  parseObject,
  objectOf,
  parseJson,
  type ReadMessage,
  readMessage,
  stringOf,
  tooDeepMessage,
  tryParse,
} from './json.ts';
export { isDeeperThan, isValueDeeperThan, MESSAGE_DEPTH } from './json-depth.ts';
export { expandBraces, MAX_ALTERNATIVES } from './glob/braces.ts';
export {
  compileNameGlob,
  compilePathGlob,
  compileWildcards,
  escapeGlob,
  type PathMatcher,
  type TextMatcher,
} from './glob/glob.ts';
export { lastResult } from './last-result.ts';
export { type Log, type LogEntry, type LogLevel, type LogSink, LOG_LEVELS, createLog } from './log.ts';
export { nearestMatch } from './text/nearest-match.ts';
export { isPartOfId } from './part-of-id.ts';
export { promptTitle, writtenTitle } from './text/title.ts';
export { isPrintableLine } from './text/printable-line.ts';
export {
  cacheDirectoryFrom,
  DAEMON_SOCKET,
  dataDirectoryFrom,
  homeFrom,
  socketDirectory,
} from './socket-directory.ts';
export { isReaderTooSlow, ReaderTooSlowError } from './reader-too-slow-error.ts';
export { REDACTED, type Redact, redactor } from './redact.ts';
export { type Env, type EnvRule, isSecretName, isSecretVariable, safeEnv } from './safe-env.ts';
export { fieldProblems, type FieldProblem, type ValidationError } from './json-schema/problem-text.ts';
export { schemaError, schemaProblems, validateValue } from './json-schema/schema-problems.ts';
export { settlesWithin } from './settles-within.ts';
export { randomDigits, uuidv7, uuidv7Time } from './uuid.ts';
import * as shape from './shape.ts';
export { shape };
export { explainStartFailure, type StartFailure, unreadablePathNote } from './start-failure.ts';
export { userName } from './user-name.ts';
export { WrongStateError } from './wrong-state-error.ts';
export { namesIn } from './names-in.ts';
export { tryOrUndefined } from './try-or-undefined.ts';
export { withoutUndefined } from './without-undefined.ts';
