/**
 * Scripted models that speak the providers' real bytes; faults on demand.
 *
 *     const sim = await startSim({ script: [{ parts: [{ text: 'Hello' }] }] });
 *     // point any client of Anthropic, OpenAI, Gemini or Ollama at sim.url
 *     await sim.close();
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
} from './answer.ts';
export { generatedText, STOPS } from './answer.ts';
export { DIRECTIVE_KEYS } from './directive.ts';
export { FAULT_KINDS, type Fault, type FaultKind } from './fault.ts';
export { offlineModel } from './offline-model.ts';
export type { SimCall, SimMessage, SimRequest, SimResult, SimTool, WireName } from './request.ts';
export { WIRES } from './request.ts';
export type { Script } from './script.ts';
export { type Received, type Sim, type SimOptions, startSim } from './server.ts';
