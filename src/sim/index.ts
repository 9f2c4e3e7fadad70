/**
 * Scripted models that speak the providers' real protocols, with faults on demand.
 *
 *     const sim = await startSim({
 *       script: [
 *         { parts: [{ thinking: 'Hm.' }, { toolCall: { name: 'ls', arguments: { path: '.' } } }] },
 *         { parts: [{ text: 'Two files.' }], pace: { chunkSize: 4 }, fault: { kind: '429', times: 1 } },
 *       ],
 *     });
 *     // Use sim.url as the base URL of any Anthropic, Gemini or Ollama client, and `${sim.url}/v1` for OpenAI.
 *     await sim.close();
 *
 * A script is a list of answers, or a function that returns one for each request. Without a script the offline
 * model answers.
 * Any prompt can select its own answer, pace or fault: `[[sim deltas=2000 size=20 fault=cut after=100]]`.
 */
export type {
  SimAnswer,
  AnswerUsage,
  Pace,
  Part,
  RedactedPart,
  RefusalPart,
  ScriptedCall,
  Stop,
  TextPart,
  ThinkingPart,
  ToolCallPart,
} from './script/answer.ts';
export { generatedText, STOPS } from './script/answer.ts';
export type { LoopbackServer } from './loopback.ts';
export { DIRECTIVE_KEYS } from './script/directive-text.ts';
export { FAULT_KINDS, FAULTS, type Fault, type FaultKind, isFault } from './script/fault.ts';
export { offlineModel } from './script/offline-model.ts';
export type { SimCall, SimMessage, SimRequest, SimResult, SimTool, ProviderApiName } from './request.ts';
export { PROVIDER_APIS } from './request.ts';
export type { Script } from './script/script.ts';
export { SCRIPT_FILE, type ScriptFile } from './script/script-file.ts';
export { type ReceivedRequest, type Sim, type SimOptions, startSim } from './server.ts';
export { type RecordingTransport, type RecordOptions, recordingTransport } from './cassettes/record.ts';
export { type RecordingProxyOptions, startRecordingProxy } from './cassettes/recording-proxy.ts';
export { type ReplayOptions, replayTransport, type Timing } from './cassettes/replay.ts';
export { type ReplayServerOptions, startReplayServer } from './cassettes/replay-server.ts';
