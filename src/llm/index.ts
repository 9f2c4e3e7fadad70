/** Sends a request to a model and returns a flat, balanced stream of events, the same for every provider. */
export {
  type Account,
  bearer,
  type KeySupply,
  type ModelSettings,
  type OpenSigner,
  type RequestSigner,
  settingsFor,
  withCurrentKey,
  withQuery,
} from './account.ts';
export { createKeyCache, type ExpiringKey, usedUntil } from './expiring-key.ts';
export { AnswerItems } from './answer-items.ts';
export {
  accountProblem,
  type AwsAccountSettings,
  isAwsRegion,
  usableAccounts,
  type ChosenModel,
  chooseModel,
  type ModelChoiceInput,
  type ConfiguredAccount,
  type Cost,
  costOf,
  describeGoogleCredentials,
  type Environment,
  GOOGLE_LOCATION,
  GOOGLE_PROJECT,
  httpUrl,
  type InputKind,
  type KeyCommand,
  type KeySource,
  type ListedAccount,
  listedAccounts,
  mergeModels,
  type Model,
  MODEL_TABLE,
  type ModelEntry,
  ollamaAccount,
  parseModels,
  parseModelsDev,
  type Price,
  type Rates,
  modelReference,
  resolveModel,
  type Tier,
  type ValueSource,
  type Vendor,
  findVendor,
  VENDORS,
  type ProviderApi,
  PROVIDER_APIS,
} from './catalogue/index.ts';
export { type ConnectOptions, connect, type Llm } from './connect.ts';
export { type AnswerDecoder, answerDecoder } from './decoder.ts';
export type {
  BlockAbort,
  BlockDelta,
  BlockEvent,
  BlockHead,
  BlockStart,
  BlockStop,
  BlockType,
  DeltaContent,
  ErrorEvent,
  Failure,
  FailureKind,
  LlmEvent,
  MetaEvent,
  PingEvent,
  Seal,
  StatusEvent,
  StopReason,
  Trace,
  Usage,
  UsageEvent,
} from './event.ts';
export type { Endpoint, Framing, Provider, ThinkingMode } from './provider.ts';
export { type RecordingDecoder, recordingDecoder } from './recording.ts';
export {
  type CacheMarkers,
  type Content,
  type Item,
  type ItemOf,
  type LlmRequest,
  THINKING_LEVELS,
  type ThinkingLevel,
  type ToolChoice,
  type ToolSpec,
  textContent,
  contentText,
} from './request.ts';
export { failureFromBody } from './failure.ts';
export { type Attempt, DEFAULT_RETRY, isTransient, type RetryPolicy, retryDelay } from './retry.ts';
export type { Timeouts } from './timeouts.ts';
export { parseArguments } from './tool-arguments.ts';
export { type Shortfall, SHORTFALL_REASONS, shortfallOf } from './shortfall.ts';
