/** What knows nothing of agents: errors, loose and strict reading of JSON, redaction. */
export { type AgentCommand, agentCommands, CALL_MARK } from './agent-commands.ts';
export { derivedAbort, onAbort } from './abort.ts';
export { beginningOf } from './beginning.ts';
export { errorText } from './error-text.ts';
export { asPolypodError, type ErrorCode, messageOf, PolypodError, systemCodeOf } from './errors.ts';
export {
  arrayOf,
  frameIn,
  isObject,
  type JsonObject,
  numberOf,
  objectIn,
  objectOf,
  parseJson,
  type ReadMessage,
  readMessage,
  stringOf,
  tooDeep,
  tryParse,
} from './json.ts';
export { isDeeperThan, isValueDeeperThan, MESSAGE_DEPTH } from './json-depth.ts';
export { type Log, type LogEntry, type LogLevel, type LogSink, LOG_LEVELS, logTo } from './log.ts';
export { nearest } from './nearest.ts';
export { isOneLine } from './one-line.ts';
export { isReaderTooSlow, ReaderTooSlow } from './reader-too-slow.ts';
export { REDACTED, type Redact, redactor } from './redact.ts';
export { type Env, type EnvRule, isSecretName, isSecretVariable, safeEnv } from './safe-env.ts';
export { schemaProblems } from './schema-problems.ts';
export { settlesWithin } from './settles-within.ts';
export { uuidv7, uuidv7Time } from './uuid.ts';
import * as shape from './shape.ts';
export { shape };
export { explainStartFailure, type StartFailure, unsearchedText } from './start-failure.ts';
export { userName } from './user-name.ts';
export { WrongState } from './wrong-state.ts';
