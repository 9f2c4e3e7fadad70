import { WIRE_NAMES } from './answers.mjs';

const WITHOUT_OLLAMA = WIRE_NAMES.filter((wire) => wire !== 'ollama');

/** The candidates and their APIs. Each is loaded only in the process that measures it. */
export const CANDIDATES = {
  floor: { wires: WIRE_NAMES, load: () => import('./floor.mjs') },
  polypod: { wires: WIRE_NAMES, load: () => import('./polypod.mjs') },
  'official SDK': { wires: WIRE_NAMES, load: () => import('./official-sdk.mjs') },
  'pi-ai': { wires: WITHOUT_OLLAMA, load: () => import('./pi-ai.mjs') },
  'AI SDK': { wires: WITHOUT_OLLAMA, load: () => import('./ai-sdk.mjs') },
};
