/**
 * Scripted models that speak the providers' real bytes; faults on demand.
 *
 *     const sim = await startSim({
 *       script: [
 *         { parts: [{ thinking: 'Hm.' }, { toolCall: { name: 'ls', arguments: { path: '.' } } }] },
 *         { parts: [{ text: 'Two files.' }], pace: { chunkSize: 4 }, fault: { kind: '429', times: 1 } },
 *       ],
 *     });
 *     // Point any client of Anthropic, OpenAI, Gemini or Ollama at sim.url (OpenAI's at `${sim.url}/v1`).
 *     await sim.close();
 *
 * A script is a list of answers, or a function from the request to one; without a script the offline model answers.
 * Any prompt may ask for its own answer, pace or fault: `[[sim deltas=2000 size=20 fault=cut after=100]]`.
 */
export type {
  Answer,
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
export type { SimCall, SimMessage, SimRequest, SimResult, SimTool, WireName } from './request.ts';
export { WIRES } from './request.ts';
export type { Script } from './script/script.ts';
export { type Received, type Sim, type SimOptions, startSim } from './server.ts';
export { type RecordingTransport, type RecordOptions, recordingTransport } from './cassettes/record.ts';
export { type RecordingProxyOptions, startRecordingProxy } from './cassettes/recording-proxy.ts';
export { type ReplayOptions, replayTransport, type Timing } from './cassettes/replay.ts';
export { type ReplayServerOptions, startReplayServer } from './cassettes/replay-server.ts';
